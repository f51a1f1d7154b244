"""How many epochs would decide what is undecided now."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hepbench.benchmark.statistics.clusters import TINY, Floats, cluster_variance
from hepbench.benchmark.statistics.estimate import pooled_df
from hepbench.benchmark.statistics.quantiles import student_quantile
from hepbench.benchmark.statistics.table import TaskItems, item_means, tasks_of

MOST_EPOCHS = 1_000


def epochs_to_decide(
    baseline: pd.DataFrame, candidate: pd.DataFrame, margin: float, *, confidence: float = 0.95
) -> int | None:
    """Epochs after which the candidate's interval would clear the margin, the difference staying as it is.

    The variance of the paired difference splits into the part that the scatter of the candidate's epochs
    explains, which falls with their number, and the rest, which only more items or a better baseline lower.

    Args:
        baseline: Score table of the baseline.
        candidate: Score table of what is checked, with the same items.
        margin: Loss that is still accepted, positive.
        confidence: Of the interval.

    Returns:
        The number of epochs, or None when no number up to `MOST_EPOCHS` would do.
    """
    before, after = item_means(baseline), item_means(candidate)
    paired = after.merge(before[["task", "item", "value"]], on=["task", "item"], suffixes=("", "_before"))
    paired["value"] -= paired["value_before"]
    tasks = list(tasks_of(paired))
    distance = abs(float(np.mean([t.scores.mean() for t in tasks])) + margin)
    total = np.array([cluster_variance(t.scores, t.clusters) for t in tasks])
    if np.sqrt(total.sum()) < TINY * len(tasks):
        return None  # no item differs from the others: more epochs of the same items show nothing more
    spread = float(after["value"].mean())
    noise = np.minimum(total, [_epoch_noise(t, spread * (1 - spread)) for t in tasks])
    now = float(np.median(np.concatenate([t.epochs for t in tasks])))
    df = float(pooled_df(total, np.array([t.clusters.degrees_of_freedom for t in tasks])))
    quantile = float(student_quantile((1 + confidence) / 2, df))
    epochs = np.arange(1, MOST_EPOCHS + 1)
    variance = ((total - noise).sum() + noise.sum() * now / epochs) / len(tasks) ** 2
    enough = np.flatnonzero((quantile * np.sqrt(variance) < distance) & (epochs > now))
    return int(epochs[enough[0]]) if enough.size else None


def _epoch_noise(items: TaskItems, single: float) -> Floats:
    """Variance of a task's mean by its epochs' scatter; `single` stands in for items with one epoch."""
    noise = np.where(np.isnan(items.noise), single, items.noise)
    return np.asarray(noise.sum() / items.clusters.n_items**2, dtype=np.float64)
