"""The same numbers as statsmodels and scipy, where they compute the same."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from hepbench.benchmark import statistics as st
from hepbench.benchmark.statistics.clusters import Clusters, cluster_variance
from hepbench.benchmark.statistics.estimate import pooled_df
from hepbench.benchmark.statistics.quantiles import student_quantile


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def table(values: list[float], clusters: list[str], task: str = "t", epochs: int = 1) -> pd.DataFrame:
    rows = [
        {"task": task, "item": f"i{n:03}", "cluster": c, "epoch": e, "value": v}
        for n, (v, c) in enumerate(zip(values, clusters, strict=True))
        for e in range(1, epochs + 1)
    ]
    return pd.DataFrame(rows)


def test_cr1_equals_statsmodels(rng: np.random.Generator) -> None:
    labels = ["a"] * 3 + ["b"] * 5 + ["c"] * 4 + ["d"] * 8
    values = rng.normal(size=20)
    codes = pd.Categorical(labels).codes
    fit = sm.OLS(values, np.ones(20)).fit(cov_type="cluster", cov_kwds={"groups": codes})
    # statsmodels multiplies by (n−1)/(n−k) as well, which is 1 for a mean
    assert cluster_variance(values, Clusters.of(labels), "CR1") == pytest.approx(fit.bse[0] ** 2)


def test_equal_clusters_give_the_t_interval_of_their_means(rng: np.random.Generator) -> None:
    values = rng.normal(size=24)
    labels = [f"c{i % 6}" for i in range(24)]
    found = st.mean_estimate(table(list(values), labels), proportion=False)
    means = pd.Series(values).groupby(labels).mean()
    expected = stats.ttest_1samp(means, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.df == pytest.approx(5)


def test_items_of_their_own_cluster_give_the_paired_t_test(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=15), rng.normal(size=15)
    own = [f"c{i}" for i in range(15)]
    found = st.compare(table(list(a), own), table(list(b), own), proportion=False)
    expected = stats.ttest_rel(b, a).confidence_interval(0.95)
    assert (found.difference.low, found.difference.high) == pytest.approx((expected.low, expected.high))


def test_sign_flip_equals_scipys_exact_permutation(rng: np.random.Generator) -> None:
    for contributions in rng.normal(0.3, 1, size=(5, 9)):
        expected = stats.permutation_test(
            (contributions, np.zeros(9)),
            lambda x, y: np.sum(x - y),
            permutation_type="samples",
            n_resamples=np.inf,
        ).pvalue
        assert st.sign_flip_p(contributions) == pytest.approx(expected)


def test_sign_flip_by_drawing_agrees_with_the_enumeration(rng: np.random.Generator) -> None:
    contributions = rng.normal(0.4, 1, size=17)
    signs = np.array(list(itertools.product([-1, 1], repeat=17)))
    exact = np.mean(np.abs(signs @ contributions) >= abs(contributions.sum()) - 1e-9)
    assert st.sign_flip_p(contributions) == pytest.approx(exact, abs=0.01)
    assert st.sign_flip_p(contributions) == st.sign_flip_p(contributions)


def test_holm_equals_statsmodels(rng: np.random.Generator) -> None:
    for p_values in rng.uniform(size=(20, 7)) ** 3:
        assert st.holm(list(p_values)) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_welch_satterthwaite_equals_scipy(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=6), rng.normal(scale=3, size=9)
    variances = np.array([a.var(ddof=1) / 6, b.var(ddof=1) / 9])
    welch = stats.ttest_ind(a, b, equal_var=False)
    assert pooled_df(variances, np.array([5.0, 8.0])) == pytest.approx(welch.df)


def test_all_right_gives_the_agresti_coull_bound() -> None:
    found = st.mean_estimate(table([1.0] * 12, [f"c{i % 4}" for i in range(12)]))
    low, _ = proportion_confint(12, 12, method="agresti_coull")
    assert found.low == pytest.approx(low)
    assert (found.value, found.high) == (1.0, 1.0)
    assert "no scatter" in found.note


def test_smallest_detectable_effect_matches_its_power() -> None:
    """An effect of that size is found in about 80 % of data sets."""
    rng = np.random.default_rng(2)
    clusters = Clusters.of([f"c{i % 10}" for i in range(40)])
    se, df = 1 / np.sqrt(40), 9
    effect = (stats.t.ppf(0.975, df) + stats.t.ppf(0.8, df)) * se
    values = rng.normal(effect, 1, size=(4_000, 40))
    t = values.mean(axis=1) / np.sqrt(cluster_variance(values, clusters))
    assert np.mean(t > stats.t.ppf(0.975, df)) == pytest.approx(0.8, abs=0.03)


def test_quantiles_equal_scipys() -> None:
    df = np.array([1.0, 2.7, 9.0, np.inf, np.nan])
    for probability in (0.025, 0.8, 0.975):
        expected = stats.t.ppf(probability, df)
        assert student_quantile(probability, df) == pytest.approx(expected, nan_ok=True)
