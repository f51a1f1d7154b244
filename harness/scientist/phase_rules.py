"""Hypotheses about one phase each: where it is lowest, sharpened by the exceptions that they meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hepbench.harness.scientist.claims import Covered, FollowsDescriptor
from hepbench.harness.scientist.fitting import best_condition, cheapest, sharpened
from hepbench.harness.scientist.notebook import Draft, Idea, Lineage, settle, state
from hepbench.harness.scientist.orientation import Study
from hepbench.harness.scientist.relatives import Relatives
from hepbench.harness.scientist.rules import NEAR_MEV, Case, Rule
from hepbench.harness.scientist.script import Script

WITHIN = f"to within {NEAR_MEV:g} meV/atom"
MOST_RULES = 4
"""Phases for which a rule is stated at a time."""
MOST_IDEAS = 13
"""Hypotheses after which no further rule is stated or sharpened; those for the family come on top."""
PRIORS = (0.25, 0.6)
"""Priors stay within: a rule that was fitted and not tested is neither believed nor dismissed."""


def exceptions(study: Study, *spoken_for: str) -> list[Rule]:
    """A rule for each phase that has none and is lowest where the common phase is clearly not."""
    cases, names = study.bench.trusted, study.bench.space.names
    common = cheapest(cases)
    known = {*spoken_for, *(rule.label for _, rule in rules_of(study.book.ideas))}
    odd = Counter(c.label for c in cases if not c.near(common) and c.label not in known)
    found = [(best_condition(cases, names, label), label) for label, _ in odd.most_common(MOST_RULES)]
    return [Rule((best[0],), label) for best, label in found if best]


def drafted(study: Study, rules: Iterable[Rule], waiting: int = 0) -> list[Draft]:
    """Rules as hypotheses, those that are worth it, beside so many that wait already."""
    drafts: list[Draft] = []
    for rule in rules:
        if _worth_stating(study, rule, waiting + len(drafts)):
            prior, seen = prior_of(rule, study.bench.trusted)
            why = (
                f"Of the compounds measured so far it {seen}. It was made to fit them, so the prior counts "
                "two misses more."
            )
            lineage = Lineage("propose", _sources(study, rule))
            drafts.append(Draft(Covered(rule), _statement(study, rule), prior, why, lineage))
    return drafts


def revise(study: Study) -> Script[None]:
    """Sharpen rules that met exceptions, set the old ones aside, and state rules for phases without one."""
    parents: list[Idea] = []
    drafts: list[Draft] = []
    for idea, rule in rules_of(study.book.ideas):
        if idea.fits < idea.tested and not idea.revised:
            sharper = _sharper(study, idea, rule, len(drafts))
            if sharper is not None:
                parents.append(idea)
                drafts.append(sharper)
    drafts += drafted(study, exceptions(study), len(drafts))
    born = yield from state(study.book, study.bench, drafts)
    for idea, child in zip(parents, born, strict=False):
        idea.revised = child is not None
    old = [i for i in parents if i.revised]
    yield from settle(old, "A sharper one takes its place.", begun=study.book.open)


def _sharper(study: Study, idea: Idea, rule: Rule, waiting: int) -> Draft | None:
    sharper = sharpened(rule, study.bench.trusted, study.bench.space.names)
    if sharper is None or not _worth_stating(study, sharper, waiting):
        return None
    prior, seen = prior_of(sharper, study.bench.trusted)
    why = f"{idea.id} met exceptions. Sharpened, it {seen}."
    return Draft(Covered(sharper), _statement(study, sharper), prior, why, Lineage("refine", (idea,)))


def _worth_stating(study: Study, rule: Rule, waiting: int) -> bool:
    """There is room for it beside those waiting, and something left to test it on."""
    covers = any(rule.covers(study.bench.space.values(c)) for c in study.bench.testable)
    return covers and len(study.book.ideas) + waiting < MOST_IDEAS


def _sources(study: Study, rule: Rule) -> tuple[Idea, ...]:
    """The general idea that a rule gives numbers to; for the first rule of all, the null hypothesis else."""
    names = {c.descriptor for c in rule.conditions}
    general = [i for i in study.book.ideas if isinstance(i.claim, FollowsDescriptor)]
    found = [i for i in general if isinstance(i.claim, FollowsDescriptor) and i.claim.descriptor in names]
    if not found and not rules_of(study.book.ideas):
        found = study.book.ideas[:1]
    return tuple(found[:1])


def rules_of(ideas: Iterable[Idea]) -> list[tuple[Idea, Rule]]:
    """The ideas that are a single rule, with it."""
    return [(i, i.claim.rule) for i in ideas if isinstance(i.claim, Covered)]


def _statement(study: Study, rule: Rule) -> str:
    if not rule.conditions:
        return f"As a rule, {study.family} prefer {rule.label}, {WITHIN}."
    return f"{study.family} with {rule.words()} prefer {rule.label}, {WITHIN}."


def prior_of(rule: Rule | Relatives, cases: list[Case]) -> tuple[float, str]:
    """The prior, fits / (covered + 2) within its bounds; and what was seen, in words."""
    if isinstance(rule, Rule):
        covered = [c for c in cases if rule.covers(c.values)]
        fits = sum(c.near(rule.label) for c in covered)
    else:
        covered = cases
        fits = sum(c.near(rule.label(c.values)) for c in covered)
    low, high = PRIORS
    prior = round(min(high, max(low, fits / (len(covered) + 2))), 3)
    return prior, f"fits {fits} of the {len(covered)} that it covers"
