"""One score with its interval: the mean over items, equal weight for each task, clusters respected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hepbench.benchmark.statistics.clusters import TINY, Clusters, Floats, cluster_variance
from hepbench.benchmark.statistics.quantiles import normal_quantile, student_quantile
from hepbench.benchmark.statistics.table import item_means, tasks_of

ONE_CLUSTER = "one cluster: no interval over clusters can be given"
NO_SCATTER = "no scatter between clusters: the width is that of independent items"


@dataclass(frozen=True)
class Estimate:
    """A mean with its interval.

    Attributes:
        value: The mean.
        low: Lower bound; NaN where none can be given.
        high: Upper bound.
        se: Standard error; NaN where none can be given.
        df: Degrees of freedom of Student's t.
        items: Number of items.
        clusters: Number of clusters, over all tasks.
        note: Why the interval is missing or unusual; empty otherwise.
    """

    value: float
    low: float
    high: float
    se: float
    df: float
    items: int
    clusters: int
    note: str = ""

    def quantile(self, probability: float) -> float:
        """Quantile of the Student t that the interval rests on."""
        return float(student_quantile(probability, self.df))


@dataclass(frozen=True, eq=False)
class TaskMean:
    """Mean of one task for many data sets at once: arrays of shape (...).

    Attributes:
        mean: Mean over the items.
        centre: Centre of the interval; differs from the mean only where the clusters do not scatter.
        variance: Of the centre.
        df: Degrees of freedom.
    """

    mean: Floats
    centre: Floats
    variance: Floats
    df: Floats


def task_mean(values: Floats, clusters: Clusters, *, proportion: bool) -> TaskMean:
    """Mean, variance and degrees of freedom of one task.

    A variance of zero (all items right, or every cluster with the same share) says that there is too little
    to estimate it from, not that the score is exact. For proportions the Agresti–Coull centre and variance of
    independent items stand in (Agresti & Coull, Am. Stat. 52, 119, 1998).

    Args:
        values: Shape (..., items), one value for each item.
        clusters: The items' clusters.
        proportion: The values are shares between 0 and 1.
    """
    mean = np.asarray(values.mean(axis=-1), dtype=np.float64)
    variance = cluster_variance(values, clusters)
    df = np.full(mean.shape, clusters.degrees_of_freedom)
    if not proportion:
        return TaskMean(mean, mean, variance, df)
    n, z2 = clusters.n_items, normal_quantile(0.975) ** 2
    flat = variance < TINY
    adjusted = (mean * n + z2 / 2) / (n + z2)
    return TaskMean(
        mean,
        np.where(flat, adjusted, mean),
        np.where(flat, adjusted * (1 - adjusted) / (n + z2), variance),
        np.where(flat, np.inf, df),
    )


def pooled_df(variances: Floats, dfs: Floats) -> Floats:
    """Welch–Satterthwaite degrees of freedom of a sum of variances; shape (tasks, ...) → (...)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(np.isinf(dfs), 0.0, variances**2 / dfs).sum(axis=0)
        pooled = variances.sum(axis=0) ** 2 / parts
    return np.asarray(np.where(parts == 0, np.inf, pooled), dtype=np.float64)


def mean_estimate(table: pd.DataFrame, *, confidence: float = 0.95, proportion: bool = True) -> Estimate:
    """The mean of a score with its cluster-robust interval.

    Epochs are averaged for each item, items for each task, tasks with equal weight. The variance is the CR2
    variance of each task over its clusters; the tasks' variances add up.

    Args:
        table: A score table (`table.COLUMNS`).
        confidence: Of the interval.
        proportion: The score is a share between 0 and 1, and so is its interval.

    Raises:
        ScoreTableError: the table cannot be evaluated.
    """
    tasks = list(tasks_of(item_means(table)))
    parts = [task_mean(t.scores, t.clusters, proportion=proportion) for t in tasks]
    variances = np.array([p.variance for p in parts])
    df = float(pooled_df(variances, np.array([p.df for p in parts])))
    se = float(np.sqrt(variances.sum())) / len(parts)
    centre = float(np.mean([p.centre for p in parts]))
    half = float(student_quantile((1 + confidence) / 2, df)) * se if se > 0 else se
    value = float(np.mean([p.mean for p in parts]))
    # the centre may be another than the mean, which has to lie within
    low, high = min(centre - half, value), max(centre + half, value)
    return Estimate(
        value=value,
        low=max(low, 0.0) if proportion else low,
        high=min(high, 1.0) if proportion else high,
        se=se,
        df=df,
        items=sum(t.clusters.n_items for t in tasks),
        clusters=sum(t.clusters.n_clusters for t in tasks),
        note=_note(parts),
    )


def _note(parts: list[TaskMean]) -> str:
    if any(np.isnan(p.variance) for p in parts):
        return ONE_CLUSTER
    return NO_SCATTER if any(np.isinf(p.df) or p.variance < TINY for p in parts) else ""
