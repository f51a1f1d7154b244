"""What a hypothesis claims, in a form that a measurement can fit or miss, and the belief that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from hepbench.harness.scientist.relatives import FEWEST, Relatives, more_often_than
from hepbench.harness.scientist.rules import Case, Rule

PRIOR_WEIGHT = 2.0
"""The prior counts as much as this many tests."""
COUNTEREXAMPLE = 0.05
"""Belief in a universal claim after a trusted counterexample: the chance left that the measurement errs."""
CERTAIN = 0.99
"""No count of tests makes a claim about most compounds surer than this."""


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
class Mostly:
    """A rule for the whole family is right in more than a share of all cases.

    The rule speaks of the measured compounds, and so goes on learning: each compound is predicted from those
    measured before it.

    Attributes:
        rule: The rule.
        share: The share, between 0 and 1.
    """

    rule: Relatives
    share: float = 0.5

    def outcome(self, case: Case, others: Sequence[Case]) -> bool | None:
        """A compound fits when the rule gives its label."""
        if len(others) < FEWEST:
            return None
        return case.near(replace(self.rule, cases=tuple(others)).label(case.values))


def belief(claim: Claim, prior: float, fits: int, tested: int) -> float:
    """P(H) after tests.

    For a rule it is (2 * prior + fits) / (2 + tested): the mean of a Beta distribution, Laplace's rule of
    succession with the prior counted as two tests. It rises with each fit and falls with each miss, as the
    stances of evidence ask. For a claim about all of N compounds it is (fits + 1) / (N + 1), Laplace's
    answer to that question, where this exceeds the prior; and 0.05 after a miss. For a claim that a rule is
    right in more than some share of all cases it is the chance of just that, 0.99 at most.
    """
    if isinstance(claim, Mostly):
        chance = more_often_than(claim.share, prior, fits, tested - fits)
        return round(min(CERTAIN, max(1 - CERTAIN, chance)), 3)
    if not isinstance(claim, OneForAll):
        return round((PRIOR_WEIGHT * prior + fits) / (PRIOR_WEIGHT + tested), 3)
    if fits < tested:
        return COUNTEREXAMPLE
    return round(max(prior, (fits + 1) / (claim.total + 1)), 3)


def belief_words(claim: Claim, prior: float, fits: int, tested: int) -> str:
    """The formula with its numbers."""
    value = belief(claim, prior, fits, tested)
    if isinstance(claim, Mostly):
        return (
            f"P = {value:g}: the chance that it is right in more than {claim.share:.0%} of all cases, by "
            f"Bayes' rule from the prior {prior:g} and {fits} that fit of {tested} tested."
        )
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
