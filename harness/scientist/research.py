"""The study of `hepbench/scientist`, from the first look to the verdicts, as a script.

1. State a null hypothesis and three rival ideas; survey a few compounds in full.
2. State the common phase as the rule, and for phases that clearly beat it somewhere a rule each; measure
   further compounds as tests of them.
3. Judge; sharpen what met exceptions; state rules for phases that turned up; test again.
4. Merge what held into one rule for the whole family: the rules part it into classes, and relatives decide
   within these. Test it on compounds that it was not made from.
5. Make its classes once more from everything; test it on the compounds left; take all verdicts; finish.
   Predictions follow the last of these rules that is supported, and beyond the range of what was measured the
   first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from hepbench.harness.scientist.bench import Job, measure, survey_jobs, test_jobs
from hepbench.harness.scientist.claims import Covered, FollowsDescriptor, Mostly, OneForAll
from hepbench.harness.scientist.fitting import best_condition, cheapest, sharpened
from hepbench.harness.scientist.notebook import Draft, Idea, Lineage, begin, settle, state, weigh
from hepbench.harness.scientist.orientation import NOT_AN_LLM, Study, look_ahead, orient
from hepbench.harness.scientist.relatives import Relatives, fitted
from hepbench.harness.scientist.rules import NEAR_MEV, Case, Rule, RuleList
from hepbench.harness.scientist.script import Script, one

WITHIN = f"to within {NEAR_MEV:g} meV/atom"
MOST_RULES = 4
"""Phases for which a rule is stated at a time."""
MOST_IDEAS = 13
"""Hypotheses after which no further rule is stated or sharpened; the joint ones come on top."""
MOST_ASKED = 0.5
"""A rule for the family claims to be right more often than the commonest phase is, or than this if less."""
WELL_TESTED = 3
"""Tests after which a rule no longer asks for compounds of its own."""
ROUNDS = (0.3, 0.3, 0.3, 1.0)
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
    yield from _fit_all(study, joint)
    yield from _round(study, ROUNDS[3])
    if not study.book.ideas:  # without a registry nothing was stated that a further fit would go behind
        yield from _fit_all(study, None)
    yield from settle(study.book.open, "No further measurement is planned.")
    yield from _finish(study)


def _open(study: Study) -> Script[None]:
    """The null hypothesis, the rival ideas, and the survey that holds them against each other."""
    first = Lineage(since=0)
    null = (
        f"Every compound among the {study.family} has the same {study.label_name}, {WITHIN}, whatever its "
        "elements."
    )
    why = "The null hypothesis: if it holds, no rule is needed. I know nothing for or against it yet."
    drafts = [Draft(OneForAll(len(study.bench.compounds)), null, 0.5, why, first)]
    for descriptor, statement in _rivals(study):
        why = f"{descriptor} is a classical guess, and it can fail at every compound that is measured."
        drafts.append(Draft(FollowsDescriptor(descriptor), statement, 0.5, why, first))
    yield from state(study.book, study.bench, drafts)
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
    """Hold what is new against all open ideas, and take the verdicts that are due.

    Rules for the whole family stay under test as long as there is something to test them on.
    """
    yield from weigh(study.book, study.bench, study.book.open)
    due = [i for i in study.book.open if not isinstance(i.claim, Mostly) and i.verdict != "dormant"]
    yield from settle(due)


def _first_rules(study: Study) -> Script[None]:
    """The phase that does best for all, as the rule; its rival, analogy; a rule where the phase is beaten."""
    common = cheapest(study.bench.trusted)
    drafts = _drafts(study, [*([Rule((), common)] if common else []), *_exceptions(study, common)])
    if common and (axes := study.bench.space.axes):
        why = "Chemists think in groups and rows; whether this potential does can fail at every compound."
        analogy = Relatives(RuleList((), ""), (), axes)
        drafts.append(_draft_for_all(study, analogy, 0.5, why, Lineage()))
        study.rules.append((None, analogy))
    born = yield from state(study.book, study.bench, drafts)
    if study.rules and born:
        study.rules = [(born[-1], study.rules[0][1])]
    yield from begin(study.book.open)


def _exceptions(study: Study, *spoken_for: str) -> list[Rule]:
    """A rule for each phase that has none and is lowest where the common phase is clearly not."""
    cases, names = study.bench.trusted, study.bench.space.names
    common = cheapest(cases)
    known = {*spoken_for, *(rule.label for _, rule in _rules_of(study.book.ideas))}
    odd = Counter(c.label for c in cases if not c.near(common) and c.label not in known)
    found = [(best_condition(cases, names, label), label) for label, _ in odd.most_common(MOST_RULES)]
    return [Rule((best[0],), label) for best, label in found if best]


def _drafts(study: Study, rules: Iterable[Rule], waiting: int = 0) -> list[Draft]:
    """Rules as hypotheses, those that are worth it, beside so many that wait already."""
    drafts: list[Draft] = []
    for rule in rules:
        if _worth_stating(study, rule, waiting + len(drafts)):
            prior, seen = _prior(rule, study.bench.trusted)
            why = (
                f"Of the compounds measured so far it {seen}. It was made to fit them, so the prior counts "
                "two misses more."
            )
            lineage = Lineage("propose", _sources(study, rule))
            drafts.append(Draft(Covered(rule), _statement(study, rule), prior, why, lineage))
    return drafts


def _worth_stating(study: Study, rule: Rule, waiting: int) -> bool:
    """There is room for it beside those waiting, and something left to test it on."""
    covers = any(rule.covers(study.bench.space.values(c)) for c in study.bench.testable)
    return covers and len(study.book.ideas) + waiting < MOST_IDEAS


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


def _prior(rule: Rule | Relatives, cases: list[Case]) -> tuple[float, str]:
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
    parents: list[Idea] = []
    drafts: list[Draft] = []
    for idea, rule in _rules_of(study.book.ideas):
        if idea.fits < idea.tested and not idea.revised:
            sharper = _sharper(study, idea, rule, len(drafts))
            if sharper is not None:
                parents.append(idea)
                drafts.append(sharper)
    drafts += _drafts(study, _exceptions(study), len(drafts))
    born = yield from state(study.book, study.bench, drafts)
    for idea, child in zip(parents, born, strict=False):
        idea.revised = child is not None
    old = [i for i in parents if i.revised]
    yield from settle(old, "A sharper one takes its place.", begun=study.book.open)


def _sharper(study: Study, idea: Idea, rule: Rule, waiting: int) -> Draft | None:
    sharper = sharpened(rule, study.bench.trusted, study.bench.space.names)
    if sharper is None or not _worth_stating(study, sharper, waiting):
        return None
    prior, seen = _prior(sharper, study.bench.trusted)
    why = f"{idea.id} met exceptions. Sharpened, it {seen}."
    return Draft(Covered(sharper), _statement(study, sharper), prior, why, Lineage("refine", (idea,)))


def _join(study: Study) -> Script[Idea | None]:
    """Merge the best rule for each phase, and analogy, into one rule for the family."""
    parents = _parents(study)
    cases = study.bench.trusted
    rules = tuple(rule for _, rule in _rules_of(parents) if rule.conditions)
    if len(parents) < 2 or not rules:  # noqa: PLR2004 - a merge takes two
        return next((i for i, _ in study.rules if i is not None), None)
    rest = [c for c in cases if not any(r.covers(c.values) for r in rules)]
    joint = Relatives(RuleList(rules, cheapest(rest or cases)), tuple(cases), study.bench.space.axes)
    prior, seen = _prior(joint, cases)
    why = (
        "The rules that stood their tests, the surest first, say which compounds belong together; relatives "
        f"decide within and beyond. Together: {seen}, none of which I count as a test."
    )
    lineage = Lineage("merge", tuple(parents))
    return (yield from _rule_for_all(study, joint, prior, why, lineage))


def _rule_for_all(
    study: Study, rule: Relatives, prior: float, why: str, lineage: Lineage
) -> Script[Idea | None]:
    """State a rule for the whole family, keep it, and put it under test."""
    (idea,) = yield from state(study.book, study.bench, [_draft_for_all(study, rule, prior, why, lineage)])
    study.rules.append((idea, rule))
    yield from begin([idea] if idea else [])
    return idea


def _draft_for_all(study: Study, rule: Relatives, prior: float, why: str, lineage: Lineage) -> Draft:
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
    surest = sorted((i for i, _ in _rules_of(tested) if i.fits), key=lambda i: i.belief)
    best = {rule.label: idea for idea, rule in _rules_of(surest)}
    chosen = sorted(best.values(), key=lambda i: -i.belief)
    general = [i for i in tested if isinstance(i.claim, Mostly)]
    general += [i for i in tested if isinstance(i.claim, FollowsDescriptor)]
    return chosen + general[:1]


def _fit_all(study: Study, parent: Idea | None) -> Script[None]:
    """Make the classes once more, from everything measured. The compounds left will test the rule."""
    cases = study.bench.trusted
    rule = fitted(cases, study.bench.space.names, study.bench.space.axes)
    if not cases or any(rule.words() == known.words() for _, known in study.rules):
        return
    if parent is None or not parent.used:  # without a registry, or with nothing that the revision answers to
        study.rules.append((None, rule))
        return
    prior, seen = _prior(rule, cases)
    why = (
        f"{parent.id} with its classes made once more from everything measured so far; it {seen}. The "
        "compounds left will test it."
    )
    lineage = Lineage("refine", (parent,))
    yield from _rule_for_all(study, rule, prior, why, lineage)


def _finish(study: Study) -> Script[None]:
    """Look over the registry, leave nothing open, and end; once more after a reminder."""
    yield from look_ahead(study)
    for say in ("The record once more before I end.", "Something is open still; once more."):
        answer = yield from one(say, "list_hypotheses")
        _reread(study, answer.data.get("hypotheses") or ())
        yield from settle(study.book.open, "The research ends here.")
        rule = study.kept.words() if study.kept else "no rule found"
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
