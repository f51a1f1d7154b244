"""What a hypothesis claims, in a form that a measurement can fit or miss, and the belief that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hepbench.harness.scientist.fitting import tree
from hepbench.harness.scientist.rules import Case, Rule, RuleList

PRIOR_WEIGHT = 2.0
"""The prior counts as much as this many tests."""
COUNTEREXAMPLE = 0.05
"""Belief in a universal claim after a trusted counterexample: the chance left that the measurement errs."""


class Claim(Protocol):
    """Something that measured compounds can fit or miss."""

    def outcome(self, case: Case, others: Sequence[Case]) -> bool | None:
        """Whether a compound fits; None when the claim says nothing about it.

        Args:
            case: The measured compound.
            others: What else was known: the compounds measured before it.
        """


@dataclass(frozen=True)
class OneForAll:
    """Every compound has the same lowest phase. A single counterexample settles it.

    Attributes:
        total: How many compounds there are to measure.
    """

    total: int

    def outcome(self, case: Case, others: Sequence[Case]) -> bool | None:
        """A compound fits when it has the phase of the first one measured."""
        return case.near(others[0].label) if others else None


@dataclass(frozen=True)
class FollowsDescriptor:
    """A compound has the lowest phase of the one nearest to it in a descriptor."""

    descriptor: str

    def outcome(self, case: Case, others: Sequence[Case]) -> bool | None:
        """A compound fits when its nearest neighbour among those before it has its phase."""
        known = [c for c in others if self.descriptor in c.values]
        if self.descriptor not in case.values or not known:
            return None
        value = case.values[self.descriptor]
        return case.near(min(known, key=lambda c: abs(c.values[self.descriptor] - value)).label)


@dataclass(frozen=True)
class Covered:
    """A rule: the compounds that it covers have its label."""

    rule: Rule

    def outcome(self, case: Case, others: Sequence[Case]) -> bool | None:  # noqa: ARG002
        """A covered compound fits when it has the label."""
        return case.near(self.rule.label) if self.rule.covers(case.values) else None


@dataclass(frozen=True)
class Decided:
    """A whole rule list: it says something about every compound."""

    rules: RuleList

    def outcome(self, case: Case, others: Sequence[Case]) -> bool | None:  # noqa: ARG002
        """A compound fits when the list gives its label."""
        return case.near(self.rules.label(case.values))


@dataclass(frozen=True)
class LeftOut:
    """A tree fitted to all that was measured, judged by leaving one compound out at a time."""

    names: tuple[str, ...]
    cases: tuple[Case, ...]

    def outcome(self, case: Case, others: Sequence[Case]) -> bool | None:  # noqa: ARG002
        """A compound fits when the rule, fitted without it, gives its label."""
        rest = [c for c in self.cases if c.compound != case.compound]
        return case.near(tree(rest, self.names).label(case.values)) if rest else None


def belief(claim: Claim, prior: float, fits: int, tested: int) -> float:
    """P(H) after tests.

    For a rule it is (2 * prior + fits) / (2 + tested): the mean of a Beta distribution, Laplace's rule of
    succession with the prior counted as two tests. It rises with each fit and falls with each miss, as the
    stances of evidence ask. For a claim about all of N compounds it is (fits + 1) / (N + 1), Laplace's
    answer to that question, where this exceeds the prior; and 0.05 after a miss.
    """
    if not isinstance(claim, OneForAll):
        return round((PRIOR_WEIGHT * prior + fits) / (PRIOR_WEIGHT + tested), 3)
    if fits < tested:
        return COUNTEREXAMPLE
    return round(max(prior, (fits + 1) / (claim.total + 1)), 3)


def belief_words(claim: Claim, prior: float, fits: int, tested: int) -> str:
    """The formula with its numbers."""
    value = belief(claim, prior, fits, tested)
    if not isinstance(claim, OneForAll):
        return (
            f"P = ({PRIOR_WEIGHT:g} * prior {prior:g} + {fits} that fit) / ({PRIOR_WEIGHT:g} + {tested} "
            f"tested) = {value:g}: the share of tests that it stood, the prior counted as two."
        )
    if fits < tested:
        return f"One trusted counterexample defeats a universal claim; P = {value:g} is left for an error."
    return (
        f"P = {value:g}: {fits} that fit of {claim.total} make ({fits} + 1) / ({claim.total} + 1); a claim "
        "about all rises no faster."
    )
