"""Hypotheses about the whole family: what held for single phases, and analogy, joined into one rule."""

from __future__ import annotations

from collections import Counter

from hepbench.harness.scientist.claims import FollowsDescriptor, Mostly
from hepbench.harness.scientist.fitting import cheapest
from hepbench.harness.scientist.notebook import Draft, Idea, Lineage, begin, state
from hepbench.harness.scientist.orientation import Study
from hepbench.harness.scientist.phase_rules import WITHIN, prior_of, rules_of
from hepbench.harness.scientist.relatives import Relatives, fitted
from hepbench.harness.scientist.rules import RuleList
from hepbench.harness.scientist.script import Script

MOST_ASKED = 0.5
"""A rule for the family claims to be right more often than the commonest phase is, or than this if less."""


def join(study: Study) -> Script[Idea | None]:
    """Merge the best rule for each phase, and analogy, into one rule for the family."""
    parents = _parents(study)
    cases = study.bench.trusted
    rules = tuple(rule for _, rule in rules_of(parents) if rule.conditions)
    if len(parents) < 2 or not rules:  # noqa: PLR2004 - a merge takes two
        return next((i for i, _ in study.rules if i is not None), None)
    rest = [c for c in cases if not any(r.covers(c.values) for r in rules)]
    joint = Relatives(RuleList(rules, cheapest(rest or cases)), tuple(cases), study.bench.space.axes)
    prior, seen = prior_of(joint, cases)
    why = (
        "The rules that stood their tests, the surest first, say which compounds belong together; relatives "
        f"decide within and beyond. Together: {seen}, none of which I count as a test."
    )
    lineage = Lineage("merge", tuple(parents))
    return (yield from _rule_for_all(study, joint, prior, why, lineage))


def fit_all(study: Study, parent: Idea | None) -> Script[None]:
    """Make the classes once more, from everything measured. The compounds left will test the rule."""
    cases = study.bench.trusted
    rule = fitted(cases, study.bench.space.names, study.bench.space.axes)
    if not cases or any(rule.words() == known.words() for _, known in study.rules):
        return
    if parent is None or not parent.used:  # without a registry, or with nothing that the revision answers to
        study.rules.append((None, rule))
        return
    prior, seen = prior_of(rule, cases)
    why = (
        f"{parent.id} with its classes made once more from everything measured so far; it {seen}. The "
        "compounds left will test it."
    )
    lineage = Lineage("refine", (parent,))
    yield from _rule_for_all(study, rule, prior, why, lineage)


def _rule_for_all(
    study: Study, rule: Relatives, prior: float, why: str, lineage: Lineage
) -> Script[Idea | None]:
    """State a rule for the whole family, keep it, and put it under test."""
    (idea,) = yield from state(study.book, study.bench, [draft_for_all(study, rule, prior, why, lineage)])
    study.rules.append((idea, rule))
    yield from begin([idea] if idea else [])
    return idea


def draft_for_all(study: Study, rule: Relatives, prior: float, why: str, lineage: Lineage) -> Draft:
    """A rule for the whole family, which need not hold for every compound, but must beat a single phase."""
    cases = study.bench.trusted
    common = Counter(c.label for c in cases).most_common(1)[0][1] / len(cases)
    share = min(MOST_ASKED, round(common, 2))
    claimed = f"in more than {share:.0%} of the cases and {WITHIN}"
    statement = f"Among the {study.family}, {claimed}, {rule.words()}."
    return Draft(Mostly(rule, share), statement, prior, why, lineage)


def _parents(study: Study) -> list[Idea]:
    """The surest tested rule of each phase, and the idea of analogy; others too where these are too few."""
    tested = [i for i in study.book.ideas if i.tested]
    surest = sorted((i for i, _ in rules_of(tested) if i.fits), key=lambda i: i.belief)
    best = {rule.label: idea for idea, rule in rules_of(surest)}
    chosen = sorted(best.values(), key=lambda i: -i.belief)
    general = [i for i in tested if isinstance(i.claim, Mostly)]
    general += [i for i in tested if isinstance(i.claim, FollowsDescriptor)]
    return chosen + general[:1]
