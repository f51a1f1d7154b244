"""Prediction by analogy: a compound does as its relatives do, those of its own class before others.

A rule list sees what parts a family into classes, and errs at their borders. Relatives in the periodic table
see the rest, and know nothing of borders. Together they are one rule, which can be said and applied by hand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hepbench.harness.scientist.descriptors import Values
from hepbench.harness.scientist.fitting import CLEARLY_WRONG, cost, tree
from hepbench.harness.scientist.rules import Case, RuleList
from hepbench.harness.scientist.space import Axis, apart, closeness

OWN_CLASS = 10.0
"""What a relative in a compound's own class counts more than another at the same distance."""
CLEARLY = 0.9
"""How sure it must be that a class alone is the better guide before relatives beyond it are left out."""
FEWEST = 3
"""Analogies from fewer compounds are not held against anything."""
ALIKE = 8
"""Measured compounds that a prediction's confidence is judged by: those as clear as the one predicted."""


@dataclass(frozen=True)
class Relatives:
    """The label whose energy is lowest on average over measured compounds, near relatives counting most.

    Attributes:
        rules: What parts the compounds into classes.
        cases: The measured compounds.
        axes: What kinship is read from.
        strict: Whether relatives of another class count for nothing, where there are others.
    """

    rules: RuleList
    cases: tuple[Case, ...]
    axes: tuple[Axis, ...]
    strict: bool = False

    def energies(self, values: Values, without: str = "") -> dict[str, float]:
        """Label → its mean energy above the lowest, meV/atom, over the compounds that it was tried in."""
        leaf = self.rules.leaf(values)
        known = [(c, self.rules.leaf(c.values) == leaf) for c in self.cases if c.compound != without]
        if self.strict and any(own for _, own in known):
            known = [(c, own) for c, own in known if own]
        sums: dict[str, list[float]] = {}
        for case, own in known:
            weight = closeness(apart(self.axes, values, case.values)) * (OWN_CLASS if own else 1.0)
            for label in {*case.gaps, *case.tried}:
                total = sums.setdefault(label, [0.0, 0.0])
                total[0] += weight * cost(case, label)
                total[1] += weight
        return {label: spent / weight for label, (spent, weight) in sorted(sums.items())}

    def label(self, values: Values) -> str:
        """The label of a compound."""
        return _lowest(self.energies(values)) or self.rules.label(values)

    def within(self, values: Values) -> bool:
        """Whether a compound lies inside the range of what was measured, on every axis of kinship."""
        for axis in self.axes:
            value = values.get(axis.name)
            known = [c.values[axis.name] for c in self.cases if axis.name in c.values]
            if value is not None and known and not min(known) <= value <= max(known):
                return False
        return True

    def words(self) -> str:
        """The whole rule in words."""
        classes = (
            ", only those of its class" if self.strict else f", {OWN_CLASS:g} times that within its class"
        )
        classes = classes if self.rules.rules else ""
        scales = " + ".join(
            f"{'' if x.weight == 1 else f'{x.weight:g} '}(difference in {x.name} / {x.span:g})²"
            for x in self.axes
        )
        said = (
            "a compound prefers the phase that lies lowest on average over the measured compounds, each "
            f"counting 1/(0.01 + d²)³{classes}, where d² = {scales or '0'} and no phase counts more than "
            f"{CLEARLY_WRONG:g} meV/atom"
        )
        return f"{said}; classes: {self.rules.words()}" if self.rules.rules else said

    def confidence(self, values: Values) -> float:
        """How often, (n + 1) / (N + 2), measured compounds that look as clear were right from the others."""
        clear = _margin(self.energies(values))
        alike = sorted(self._left_out, key=lambda found: abs(found[0] - clear))[:ALIKE]
        return (sum(right for _, right in alike) + 1) / (len(alike) + 2)

    @cached_property
    def _left_out(self) -> list[tuple[float, bool]]:
        """For each measured compound: how clear the others are about it, and whether they are right."""
        found = [(c, self.energies(c.values, without=c.compound)) for c in self.cases]
        return [(_margin(energies), c.lowest(_lowest(energies))) for c, energies in found]


@dataclass(frozen=True)
class Guide:
    """What predictions are made from: the newest rule, and a longer tested one beyond what was measured.

    Classes that were just made fit what they were made from. Inside its range they are the better guide; of
    a compound outside it they say nothing more than older classes do, which have stood more tests.

    Attributes:
        newest: For compounds inside the range of those measured.
        oldest: For those outside.
    """

    newest: Relatives
    oldest: Relatives

    def rule(self, values: Values) -> Relatives:
        """The rule for a compound."""
        return self.newest if self.newest.within(values) else self.oldest

    def words(self) -> str:
        """Both in words, or the one where they are the same."""
        if self.oldest == self.newest:
            return self.newest.words()
        axes = ", ".join(axis.name for axis in self.newest.axes)
        return (
            f"{self.newest.words()}. Beyond the range of the measured compounds in {axes}, where the classes "
            f"that stood more tests are the safer guide, these: {self.oldest.rules.words()}"
        )


def _lowest(energies: dict[str, float]) -> str:
    return min(energies, key=lambda label: energies[label], default="")


def _margin(energies: dict[str, float]) -> float:
    """How far the second phase lies above the first."""
    first, second = sorted([*energies.values(), CLEARLY_WRONG, CLEARLY_WRONG])[:2]
    return second - first


def fitted(cases: Sequence[Case], names: Sequence[str], axes: tuple[Axis, ...]) -> Relatives:
    """The rule made from these cases: classes by a tree, and analogy within them, and mostly beyond."""
    return _fitted(tuple(cases), tuple(names), axes)


@lru_cache(maxsize=64)  # a replay asks for the same rules again
def _fitted(cases: tuple[Case, ...], names: tuple[str, ...], axes: tuple[Axis, ...]) -> Relatives:
    """Each compound is predicted from the others in both ways; where one way alone is right, it wins.

    Where the classes alone are right about every compound, there is nothing left for relatives to say.
    """
    right = wins = losses = 0
    for case in cases:
        rest = tuple(c for c in cases if c is not case)
        rules = tree(rest, names)
        loose, strict = (Relatives(rules, rest, axes, s).label(case.values) for s in (False, True))
        right += case.near(strict)
        wins += case.near(strict) and not case.near(loose)
        losses += case.near(loose) and not case.near(strict)
    enough = right == len(cases) or more_often_than(0.5, 0.5, wins, losses) >= CLEARLY
    return Relatives(tree(cases, names), cases, axes, enough)


def more_often_than(share: float, prior: float, fits: int, misses: int) -> float:
    """P(something is right in more than that share of all cases), by Bayes from independent tests.

    With a uniform prior of how often it is right, that share is Beta(fits + 1, misses + 1) afterwards, and
    the chance that it exceeds `share` is that of at most `fits` successes in fits + misses + 1 trials with
    this probability. Another prior than the 1 - share of the uniform one multiplies the odds.
    """
    trials = fits + misses + 1
    chance = math.fsum(math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(fits + 1))
    held, failed = chance / (1 - share) * prior, (1 - chance) / share * (1 - prior)
    return held / (held + failed)
