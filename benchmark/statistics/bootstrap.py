"""A seeded cluster bootstrap, for those who prefer it to Student's t."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hepbench.benchmark.statistics.clusters import Floats
from hepbench.benchmark.statistics.table import TaskItems, item_means, tasks_of


def bootstrap_interval(
    table: pd.DataFrame, *, confidence: float = 0.95, draws: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """Percentile interval of the suite mean: clusters are drawn anew inside each task.

    The same seed gives the same interval. With few clusters (under about ten) it is too narrow, which the
    tests show; the t interval of `mean_estimate` is the default for that reason.

    Args:
        table: A score table.
        confidence: Of the interval.
        draws: Bootstrap samples.
        seed: Of the random numbers.

    Raises:
        ScoreTableError: the table cannot be evaluated.
    """
    rng = np.random.default_rng(seed)
    means = np.mean([_resampled(t, draws, rng) for t in tasks_of(item_means(table))], axis=0)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _resampled(items: TaskItems, draws: int, rng: np.random.Generator) -> Floats:
    """Means of one task over drawn clusters; shape (draws,)."""
    clusters = items.clusters
    times = rng.multinomial(clusters.n_clusters, np.full(clusters.n_clusters, 1 / clusters.n_clusters), draws)
    return np.asarray((times @ clusters.sums(items.scores)) / (times @ clusters.sizes), dtype=np.float64)
