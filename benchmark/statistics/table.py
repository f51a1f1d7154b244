"""The score table, and its reduction to one value for each item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hepbench.benchmark.statistics.clusters import Clusters, Floats

COLUMNS = ("task", "item", "cluster", "epoch", "value")
"""One row for each item and epoch: `value` is the score, `cluster` the item's chemical family."""


class ScoreTableError(ValueError):
    """A score table that cannot be evaluated; the message names the column or the item."""


@dataclass(frozen=True)
class TaskItems:
    """The items of one task, epochs averaged.

    Attributes:
        task: The task's name.
        names: The items, sorted.
        scores: Mean over the epochs of each item.
        noise: Variance of that mean by the scatter of the epochs; NaN for an item with a single epoch.
        epochs: Number of epochs of each item.
        clusters: The clusters that the items belong to.
    """

    task: str
    names: tuple[str, ...]
    scores: Floats
    noise: Floats
    epochs: Floats
    clusters: Clusters


def item_means(table: pd.DataFrame) -> pd.DataFrame:
    """Average the epochs of each item.

    Args:
        table: A score table.

    Returns:
        Columns task, item, cluster, value (the mean), noise (the variance of that mean), epochs; sorted by
        task and item.

    Raises:
        ScoreTableError: a column is missing, the table is empty, a value is not finite, or an item stands in
            two clusters.
    """
    _check(table)
    grouped = table.groupby(["task", "item"], sort=True)
    found = grouped["value"].agg(value="mean", spread="var", epochs="count")
    found["noise"] = found["spread"] / found["epochs"]
    found["cluster"] = grouped["cluster"].first()
    return found.reset_index()[["task", "item", "cluster", "value", "noise", "epochs"]]


def tasks_of(means: pd.DataFrame) -> Iterator[TaskItems]:
    """The items of each task in turn, tasks in alphabetical order."""
    for task, rows in means.groupby("task", sort=True):
        yield TaskItems(
            task=str(task),
            names=tuple(str(name) for name in rows["item"]),
            scores=rows["value"].to_numpy(dtype=np.float64),
            noise=rows["noise"].to_numpy(dtype=np.float64),
            epochs=rows["epochs"].to_numpy(dtype=np.float64),
            clusters=Clusters.of(rows["cluster"].astype(str).tolist()),
        )


def _check(table: pd.DataFrame) -> None:
    missing = [c for c in COLUMNS if c not in table.columns]
    if missing:
        raise ScoreTableError(
            f"score table without column {', '.join(missing)}; it needs {', '.join(COLUMNS)}"
        )
    if table.empty:
        raise ScoreTableError("score table without rows")
    if not np.isfinite(table["value"].to_numpy(dtype=np.float64)).all():
        raise ScoreTableError("score table with a value that is not finite; leave unscored items out")
    clusters = table.groupby(["task", "item"])["cluster"].nunique()
    if (clusters > 1).any():
        task, item = clusters[clusters > 1].index[0]
        raise ScoreTableError(f"item {item} of {task} stands in two clusters")
