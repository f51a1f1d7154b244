"""Rules: their words, their fit, and the beliefs that follow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hepbench.harness.scientist.claims import (
    Covered,
    FollowsDescriptor,
    Mostly,
    OneForAll,
    belief,
)
from hepbench.harness.scientist.fitting import best_condition, cost, sharpened, threshold, tree
from hepbench.harness.scientist.relatives import Relatives, fitted, more_often_than
from hepbench.harness.scientist.rules import Case, Condition, Rule, RuleList
from hepbench.harness.scientist.space import Axis


def case(number: int, label: str, *, size: float, other: float = 0.0) -> Case:
    values, gaps = {"size": size, "other": other}, {label: 0.0, "rival": 9.0}
    return Case(f"C{number}", f"R{number}", values, gaps, label, tried=frozenset(("open", "dense")))


SMALL_TO_LARGE = [case(i, "open" if i < 4 else "dense", size=i / 10, other=i % 3) for i in range(8)]
NAMES = ("size", "other")
AXES = (Axis("size", 0.0, 0.7, 1.0),)
ALL_A = Relatives(RuleList((), "a"), (), ())


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
    assert [rules.label({"size": size}) for size in (0.1, 0.9)] == ["open", "dense"]


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
    for claim in (Covered(Rule((), "a")), Mostly(ALL_A)):
        now = belief(claim, prior, fits, fits + misses)
        assert belief(claim, prior, fits + 1, fits + misses + 1) >= now
        assert belief(claim, prior, fits, fits + misses + 1) <= now
        assert 0.0 <= now <= 1.0


def test_a_claim_about_most_is_as_sure_as_a_count_allows() -> None:
    assert more_often_than(0.5, 0.5, 0, 0) == pytest.approx(0.5)
    assert more_often_than(0.5, 0.5, 3, 0) == pytest.approx(15 / 16)
    assert more_often_than(0.5, 0.5, 5, 5) == pytest.approx(0.5)
    assert more_often_than(0.3, 0.2, 0, 0) == pytest.approx(0.2)
    assert more_often_than(0.3, 0.5, 4, 4) > more_often_than(0.5, 0.5, 4, 4)
    assert belief(Mostly(ALL_A), 0.5, 200, 200) == 0.99


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


def clear(number: int, label: str, *, size: float, other: float = 0.0) -> Case:
    """A case in which every other phase lies far above."""
    values, tried = {"size": size, "other": other}, frozenset(("open", "dense"))
    return Case(f"C{number}", f"R{number}", values, {label: 0.0}, label, tried=tried)


def test_relatives_decide_and_those_of_the_own_class_count_more() -> None:
    near, far = clear(1, "open", size=0.30), clear(2, "dense", size=0.45)
    alone = Relatives(RuleList((), ""), (near, far), AXES)
    assert alone.label({"size": 0.36}) == "open"
    small = Rule((Condition("size", None, 0.35),), "open")
    parted = Relatives(RuleList((small,), "dense"), (near, far), AXES)
    assert parted.label({"size": 0.36}) == "dense"
    assert "classes: size ≤ 0.35 prefers open" in parted.words()


def test_what_was_never_tried_speaks_neither_for_nor_against_a_phase() -> None:
    tried = [
        Case("C1", "R1", {"size": 0.1}, {"open": 0.0}, "open", tried=frozenset({"open", "dense"})),
        Case("C2", "R2", {"size": 0.2}, {"dense": 0.0, "open": 5.0}, "dense"),
    ]
    known = Relatives(RuleList((), ""), tuple(tried), AXES)
    assert known.label({"size": 0.1}) == "open"
    untried = (Case("C1", "R1", {"size": 0.1}, {"open": 4.0, "other": 0.0}, "other"), tried[1])
    assert Relatives(RuleList((), ""), untried, AXES).energies({"size": 0.1})["dense"] == 0.0


def test_confidence_is_how_often_compounds_as_clear_were_right() -> None:
    rule = fitted(SMALL_TO_LARGE, NAMES, AXES)
    assert 0.5 < rule.confidence({"size": 0.0}) < 1.0
    mixed = [case(i, "open" if i % 2 else "dense", size=i / 10) for i in range(8)]
    assert Relatives(RuleList((), ""), tuple(mixed), AXES).confidence({"size": 0.0}) < 0.5
    assert Relatives(RuleList((), "open"), (), ()).confidence({}) == 0.5


def test_a_rule_for_most_waits_for_a_few_compounds_and_learns_from_those_before() -> None:
    claim = Mostly(Relatives(RuleList((), ""), (), AXES))
    assert claim.outcome(SMALL_TO_LARGE[3], SMALL_TO_LARGE[:2]) is None
    assert claim.outcome(SMALL_TO_LARGE[3], SMALL_TO_LARGE[:3]) is True
    assert claim.outcome(SMALL_TO_LARGE[7], SMALL_TO_LARGE[:4]) is False
    assert claim.outcome(SMALL_TO_LARGE[7], SMALL_TO_LARGE[:7]) is True


def test_where_classes_say_it_all_relatives_beyond_them_are_left_out() -> None:
    cases = [clear(i, "open" if i < 12 else "dense", size=i / 10, other=i % 12 / 12) for i in range(24)]
    assert fitted(cases, ("size",), (Axis("other", 0.0, 0.25, 1.0),)).strict
    assert not fitted(cases, ("size",), (Axis("size", 0.0, 2.4, 1.0),)).strict
