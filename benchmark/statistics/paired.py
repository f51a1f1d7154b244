"""Two models or harnesses on the same items: the paired difference, and what it could have shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hepbench.benchmark.statistics.clusters import TINY, Floats
from hepbench.benchmark.statistics.estimate import ONE_CLUSTER, Estimate, pooled_df, task_mean
from hepbench.benchmark.statistics.permutation import pairwise_sign_flip_p, sign_flip_p
from hepbench.benchmark.statistics.quantiles import normal_quantile, student_quantile
from hepbench.benchmark.statistics.table import ScoreTableError, TaskItems, item_means, tasks_of

POWER = 0.8
"""Power at which the smallest detectable effect is stated."""

IDENTICAL = "no item's difference departs from the others: the width is what that many items can exclude"


@dataclass(frozen=True)
class Comparison:
    """B − A over the same items.

    Attributes:
        difference: The mean paired difference with its interval.
        p: Two-sided p of a sign-flip permutation over clusters.
        smallest_detectable: Difference that would be found with 80 % power at the interval's level.
        items: Columns task, item, cluster, a, b, difference; all items.
    """

    difference: Estimate
    p: float
    smallest_detectable: float
    items: pd.DataFrame

    @property
    def differing(self) -> pd.DataFrame:
        """The items on which the two sides differ, largest difference first."""
        rows = self.items[self.items["difference"].abs() > TINY]
        order = rows["difference"].abs().sort_values(ascending=False, kind="stable").index
        return rows.loc[order]


def compare(
    a: pd.DataFrame, b: pd.DataFrame, *, confidence: float = 0.95, proportion: bool = True, seed: int = 0
) -> Comparison:
    """Compare two score tables item by item.

    Args:
        a: Score table of the one side.
        b: Score table of the other, with the same items.
        confidence: Of the interval.
        proportion: The score is a share between 0 and 1.
        seed: Of the permutation, where it is drawn.

    Raises:
        ScoreTableError: a table cannot be evaluated, or the items are not the same.
    """
    pairs = _pair(item_means(a), item_means(b))
    tasks = list(tasks_of(pairs.rename(columns={"difference": "value"})))
    difference = _difference(tasks, confidence, proportion=proportion)
    reach = difference.quantile((1 + confidence) / 2) + difference.quantile(POWER)
    return Comparison(
        difference=difference,
        p=sign_flip_p(_contributions(tasks), seed=seed),
        smallest_detectable=float(reach * difference.se),
        items=pairs[["task", "item", "cluster", "a", "b", "difference"]],
    )


def pairwise_p(tables: Mapping[str, pd.DataFrame], *, seed: int = 0) -> dict[frozenset[str], float]:
    """Two-sided p of each pair of entries, as `compare` gives it, for a whole leaderboard.

    Args:
        tables: Entry → score table; all with the same items.
        seed: Of the permutation, where it is drawn.

    Raises:
        ScoreTableError: a table cannot be evaluated, or the items are not the same.
    """
    names = sorted(tables)
    means = [item_means(tables[name]) for name in names]
    for name, found in zip(names[1:], means[1:], strict=True):
        if not found[["task", "item"]].equals(means[0][["task", "item"]]):
            raise ScoreTableError(f"{name} has other items than {names[0]}")
    p = pairwise_sign_flip_p(np.array([_contributions(list(tasks_of(m))) for m in means]), seed=seed)
    return {
        frozenset((first, second)): float(p[a, b])
        for a, first in enumerate(names)
        for b, second in enumerate(names)
        if a < b
    }


def _pair(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    both = a.merge(b, on=["task", "item"], how="outer", suffixes=("_a", "_b"), indicator=True)
    lonely = both[both["_merge"] != "both"]
    if not lonely.empty:
        names = ", ".join(f"{row.task}:{row.item}" for row in lonely.head(5).itertuples())
        raise ScoreTableError(f"{len(lonely)} items stand on one side only: {names}")
    return pd.DataFrame(
        {
            "task": both["task"],
            "item": both["item"],
            "cluster": both["cluster_a"],
            "a": both["value_a"],
            "b": both["value_b"],
            "difference": both["value_b"] - both["value_a"],
            "noise": both["noise_a"] + both["noise_b"],
            "epochs": np.minimum(both["epochs_a"], both["epochs_b"]),
        }
    )


def _difference(tasks: list[TaskItems], confidence: float, *, proportion: bool) -> Estimate:
    parts = [task_mean(t.scores, t.clusters, proportion=False) for t in tasks]
    variances = np.array([p.variance for p in parts])
    df = float(pooled_df(variances, np.array([p.df for p in parts])))
    se = float(np.sqrt(variances.sum())) / len(tasks)
    note = ONE_CLUSTER if np.isnan(se) else ""
    if se < TINY:
        df, note = np.inf, IDENTICAL
        se = _se_without_scatter(tasks, confidence) if proportion else 0.0
    value = float(np.mean([p.mean for p in parts]))
    half = float(student_quantile((1 + confidence) / 2, df)) * se
    low, high = value - half, value + half
    return Estimate(
        value=value,
        low=max(low, -1.0) if proportion else low,
        high=min(high, 1.0) if proportion else high,
        se=se,
        df=df,
        items=sum(t.clusters.n_items for t in tasks),
        clusters=sum(t.clusters.n_clusters for t in tasks),
        note=note,
    )


def _se_without_scatter(tasks: list[TaskItems], confidence: float) -> float:
    """Half the interval: the largest share of changed items that n without a change exclude, 1 − α^(1/n).

    More epochs or models on the same items say nothing about other items, so n is that of the items.
    """
    excluded = 1 - (1 - confidence) ** (1 / sum(t.clusters.n_items for t in tasks))
    return float(excluded / normal_quantile((1 + confidence) / 2))


def _contributions(tasks: list[TaskItems]) -> Floats:
    """What each cluster adds to the suite's mean difference; tasks weigh the same."""
    shares = [t.clusters.sums(t.scores) / t.clusters.n_items / len(tasks) for t in tasks]
    return np.concatenate(shares)
