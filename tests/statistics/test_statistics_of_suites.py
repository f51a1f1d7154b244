"""Epochs, tasks, ties, and what cannot be said."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from hepbench.benchmark import statistics as st

Row = tuple[str, str, str, int, float]


def frame(rows: list[Row]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(st.COLUMNS))


def grid(values: dict[str, list[float]], task: str = "t") -> pd.DataFrame:
    """Cluster → one value for each of its items."""
    return frame([(task, f"{c}{i}", c, 1, v) for c, column in values.items() for i, v in enumerate(column)])


def test_epochs_of_an_item_are_averaged_first() -> None:
    rows = [("t", "i1", "a", e, v) for e, v in enumerate((1, 1, 0, 0))] + [("t", "i2", "b", 1, 1.0)]
    assert st.mean_estimate(frame(rows)).value == pytest.approx(0.75)
    means = st.item_means(frame(rows))
    assert means["epochs"].tolist() == [4, 1]
    assert means["noise"][0] == pytest.approx(1 / 3 / 4)
    assert math.isnan(means["noise"][1])


def test_tasks_weigh_the_same_however_many_items_they_have() -> None:
    small, large = grid({"a": [1, 1], "b": [1, 0]}, "s"), grid({"a": [0] * 9, "b": [0] * 9, "c": [1, 1]}, "l")
    both = pd.concat([small, large])
    assert st.mean_estimate(both).value == pytest.approx((0.75 + 0.1) / 2)


def test_clusters_of_two_tasks_are_different_clusters() -> None:
    one = grid({"3d": [1, 0], "4d": [1, 1]}, "ao2")
    other = grid({"3d": [0, 0], "4d": [1, 1]}, "mx")
    assert st.mean_estimate(pd.concat([one, other])).clusters == 4


def test_one_cluster_has_a_mean_and_no_interval() -> None:
    found = st.mean_estimate(grid({"actinides": [1, 1, 0]}))
    assert found.value == pytest.approx(2 / 3)
    assert math.isnan(found.low)
    assert "one cluster" in found.note


def test_order_of_rows_does_not_matter() -> None:
    table = grid({"a": [1, 0, 1], "b": [0, 1], "c": [1, 1, 1]})
    shuffled = table.sample(frac=1, random_state=3)
    assert st.mean_estimate(table) == st.mean_estimate(shuffled)
    assert st.bootstrap_interval(table) == st.bootstrap_interval(shuffled)


def test_bootstrap_is_seeded() -> None:
    values = {f"c{i}": [((i * 7 + j * 5) % 11) / 10 for j in range(1 + i % 4)] for i in range(9)}
    table = grid(values)
    assert st.bootstrap_interval(table, seed=1) == st.bootstrap_interval(table, seed=1)
    assert st.bootstrap_interval(table, seed=1) != st.bootstrap_interval(table, seed=2)


def test_the_sign_of_a_comparison_is_b_minus_a() -> None:
    worse, better = (
        grid({"a": [0, 0], "b": [0, 1], "c": [0, 1]}),
        grid({"a": [1, 0], "b": [1, 1], "c": [1, 1]}),
    )
    found = st.compare(worse, better)
    assert found.difference.value == pytest.approx(0.5)
    assert found.differing["item"].tolist() == ["a0", "b0", "c0"]
    assert found.p == pytest.approx(2 / 8)
    back = st.compare(better, worse)
    assert back.difference.value == pytest.approx(-0.5)
    assert back.p == found.p


def test_identical_sides_still_have_an_interval() -> None:
    table = grid({"a": [1, 0, 1], "b": [0, 1], "c": [1, 1, 1]})
    found = st.compare(table, table)
    assert found.difference.value == 0
    assert found.difference.high == pytest.approx(1 - 0.05 ** (1 / 8))
    assert found.p == 1.0
    assert found.differing.empty
    again = pd.concat([table.assign(epoch=n) for n in (1, 2, 3)])  # says nothing about other items
    assert st.compare(again, again).difference == found.difference


def test_an_interval_has_its_mean_in_it() -> None:
    nothing_right = frame([(t, f"{t}{i}", f"{t}{i}", 1, 0.0) for t in "stu" for i in range(12)])
    found = st.mean_estimate(nothing_right)
    assert found.low <= found.value == 0.0 < found.high


def test_items_must_be_the_same() -> None:
    with pytest.raises(st.ScoreTableError, match="one side only: t:b0"):
        st.compare(grid({"a": [1]}), grid({"a": [1], "b": [0]}))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("t", "i", "a", 1, math.nan)], "not finite"),
        ([("t", "i", "a", 1, 1.0), ("t", "i", "b", 2, 1.0)], "two clusters"),
        ([], "without rows"),
    ],
)
def test_tables_that_cannot_be_evaluated(rows: list[Row], message: str) -> None:
    with pytest.raises(st.ScoreTableError, match=message):
        st.mean_estimate(frame(rows))


def test_a_missing_column_is_named() -> None:
    with pytest.raises(st.ScoreTableError, match="without column cluster"):
        st.mean_estimate(grid({"a": [1]}).drop(columns="cluster"))


def test_tie_groups_are_formed_around_leaders() -> None:
    scores = {"a": 0.9, "b": 0.8, "c": 0.5, "d": 0.45}
    p = {
        frozenset(pair): value
        for pair, value in {("a", "b"): 0.3, ("a", "c"): 0.01, ("a", "d"): 0.01, ("c", "d"): 0.6}.items()
    }
    assert st.tie_groups(scores, p) == {"a": 1, "b": 1, "c": 2, "d": 2}
    assert st.tie_groups({}, {}) == {}


def test_many_comparisons_with_a_leader_are_corrected() -> None:
    """p = 0.02 separates two entries, and no longer does when two others are compared as well."""
    assert st.tie_groups({"a": 0.9, "b": 0.1}, {frozenset("ab"): 0.02}) == {"a": 1, "b": 2}
    p = {frozenset("ab"): 0.02, frozenset("ac"): 0.9, frozenset("ad"): 0.9}
    assert set(st.tie_groups({"a": 0.9, "b": 0.1, "c": 0.8, "d": 0.7}, p).values()) == {1}


def test_epochs_that_would_decide() -> None:
    """With noisy epochs more of them help; with a loss right at the margin nothing does."""
    clusters = ["a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f", "f"]
    before = [("t", f"i{n:02}", c, e, float((n + e) % 2)) for n, c in enumerate(clusters) for e in range(8)]
    after = [
        ("t", f"i{n:02}", c, e, float((n * 7 + e * n) % 3 > 0))
        for n, c in enumerate(clusters)
        for e in range(2)
    ]
    needed = st.epochs_to_decide(frame(before), frame(after), 0.05)
    assert needed is None or needed > 2
    value = st.compare(frame(before), frame(after)).difference.value
    assert st.epochs_to_decide(frame(before), frame(after), -value) is None


def test_all_pairs_at_once_give_the_same_p() -> None:
    tables = {
        name: grid({"a": a, "b": b, "c": c})
        for name, a, b, c in (
            ("x", [1, 0], [1, 1], [1, 1]),
            ("y", [0, 0], [0, 1], [0, 1]),
            ("z", [1, 1], [0, 1], [1, 0]),
        )
    }
    for pair, p in st.pairwise_p(tables).items():
        first, second = sorted(pair)
        assert p == pytest.approx(st.compare(tables[first], tables[second]).p)
    with pytest.raises(st.ScoreTableError, match="other items"):
        st.pairwise_p({"x": tables["x"], "y": grid({"a": [1]})})
