"""Rules fitted to what was measured: small exhaustive searches over thresholds, no library needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from hepbench.harness.scientist.rules import Case, Condition, Rule, RuleList

MISS_COST = 1.5
"""What a wrongly covered compound costs a rule, in rightly covered ones."""
SIDE_COST = 0.5
"""What a second limit, or a second condition, costs a rule."""

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
        sums.append(sums[-1] + sum(1.0 if c.fits(label) else -MISS_COST for c in members))
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


def threshold(low: float, high: float) -> float:
    """The shortest decimal that lies between two values, near their middle."""
    middle = (low + high) / 2
    return next((t for d in range(6) if low < (t := round(middle, d)) < high), middle)


def sharpened(rule: Rule, cases: Cases, names: Names) -> Rule | None:
    """The rule with one more condition, or a tighter one, that keeps more wrong compounds out.

    Returns:
        None when nothing measured asks for a change, or no condition helps.
    """
    covered = [c for c in cases if rule.covers(c.values)]
    now = sum(1.0 if c.fits(rule.label) else -MISS_COST for c in covered)
    found = best_condition(covered, names, rule.label)
    if found is None or found[1] <= now:
        return None
    return rule.also(found[0])


def tree(cases: Cases, names: Names, depth: int, least: int = 2) -> RuleList:
    """A classification tree of that depth at most, written as an ordered list of rules.

    Splits minimise the Gini impurity; each side of a split holds `least` compounds or more. As the list is
    read in order, a rule need not repeat that those before it did not apply.
    """
    split = _best_split(cases, names, least) if depth else None
    if split is None:
        return RuleList((), majority(cases))
    below, above = Condition(split[0], None, split[1]), Condition(split[0], split[1], None)
    left = tree([c for c in cases if below.holds(c.values)], names, depth - 1, least)
    right = tree([c for c in cases if above.holds(c.values)], names, depth - 1, least)
    return _joined(below, left, above, right)


def _joined(below: Condition, left: RuleList, above: Condition, right: RuleList) -> RuleList:
    """The two sides of a split as one list, a side that needs no further rule first."""
    if not (left.rules or right.rules) and left.otherwise == right.otherwise:
        return left
    if right.rules or not left.rules:
        first, inner, rest = below, left, right
    else:
        first, inner, rest = above, right, left
    inside = (*(r.also(first) for r in inner.rules), Rule((first,), inner.otherwise))
    return RuleList((*inside, *rest.rules), rest.otherwise)


def majority(cases: Cases) -> str:
    """The most frequent label; the one met first among equals."""
    return Counter(c.label for c in cases).most_common(1)[0][0] if cases else ""


def _best_split(cases: Cases, names: Names, least: int) -> tuple[str, float] | None:
    """The descriptor and limit that leave the least Gini impurity, or None when no split lowers it."""
    labels = Counter(c.label for c in cases)
    if len(labels) < 2:  # noqa: PLR2004 - nothing to tell apart
        return None
    whole = len(cases) - sum(n * n for n in labels.values()) / len(cases)
    scored = [
        (_Score(whole - impurity, margin, -order), (name, below, above))
        for order, name in enumerate(names)
        for below, above, impurity, margin in _splits(cases, labels, name, least)
        if whole - impurity > 1e-9  # noqa: PLR2004 - rounding
    ]
    if not scored:
        return None
    name, below, above = max(scored, key=lambda s: s[0])[1]
    return name, threshold(below, above)


def _splits(
    cases: Cases, labels: Counter[str], name: str, least: int
) -> Iterator[tuple[float, float, float, float]]:
    """Neighbouring values of a descriptor, with the impurity left (times cases) and the gap's relative width.

    The impurity of n cases is n - (sum of squared label counts) / n; the sums are kept up to date.
    """
    column = sorted((c.values[name], c.label) for c in cases if name in c.values)
    total = len(cases)
    if len(column) < total or column[0][0] == column[-1][0]:
        return
    span = column[-1][0] - column[0][0]
    under, over = dict.fromkeys(labels, 0), dict(labels)
    under_squares, over_squares = 0, sum(n * n for n in labels.values())
    for count, ((value, label), (following, _)) in enumerate(pairwise(column), start=1):
        under_squares += 2 * under[label] + 1
        over_squares -= 2 * over[label] - 1
        under[label] += 1
        over[label] -= 1
        if following > value and least <= count <= total - least:
            left = total - under_squares / count - over_squares / (total - count)
            yield value, following, left, (following - value) / span


def left_out_fits(cases: Cases, names: Names, depth: int) -> int:
    """How many cases a tree gets right when each is predicted from all the others."""
    return sum(
        case.fits(tree([*cases[:i], *cases[i + 1 :]], names, depth).label(case.values))
        for i, case in enumerate(cases)
    )


def best_depth(cases: Cases, names: Names, depths: Sequence[int] = (1, 2, 3, 4)) -> int:
    """The depth at which trees predict left-out cases best; the shallower among equals."""
    return max(depths, key=lambda d: (left_out_fits(cases, names, d), -d))
