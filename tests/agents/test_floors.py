"""The reference points without a model, by hand."""

from __future__ import annotations

import pytest

from hepbench.harness.agents import tree
from hepbench.harness.agents.floors import Survey, by_majority, by_neighbour, by_tree
from hepbench.harness.descriptors import Site, describe, table


def survey() -> Survey:
    rows = {
        "a": [0.0, 5.0],
        "b": [1.0, 3.0],
        "c": [10.0, 4.0],
        "d": [11.0, 6.0],
        "x": [2.0, 4.0],
        "y": [9.0, 4.0],
    }
    measured = {"a": "low", "b": "low", "c": "high", "d": "high"}
    return Survey(measured, ["x", "y"], ["size", "noise"], rows)


def test_majority_breaks_a_tie_by_name() -> None:
    guesses, rule = by_majority(survey())
    assert guesses == {"x": ("high", 0.5), "y": ("high", 0.5)}
    assert rule == "Always high, as 2 of 4 exploration compounds."


def test_neighbour_and_tree_find_the_cut() -> None:
    for floor in (by_neighbour, by_tree):
        guesses, rule = floor(survey())
        assert [label for label, _ in guesses.values()] == ["low", "high"]
        assert "size" in rule
    assert by_tree(survey())[1] == "Tree: (size ≤ 5.5: low; else high)."
    assert by_tree(survey())[0]["x"][1] == 3 / 4  # Laplace: (2 + 1) / (2 + 2)


def test_a_tree_is_shallow_and_its_leaves_are_not_single_cases() -> None:
    cases = [([float(i)], "even" if i % 2 == 0 else "odd") for i in range(40)]
    grown = tree.grow(cases)

    def depth(node: tree.Node) -> int:
        if isinstance(node, tree.Leaf):
            assert node.counts.total() >= tree.MIN_LEAF
            return 0
        return 1 + max(depth(node.below), depth(node.above))

    assert depth(grown) <= tree.MAX_DEPTH
    with pytest.raises(ValueError, match="at least one case"):
        tree.grow([])


def test_descriptors_of_a_perovskite() -> None:
    values = describe(
        [
            Site(role="A", element="Ba", charge=2),
            Site(role="B", element="Mg", charge=2),
            Site(role="B'", element="W", charge=6),
            Site(role="O", element="O", charge=-2),
        ]
    )
    assert values["difference in charge of B and B'"] == 4
    assert values["radius of B"] == 0.72  # Shannon: Mg2+, sixfold
    assert values["radius of B'"] == 0.60  # W6+
    assert values["difference in radius of B and B'"] == pytest.approx(0.12)
    assert values["d electrons of B'"] == 0


def test_a_table_drops_what_says_nothing_and_fills_what_is_missing() -> None:
    described = {
        "a": {"x": 1.0, "same": 2.0},
        "b": {"x": 3.0, "same": 2.0, "rare": 1.0},
        "new": {"same": 7.0},
    }
    columns, rows = table(described, ["a", "b"])
    assert columns == ["x"]
    assert rows == {"a": [1.0], "b": [3.0], "new": [2.0]}


def test_a_compound_without_charges_has_no_radius() -> None:
    values = describe([Site(role="M", element="Fe"), Site(role="X", element="S")])
    assert "radius of M" not in values
    assert values["group of M"] == 8
