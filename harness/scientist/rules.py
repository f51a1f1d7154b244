"""Rules as a person would write them: conditions on descriptors, and the label they lead to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from hepbench.harness.scientist.descriptors import Values

TIE_MEV = 2.0
"""Phases within this energy of the lowest count as lowest too, in meV/atom."""
NEAR_MEV = 10.0
"""Hypotheses speak of phases to within this energy of the lowest, in meV/atom: many structures lie closer
together than a potential can be trusted to part them, and a rule that holds but for these is a good rule."""


@dataclass(frozen=True)
class Case:
    """A measured compound.

    Attributes:
        compound: Formula.
        result: Id of the laboratory's result.
        values: Its descriptors.
        gaps: Phase → energy above the lowest, meV/atom, for the phases that were compared.
        label: The lowest phase.
        trusted: The laboratory's checks passed.
        tried: Phases that it was started as; of one that is not among the gaps nothing was left.
    """

    compound: str
    result: str
    values: Values = field(hash=False)
    gaps: Mapping[str, float] = field(hash=False)
    label: str
    trusted: bool = True
    tried: frozenset[str] = frozenset()

    def lowest(self, label: str) -> bool:
        """Whether that phase is the lowest, or tied with it."""
        return self.gaps.get(label, math.inf) <= TIE_MEV

    def near(self, label: str) -> bool:
        """Whether that phase is the lowest to within what a hypothesis claims."""
        return self.gaps.get(label, math.inf) <= NEAR_MEV


@dataclass(frozen=True)
class Condition:
    """low < descriptor ≤ high, where either side may be open."""

    descriptor: str
    low: float | None = None
    high: float | None = None

    def holds(self, values: Values) -> bool:
        """Whether a compound meets it; one whose descriptor is not known does not."""
        value = values.get(self.descriptor)
        if value is None:
            return False
        return (self.low is None or value > self.low) and (self.high is None or value <= self.high)

    def words(self) -> str:
        """As it is written, such as "r(A)/r(O) > 0.62"."""
        if self.low is None:
            return f"{self.descriptor} ≤ {self.high:g}"
        if self.high is None:
            return f"{self.descriptor} > {self.low:g}"
        return f"{self.low:g} < {self.descriptor} ≤ {self.high:g}"

    def narrowed(self, other: Condition) -> Condition:
        """Both conditions on one descriptor as one."""
        lows = [x for x in (self.low, other.low) if x is not None]
        highs = [x for x in (self.high, other.high) if x is not None]
        return Condition(self.descriptor, max(lows, default=None), min(highs, default=None))


@dataclass(frozen=True)
class Rule:
    """Where all conditions hold, this label is the lowest."""

    conditions: tuple[Condition, ...]
    label: str

    def covers(self, values: Values) -> bool:
        """Whether the rule says anything about such a compound."""
        return all(c.holds(values) for c in self.conditions)

    def words(self) -> str:
        """The conditions in words; empty when there are none."""
        return " and ".join(c.words() for c in self.conditions)

    def also(self, condition: Condition) -> Rule:
        """The rule with one more condition, or one condition narrowed."""
        same = [c for c in self.conditions if c.descriptor == condition.descriptor]
        others = tuple(c for c in self.conditions if c.descriptor != condition.descriptor)
        narrowed = same[0].narrowed(condition) if same else condition
        return Rule((*others, narrowed), self.label)


@dataclass(frozen=True)
class RuleList:
    """Rules in order: the first that covers a compound says its label, else `otherwise`."""

    rules: tuple[Rule, ...]
    otherwise: str

    def leaf(self, values: Values) -> Rule | None:
        """The rule that decides about a compound, or None for the rest."""
        return next((r for r in self.rules if r.covers(values)), None)

    def label(self, values: Values) -> str:
        """The label of a compound."""
        rule = self.leaf(values)
        return rule.label if rule else self.otherwise

    def words(self) -> str:
        """The whole list in words."""
        said = [f"{rule.words()} prefers {rule.label}" for rule in self.rules]
        return "; else ".join([*said, f"{self.otherwise} for all others" if said else self.otherwise])
