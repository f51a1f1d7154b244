"""Rules: their words, their fit, and the beliefs that follow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hepbench.harness.scientist.claims import Covered, FollowsDescriptor, LeftOut, OneForAll, belief
from hepbench.harness.scientist.fitting import best_condition, cost, sharpened, threshold, tree
from hepbench.harness.scientist.rules import Case, Condition, Rule, RuleList, share


def case(number: int, label: str, *, size: float, other: float = 0.0) -> Case:
    return Case(f"C{number}", f"R{number}", {"size": size, "other": other}, {label: 0.0, "rival": 9.0}, label)


SMALL_TO_LARGE = [case(i, "open" if i < 4 else "dense", size=i / 10, other=i % 3) for i in range(8)]
NAMES = ("size", "other")


def test_a_single_limit_is_found() -> None:
    found = best_condition(SMALL_TO_LARGE, NAMES, "dense")
    assert found is not None
    assert found[0].words() == "size > 0.35"


def test_a_band_is_found() -> None:
    cases = [case(i, "band" if 3 <= i <= 5 else "out", size=float(i)) for i in range(9)]
    found = best_condition(cases, NAMES, "band")
    assert found is not None
    assert found[0].words() == "2.5 < size ≤ 5.5"


def test_no_condition_is_found_in_nothing() -> None:
    assert best_condition([], NAMES, "open") is None
    assert best_condition([case(1, "open", size=1.0)], NAMES, "open") is None


def test_a_rule_is_sharpened_by_its_exceptions_alone() -> None:
    rule = Rule((Condition("size", 0.15, None),), "dense")
    sharper = sharpened(rule, SMALL_TO_LARGE, NAMES)
    assert sharper is not None
    assert sharper.words() == "size > 0.35"
    assert sharpened(sharper, SMALL_TO_LARGE, NAMES) is None


def test_a_tree_reads_as_a_list() -> None:
    rules = tree(SMALL_TO_LARGE, NAMES, 3)
    assert rules.words() == "size ≤ 0.35 prefers open; else dense for all others"
    assert share(rules, SMALL_TO_LARGE, {"size": 0.1}) == pytest.approx(5 / 6)


def test_a_tree_of_nothing_says_nothing() -> None:
    assert tree([], NAMES, 3) == RuleList((), "")


def test_one_clear_exception_is_worth_a_rule_and_a_near_tie_is_not() -> None:
    cases = [case(i, "dense", size=i / 10) for i in range(1, 9)]
    clear = Case("C0", "R0", {"size": 0.0, "other": 0.0}, {"open": 0.0, "dense": 60.0}, "open")
    slight = Case("C0", "R0", {"size": 0.0, "other": 0.0}, {"open": 0.0, "dense": 4.0}, "open")
    assert tree([clear, *cases], NAMES).words() == "size ≤ 0.03 prefers open; else dense for all others"
    assert tree([slight, *cases], NAMES).words() == "dense"


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.floats(-9, 9), st.integers(0, 3)), min_size=1, max_size=25)
)
def test_a_tree_is_never_dearer_than_the_best_single_phase(rows: list[tuple[str, float, int]]) -> None:
    cases = [case(i, label, size=size, other=other) for i, (label, size, other) in enumerate(rows)]
    rules = tree(cases, NAMES)
    spent = sum(cost(c, rules.label(c.values)) for c in cases)
    assert spent <= min(sum(cost(c, label) for c in cases) for label in "abc")


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_threshold_parts_two_values(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    if high - low > 1e-6:
        assert low < threshold(low, high) < high


def test_ties_count_as_fits() -> None:
    tied = Case("C", "R", {}, {"a": 0.0, "b": 1.9, "c": 2.1}, "a")
    assert [tied.lowest(x) for x in "abcd"] == [True, True, False, False]
    assert [tied.near(x) for x in "abcd"] == [True, True, True, False]


@given(st.floats(0.01, 0.99), st.integers(0, 50), st.integers(0, 50))
def test_belief_goes_the_way_of_the_evidence(prior: float, fits: int, misses: int) -> None:
    claim = Covered(Rule((), "a"))
    now = belief(claim, prior, fits, fits + misses)
    assert belief(claim, prior, fits + 1, fits + misses + 1) >= now
    assert belief(claim, prior, fits, fits + misses + 1) <= now
    assert 0.0 <= now <= 1.0


def test_one_counterexample_defeats_a_universal_claim() -> None:
    assert belief(OneForAll(20), 0.5, 9, 10) == 0.05
    assert belief(OneForAll(20), 0.5, 9, 9) == 0.5
    assert belief(OneForAll(20), 0.5, 20, 20) == 1.0


def test_claims_say_nothing_about_what_they_do_not_cover() -> None:
    first, last = SMALL_TO_LARGE[0], SMALL_TO_LARGE[-1]
    assert OneForAll(8).outcome(first, []) is None
    assert OneForAll(8).outcome(last, [first]) is False
    assert Covered(Rule((Condition("size", 0.35, None),), "dense")).outcome(first, []) is None
    assert FollowsDescriptor("size").outcome(last, SMALL_TO_LARGE[:-1]) is True
    assert FollowsDescriptor("absent").outcome(last, SMALL_TO_LARGE[:-1]) is None


def test_leaving_out_refits_without_the_compound() -> None:
    odd = case(99, "odd", size=0.2)
    cases = (*SMALL_TO_LARGE, odd)
    claim = LeftOut(NAMES, cases)
    assert claim.outcome(odd, []) is False
    assert claim.outcome(SMALL_TO_LARGE[7], []) is True
