"""Rules fitted to what was measured: small exhaustive searches over thresholds, no library needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, combinations, pairwise
from typing import NamedTuple

from hepbench.harness.scientist.rules import Case, Condition, Rule, RuleList

MISS_COST = 1.5
"""What a wrongly covered compound costs a rule, in rightly covered ones."""
SIDE_COST = 0.5
"""What a second limit, or a second condition, costs a rule."""
DEPTH = 5
"""Conditions that a rule of a tree has at most."""
CLEARLY_WRONG = 100.0
"""Energies above the lowest phase count up to here, meV/atom: beyond, a phase is hardly ever made."""
WORTH_A_RULE = 10.0
"""What a split must save, meV/atom summed over its compounds: several times the width of a tie."""

Cases = Sequence[Case]
Names = Sequence[str]


class _Score(NamedTuple):
    """How good a cut is; compared from the first field on, larger is better."""

    gain: float
    margin: float
    order: int


def best_condition(cases: Cases, names: Names, label: str) -> tuple[Condition, float] | None:
    """The one condition that best tells the compounds of a label from the others, with its gain.

    Gain = rightly covered - 1.5 times wrongly covered - 0.5 for a second limit. Among equals the wider gap
    at the limits wins, then the descriptor that comes first.
    """
    scored = (
        (_Score(gain, margin, -order), condition)
        for order, name in enumerate(names)
        for condition, gain, margin in _intervals(cases, name, label)
    )
    best = max(scored, key=lambda s: s[0], default=None)
    return (best[1], best[0].gain) if best else None


def _intervals(cases: Cases, name: str, label: str) -> Iterator[tuple[Condition, float, float]]:
    """Every interval of a descriptor that begins and ends between two measured values."""
    groups = _groups(cases, name)
    span = groups[-1][0] - groups[0][0] if groups else 0.0
    cuts = [None, *(threshold(a, b) for (a, _), (b, _) in pairwise(groups)), None]
    widths = [1.0, *((b - a) / span for (a, _), (b, _) in pairwise(groups)), 1.0]
    sums = [0.0]
    for _, members in groups:
        sums.append(sums[-1] + sum(1.0 if c.near(label) else -MISS_COST for c in members))
    for i, j in combinations(range(len(cuts)), 2):
        if (i, j) != (0, len(cuts) - 1):
            sides = SIDE_COST if i > 0 and j < len(cuts) - 1 else 0.0
            yield Condition(name, cuts[i], cuts[j]), sums[j] - sums[i] - sides, min(widths[i], widths[j])


def _groups(cases: Cases, name: str) -> list[tuple[float, list[Case]]]:
    """Cases by value of a descriptor, ascending."""
    found: dict[float, list[Case]] = {}
    for case in cases:
        if name in case.values:
            found.setdefault(case.values[name], []).append(case)
    return sorted(found.items(), key=lambda g: g[0])


def threshold(low: float, high: float, at: float = 0.5) -> float:
    """A short decimal between two values, near that fraction of the way from one to the other."""
    wanted, slack = low + at * (high - low), (high - low) / 8
    return next((t for d in range(6) if abs((t := round(wanted, d)) - wanted) < slack), wanted)


def sharpened(rule: Rule, cases: Cases, names: Names) -> Rule | None:
    """The rule with one more condition, or a tighter one, that keeps more wrong compounds out.

    Returns:
        None when nothing measured asks for a change, or no condition helps.
    """
    covered = [c for c in cases if rule.covers(c.values)]
    now = sum(1.0 if c.near(rule.label) else -MISS_COST for c in covered)
    found = best_condition(covered, names, rule.label)
    if found is None or found[1] <= now:
        return None
    return rule.also(found[0])


def tree(cases: Cases, names: Names, depth: int = DEPTH) -> RuleList:
    """A tree of that depth at most, written as an ordered list of rules.

    A leaf names the phase whose energy above the lowest, summed over its compounds, is least; a split is
    made where it saves most of that sum. So a near tie weighs little, and one compound that is clearly
    different (TiO2 among the heavier dioxides) is worth a rule of its own, which a count of labels would
    not give it. As the list is read in order, a rule need not repeat that those before it did not apply.
    """
    return _tree(tuple(cases), tuple(names), depth)


@lru_cache(maxsize=1024)  # a replay asks for the same trees again
def _tree(cases: tuple[Case, ...], names: tuple[str, ...], depth: int) -> RuleList:
    split = _best_split(cases, names) if depth else None
    if split is None:
        return RuleList((), cheapest(cases))
    below, above = Condition(split[0], None, split[1]), Condition(split[0], split[1], None)
    left = _tree(tuple(c for c in cases if below.holds(c.values)), names, depth - 1)
    right = _tree(tuple(c for c in cases if above.holds(c.values)), names, depth - 1)
    return _joined(below, left, above, right)


def _joined(below: Condition, left: RuleList, above: Condition, right: RuleList) -> RuleList:
    """The two sides of a split as one list, a side that needs no further rule first."""
    if right.rules or not left.rules:
        first, inner, rest = below, left, right
    else:
        first, inner, rest = above, right, left
    inside = (*(r.also(first) for r in inner.rules), Rule((first,), inner.otherwise))
    rules = [*inside, *rest.rules]
    while rules and rules[-1].label == rest.otherwise:
        rules.pop()
    return RuleList(tuple(rules), rest.otherwise)


def cost(case: Case, label: str) -> float:
    """Energy of a phase above the lowest, meV/atom: at most CLEARLY_WRONG, so much too if it is unknown."""
    return min(CLEARLY_WRONG, case.gaps.get(label, CLEARLY_WRONG))


def cheapest(cases: Cases) -> str:
    """The label that costs the cases least in sum; of equals the most frequent, then the one met first."""
    counts = Counter(c.label for c in cases)
    return min(counts, key=lambda label: (sum(cost(c, label) for c in cases), -counts[label]), default="")


def _best_split(cases: Cases, names: Names) -> tuple[str, float] | None:
    """The descriptor and limit that save most, or None where that is too little."""
    labels = tuple(dict.fromkeys(c.label for c in cases))
    scored = [
        (_Score(round(saved, 6), margin, -order), (name, below, above))
        for order, name in enumerate(names)
        for below, above, saved, margin in _splits(cases, labels, name)
        if saved >= WORTH_A_RULE
    ]
    if not scored:
        return None
    name, below, above = max(scored, key=lambda s: s[0])[1]
    return name, threshold(
        below, above, _nearer_to_fewer(sum(c.values[name] <= below for c in cases), len(cases))
    )


def _nearer_to_fewer(below: int, total: int) -> float:
    """Where in a gap the limit lies: an exception claims little more than was seen."""
    return 0.5 if 2 * below == total else 0.25 if 2 * below < total else 0.75


def _splits(cases: Cases, labels: tuple[str, ...], name: str) -> Iterator[tuple[float, float, float, float]]:
    """Neighbouring values of a descriptor, with what a limit between them saves, and their gap's width."""
    column = sorted((c for c in cases if name in c.values), key=lambda c: c.values[name])
    if len(column) < len(cases) or not column:
        return
    span = column[-1].values[name] - column[0].values[name]
    sums = [list(accumulate((cost(c, label) for c in column), initial=0.0)) for label in labels]
    whole = min(s[-1] for s in sums)
    for count, (case, following) in enumerate(pairwise(column), start=1):
        below, above = case.values[name], following.values[name]
        if above > below:
            left, right = min(s[count] for s in sums), min(s[-1] - s[count] for s in sums)
            yield below, above, whole - left - right, (above - below) / span
