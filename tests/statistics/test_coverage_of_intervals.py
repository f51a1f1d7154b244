"""Intervals hold what they promise, on simulated data of the designs that occur.

A data set: items in clusters, each with a chance of being right that varies by item and by cluster on
the logit scale (intra-cluster share of variance 0 or 0.1), binomial epochs. Coverage is averaged over
chances of 0.5 to 0.8, because for a single chance the few values that twelve zeros and ones can take make
it jump.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from hepbench.benchmark.statistics.bootstrap import bootstrap_interval
from hepbench.benchmark.statistics.clusters import Clusters, Floats, cluster_variance
from hepbench.benchmark.statistics.estimate import task_mean
from hepbench.benchmark.statistics.permutation import sign_flip_p

SETS = 3_000
CHANCES = (0.5, 0.6, 0.7, 0.8)
DESIGNS = [
    (sizes, epochs)
    for sizes in (
        (2, 3, 3, 4),  # 12 items, 4 clusters
        (2, 2, 2, 3, 5),  # such as AO2: a few of each block and all actinides
        (2, 2, 2, 2, 2, 2),
        (5, 5, 5, 5),
        (1, 2, 2, 3, 3, 4, 5),
        (4, 4, 4, 4, 4, 4),
        (10, 10, 10, 10),
        (2, 3, 3, 4, 4, 4, 5, 5, 5, 5),  # 40 items, 10 clusters
    )
    for epochs in (1, 2, 5)
]
SMALLEST = ((3, 3, 3, 3), 1)


def clusters_of(sizes: tuple[int, ...]) -> Clusters:
    return Clusters.of([f"c{i}" for i, size in enumerate(sizes) for _ in range(size)])


def simulate(
    rng: np.random.Generator, clusters: Clusters, epochs: int, chance: float, icc: float, shift: float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """Item means of two harnesses on the same items, and each item's true difference in chance."""
    shared = rng.normal(size=(SETS, clusters.n_items))
    family = rng.normal(size=(SETS, clusters.n_clusters)) * np.sqrt(icc / (1 - icc) * (1 + np.pi**2 / 3))
    logits = special.logit(chance) + shared + family[:, clusters.codes]
    own = rng.normal(size=logits.shape) * 0.5
    first, second = special.expit(logits), special.expit(logits + own + shift)
    return rng.binomial(epochs, first) / epochs, rng.binomial(epochs, second) / epochs, second - first


def interval(values: Floats, clusters: Clusters, *, proportion: bool) -> tuple[Floats, Floats]:
    """The intervals of `mean_estimate` and `compare`, for all data sets at once."""
    found = task_mean(values, clusters, proportion=proportion)
    half = stats.t.ppf(0.975, found.df) * np.sqrt(found.variance)
    return found.centre - half, found.centre + half


@pytest.mark.parametrize(("sizes", "epochs"), DESIGNS, ids=str)
def test_one_score(sizes: tuple[int, ...], epochs: int) -> None:
    assert 0.93 <= coverage_of_one_score(sizes, epochs) <= 0.97


def test_the_smallest_design_errs_on_the_wide_side() -> None:
    """Four clusters of three zeros or ones often agree by chance; what then stands in is a little wide."""
    assert 0.93 <= coverage_of_one_score(*SMALLEST) <= 0.985
    assert 0.93 <= coverage_of_one_score(SMALLEST[0], 3) <= 0.97


def coverage_of_one_score(sizes: tuple[int, ...], epochs: int) -> float:
    clusters = clusters_of(sizes)
    rng = np.random.default_rng(sum(sizes) * 10 + epochs)
    covered = []
    for chance in CHANCES:
        for icc in (0.0, 0.1):
            values, _, _ = simulate(rng, clusters, epochs, chance, icc)
            truth = expected_share(chance, icc)
            low, high = interval(values, clusters, proportion=True)
            covered.append(np.mean((low <= truth + 1e-9) & (truth <= high + 1e-9)))
    return float(np.mean(covered))


@pytest.mark.parametrize(("sizes", "epochs"), [*DESIGNS, SMALLEST], ids=str)
def test_paired_difference(sizes: tuple[int, ...], epochs: int) -> None:
    clusters = clusters_of(sizes)
    rng = np.random.default_rng(sum(sizes) * 10 + epochs + 5)
    covered = []
    for chance in CHANCES:
        for shift in (0.0, 0.8):
            a, b, difference = simulate(rng, clusters, epochs, chance, 0.1, shift)
            low, high = interval(b - a, clusters, proportion=False)
            covered.append(np.mean((low <= difference.mean()) & (difference.mean() <= high)))
    assert 0.93 <= np.mean(covered) <= 0.97


def test_ignoring_the_clusters_would_be_wrong() -> None:
    clusters = clusters_of((10, 10, 10, 10))
    rng = np.random.default_rng(3)
    values, _, _ = simulate(rng, clusters, 1, 0.6, 0.3)
    half = stats.t.ppf(0.975, 39) * values.std(axis=1, ddof=1) / np.sqrt(40)
    truth = expected_share(0.6, 0.3)
    assert np.mean(abs(values.mean(axis=1) - truth) <= half) < 0.8
    low, high = interval(values, clusters, proportion=True)
    assert np.mean((low <= truth) & (truth <= high)) > 0.92


def test_cr1_is_too_narrow_where_clusters_are_unequal() -> None:
    clusters = clusters_of((1, 2, 3, 6, 12))
    rng = np.random.default_rng(4)
    values = rng.normal(size=(20_000, clusters.n_items))
    true = 1 / clusters.n_items
    assert cluster_variance(values, clusters, "CR1").mean() < 0.95 * true
    assert cluster_variance(values, clusters, "CR2").mean() == pytest.approx(true, rel=0.02)


def test_sign_flip_keeps_its_level_and_has_power() -> None:
    clusters = clusters_of((2, 3, 3, 4, 4, 4, 5, 5))
    rng = np.random.default_rng(5)
    rejected = {}
    for shift in (0.0, 2.0):
        a, b, _ = simulate(rng, clusters, 2, 0.5, 0.1, shift)
        sums = clusters.sums(b - a)[:600] / clusters.n_items
        rejected[shift] = np.mean([sign_flip_p(row) <= 0.05 for row in sums])
    assert rejected[0.0] <= 0.07
    assert rejected[2.0] >= 0.8


def test_percentile_bootstrap_is_too_narrow_with_few_clusters() -> None:
    """Why Student's t is the default."""
    clusters = clusters_of((5, 5, 5, 5))
    rng = np.random.default_rng(6)
    covered = []
    for row in rng.normal(0.5, 0.2, size=(150, 20)):
        low, high = bootstrap_interval(score_table(row, clusters), draws=500)
        covered.append(low <= 0.5 <= high)
    assert np.mean(covered) < 0.93


def score_table(values: Floats, clusters: Clusters) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "task": "t",
            "item": [f"i{n:02}" for n in range(len(values))],
            "cluster": [clusters.names[c] for c in clusters.codes],
            "epoch": 1,
            "value": values,
        }
    )


def expected_share(chance: float, icc: float) -> float:
    """Mean chance of an item over the simulated population, by Gauss–Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    spread = np.sqrt(1 + icc / (1 - icc) * (1 + np.pi**2 / 3))
    return float(np.sum(weights * special.expit(special.logit(chance) + spread * nodes)) / np.sum(weights))
