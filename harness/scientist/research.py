"""The study of `hepbench/scientist`, from the first look to the verdicts, as a script.

1. State a null hypothesis and two rival ideas; survey a few compounds in full.
2. State the common phase as the rule, and for phases that clearly beat it somewhere a rule each; measure
   further compounds as tests of them.
3. Judge; sharpen what met exceptions; state rules for phases that turned up; test again.
4. Merge what held into one rule for the whole family; test it on compounds that it was not made from.
5. Fit that rule once more to everything, judge it by leaving out and by the last compounds; take all
   verdicts; finish.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from hepbench.harness.scientist.bench import Job, measure, survey_jobs, test_jobs
from hepbench.harness.scientist.claims import Covered, Decided, FollowsDescriptor, LeftOut, OneForAll
from hepbench.harness.scientist.fitting import best_condition, cheapest, sharpened, tree
from hepbench.harness.scientist.notebook import Idea, Lineage, begin, settle, state, weigh
from hepbench.harness.scientist.orientation import NOT_AN_LLM, Study, orient
from hepbench.harness.scientist.rules import NEAR_MEV, Case, Rule, RuleList
from hepbench.harness.scientist.script import Script, one

WITHIN = f"to within {NEAR_MEV:g} meV/atom"
MOST_RULES = 4
"""Phases for which a rule is stated at a time."""
MOST_IDEAS = 13
"""Hypotheses after which no further rule is stated or sharpened; the joint ones come on top."""
WELL_TESTED = 3
"""Tests after which a rule no longer asks for compounds of its own."""
ROUNDS = (0.35, 0.4, 0.5, 1.0)
"""Shares of the compounds left that the four rounds of tests take."""
PRIORS = (0.25, 0.6)
"""Priors stay within: a rule that was fitted and not tested is neither believed nor dismissed."""


def research(study: Study) -> Script[None]:
    """The whole research phase; fills the study as it goes."""
    yield from orient(study)
    if not (study.bench.labels and study.bench.compounds):
        return
    yield from _open(study)
    yield from _first_rules(study)
    for share in ROUNDS[:2]:
        yield from _round(study, share)
        yield from _revise(study)
    joint = yield from _join(study)
    yield from _round(study, ROUNDS[2])
    fitted = yield from _fit_all(study, joint)
    yield from _round(study, ROUNDS[3])
    if fitted is None or fitted.fits < fitted.tested:
        yield from _fit_all(study, fitted, last=True)
        yield from _weigh_and_judge(study)
    yield from settle(study.book.open, "No further measurement is planned.")
    yield from _finish(study)


def _open(study: Study) -> Script[None]:
    """The null hypothesis, two rival ideas, and the survey that holds them against each other."""
    first, claim = Lineage(since=0), OneForAll(len(study.bench.compounds))
    null = (
        f"Every compound among the {study.family} has the same {study.label_name}, {WITHIN}, whatever its "
        "elements."
    )
    why = "The null hypothesis: if it holds, no rule is needed. I know nothing for or against it yet."
    yield from state(study.book, study.bench, claim, null, 0.5, why, first)
    for descriptor, statement in _rivals(study):
        why = f"{descriptor} is a classical guess, and it can fail at every compound that is measured."
        yield from state(study.book, study.bench, FollowsDescriptor(descriptor), statement, 0.5, why, first)
    yield from begin(study.book.open)
    yield from _measure(
        study,
        survey_jobs(study.bench),
        "Survey, in full: compounds that stand for the rest, and some that are unlike it.",
    )
    yield from _weigh_and_judge(study)


def _rivals(study: Study) -> list[tuple[str, str]]:
    """Two descriptors of different kind, each with the statement that it alone decides."""
    names = study.bench.space.names
    others = [n for n in names[1:] if n.startswith("electronegativity")] or names[1:]
    nearest = f"a compound takes the {study.label_name} of the one nearest to it in this number, {WITHIN}"
    said = [(n, f"Among the {study.family}, {n} alone decides: {nearest}.") for n in names[:1]]
    other = [
        (n, f"Not {names[0]} but {n}: neighbours in it agree in their {study.label_name}.") for n in others
    ]
    return said + other[:1]


def _measure(study: Study, jobs: list[Job], say: str) -> Script[None]:
    """Measure; where all starts of a comparison fell into one phase, once more with further prototypes."""
    bench = study.bench
    again: list[Job] = []
    for case in (yield from measure(bench, jobs, say)):
        tried = bench.starts[case.compound]
        wider = tuple(dict.fromkeys((*tried, *bench.shortlist(case.compound, len(tried) + 2))))[
            : len(tried) + 2
        ]
        if not case.trusted and len(case.gaps) == 1 and len(tried) < len(wider) <= len(tried) + bench.budget:
            again.append((case.compound, wider))
    yield from measure(bench, again, "One phase alone is no comparison: again, with further prototypes.")


def _weigh_and_judge(study: Study) -> Script[None]:
    """Hold what is new against all open ideas, and take the verdicts that are due."""
    yield from weigh(study.book, study.bench, study.book.open)
    yield from settle([i for i in study.book.open if i.verdict != "dormant"])


def _first_rules(study: Study) -> Script[None]:
    """The phase that does best for all, as the rule; and a rule for each phase that beats it somewhere."""
    common = cheapest(study.bench.trusted)
    if common:
        yield from _state_rules(study, [Rule((), common)])
    yield from _state_exceptions(study)
    yield from begin(study.book.open)


def _state_exceptions(study: Study) -> Script[None]:
    """A rule for each phase that has none and is lowest where the common phase is clearly not."""
    cases, names = study.bench.trusted, study.bench.space.names
    common = cheapest(cases)
    spoken_for = {rule.label for _, rule in _rules_of(study.book.ideas)}
    odd = Counter(c.label for c in cases if not c.near(common) and c.label not in spoken_for)
    found = [(best_condition(cases, names, label), label) for label, _ in odd.most_common(MOST_RULES)]
    yield from _state_rules(study, [Rule((best[0],), label) for best, label in found if best])


def _state_rules(study: Study, rules: Iterable[Rule]) -> Script[None]:
    for rule in rules:
        if _worth_stating(study, rule):
            prior, seen = _prior(rule, study.bench.trusted)
            why = (
                f"Of the compounds measured so far it {seen}. It was made to fit them, so the prior counts "
                "two misses more."
            )
            lineage = Lineage("propose", _sources(study, rule))
            yield from state(
                study.book, study.bench, Covered(rule), _statement(study, rule), prior, why, lineage
            )


def _worth_stating(study: Study, rule: Rule) -> bool:
    """There is room for it, and something left to test it on."""
    covers = any(rule.covers(study.bench.space.values(c)) for c in study.bench.testable)
    return covers and len(study.book.ideas) < MOST_IDEAS


def _sources(study: Study, rule: Rule) -> tuple[Idea, ...]:
    """The general idea that a rule gives numbers to; for the first rule of all, the null hypothesis else."""
    names = {c.descriptor for c in rule.conditions}
    general = [i for i in study.book.ideas if isinstance(i.claim, FollowsDescriptor)]
    found = [i for i in general if isinstance(i.claim, FollowsDescriptor) and i.claim.descriptor in names]
    if not found and not _rules_of(study.book.ideas):
        found = study.book.ideas[:1]
    return tuple(found[:1])


def _rules_of(ideas: Iterable[Idea]) -> list[tuple[Idea, Rule]]:
    """The ideas that are a single rule, with it."""
    return [(i, i.claim.rule) for i in ideas if isinstance(i.claim, Covered)]


def _statement(study: Study, rule: Rule) -> str:
    if not rule.conditions:
        return f"As a rule, {study.family} prefer {rule.label}, {WITHIN}."
    return f"{study.family} with {rule.words()} prefer {rule.label}, {WITHIN}."


def _prior(rule: Rule | RuleList, cases: list[Case]) -> tuple[float, str]:
    """The prior, fits / (covered + 2) within its bounds; and what was seen, in words."""
    covered = [c for c in cases if isinstance(rule, RuleList) or rule.covers(c.values)]
    label = rule.label if isinstance(rule, Rule) else ""
    fits = sum(c.near(rule.label(c.values) if isinstance(rule, RuleList) else label) for c in covered)
    low, high = PRIORS
    prior = round(min(high, max(low, fits / (len(covered) + 2))), 3)
    return prior, f"fits {fits} of the {len(covered)} that it covers"


def _round(study: Study, share: float) -> Script[None]:
    """Measure compounds as tests, those first that rules with few tests speak about; then weigh and judge."""
    left = study.bench.testable
    wanted = [rule for idea, rule in _rules_of(study.book.open) if idea.tested < WELL_TESTED]
    ask = {c: sum(r.covers(study.bench.space.values(c)) for r in wanted) for c in left}
    chosen = sorted(left, key=lambda c: -ask[c])[: math.ceil(share * len(left))]
    jobs = test_jobs(study.bench, chosen, left)
    yield from _measure(study, jobs, "Tests: compounds not yet measured, in the prototypes that may win.")
    yield from _weigh_and_judge(study)


def _revise(study: Study) -> Script[None]:
    """Sharpen rules that met exceptions, set the old ones aside, and state rules for phases without one."""
    for idea, rule in _rules_of(study.book.ideas):
        if idea.fits < idea.tested and not idea.revised:
            child = yield from _sharpen(study, idea, rule)
            if child is not None:
                yield from settle([idea], f"{child.id} takes its place.")
    yield from _state_exceptions(study)
    yield from begin(study.book.open)


def _sharpen(study: Study, idea: Idea, rule: Rule) -> Script[Idea | None]:
    sharper = sharpened(rule, study.bench.trusted, study.bench.space.names)
    if sharper is None or not _worth_stating(study, sharper):
        return None
    idea.revised = True
    prior, seen = _prior(sharper, study.bench.trusted)
    why = f"{idea.id} met exceptions. Sharpened, it {seen}."
    lineage = Lineage("refine", (idea,))
    return (
        yield from state(
            study.book, study.bench, Covered(sharper), _statement(study, sharper), prior, why, lineage
        )
    )


def _join(study: Study) -> Script[Idea | None]:
    """Merge the best rule for each phase into one for the family."""
    parents = _parents(study)
    if len(parents) < 2:  # noqa: PLR2004 - a merge takes two
        return None
    cases = study.bench.trusted
    rules = [rule for _, rule in _rules_of(parents) if rule.conditions]
    rest = [c for c in cases if not any(r.covers(c.values) for r in rules)]
    joint = RuleList(tuple(rules), cheapest(rest or cases))
    prior, seen = _prior(joint, cases)
    idea = yield from state(
        study.book,
        study.bench,
        Decided(joint),
        f"For the {study.family}, in this order and {WITHIN}: {joint.words()}.",
        prior,
        f"The rules that stood their tests, the surest first. Together: {seen}.",
        Lineage("merge", tuple(parents)),
    )
    yield from begin([idea] if idea else [])
    return idea


def _parents(study: Study) -> list[Idea]:
    """The surest tested rule of each phase; with only one, the general idea behind it joins."""
    tested = [i for i in study.book.ideas if i.tested]
    surest = sorted((i for i, _ in _rules_of(tested) if i.fits), key=lambda i: i.belief)
    best = {rule.label: idea for idea, rule in _rules_of(surest)}
    chosen = sorted(best.values(), key=lambda i: -i.belief)
    general = [i for i in tested if isinstance(i.claim, FollowsDescriptor)]
    return chosen if len(chosen) != 1 else chosen + general[:1]


def _fit_all(study: Study, parent: Idea | None, *, last: bool = False) -> Script[Idea | None]:
    """Fit the rule once more, to everything measured; predictions will be made from it.

    While compounds are left, these test it. The last fit can only be judged by predicting each compound
    from the others.
    """
    cases, names = study.bench.trusted, study.bench.space.names
    rules = tree(cases, names)
    if not cases or rules == study.kept:
        return parent
    study.kept = rules
    if parent is None or not parent.used:  # without a registry, or with nothing that the revision answers to
        return parent
    prior, seen = _prior(rules, cases)
    child = yield from state(
        study.book,
        study.bench,
        LeftOut(names, tuple(cases)) if last else Decided(rules),
        f"For the {study.family}, {WITHIN}, with limits fitted to {len(cases)} compounds: {rules.words()}.",
        0.5 if last else prior,
        f"{parent.id} with its limits fitted to everything measured so far; it {seen}. "
        + ("I judge it by predicting each from the others." if last else "The compounds left will test it."),
        Lineage("refine", (parent,), since=0 if last else None),
    )
    yield from begin([child] if child else [])
    return child or parent


def _finish(study: Study) -> Script[None]:
    """Look over the registry, leave nothing open, and end; once more after a reminder."""
    rule = study.kept.words() if study.kept else "no rule found"
    for say in ("The record once more before I end.", "Something is open still; once more."):
        answer = yield from one(say, "list_hypotheses")
        _reread(study, answer.data.get("hypotheses") or ())
        yield from settle(study.book.open, "The research ends here.")
        yield from one("I finish.", "finish_research", summary=f"{NOT_AN_LLM} Rule: {rule}.")


def _reread(study: Study, rows: Iterable[Mapping[str, object]]) -> None:
    """Take over state and belief as the registry has them, and hypotheses that this replay does not know."""
    known = {i.id: i for i in study.book.ideas}
    for row in rows:
        name, belief = str(row.get("hypothesis")), float(str(row.get("belief", 0.5)))
        if name not in known:
            known[name] = Idea(name, OneForAll(0), belief, len(study.bench.cases), belief)
            study.book.ideas.append(known[name])
        known[name].state, known[name].belief = str(row.get("state")), belief
