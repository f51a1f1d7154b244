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
from collections.abc import Iterable, Mapping

from hepbench.harness.scientist.bench import Job, measure, survey_jobs, test_jobs
from hepbench.harness.scientist.claims import FollowsDescriptor, Mostly, OneForAll
from hepbench.harness.scientist.family_rules import draft_for_all, fit_all, join
from hepbench.harness.scientist.fitting import cheapest
from hepbench.harness.scientist.notebook import Draft, Idea, Lineage, begin, settle, state, weigh
from hepbench.harness.scientist.orientation import NOT_AN_LLM, Study, look_ahead, orient
from hepbench.harness.scientist.phase_rules import WITHIN, drafted, exceptions, revise, rules_of
from hepbench.harness.scientist.relatives import Relatives
from hepbench.harness.scientist.rules import Rule, RuleList
from hepbench.harness.scientist.script import Script, one

WELL_TESTED = 3
"""Tests after which a rule no longer asks for compounds of its own."""
ROUNDS = (0.3, 0.3, 0.3, 1.0)
"""Shares of the compounds left that the four rounds of tests take."""


def research(study: Study) -> Script[None]:
    """The whole research phase; fills the study as it goes."""
    yield from orient(study)
    if not (study.bench.labels and study.bench.compounds):
        return
    yield from _open(study)
    yield from _first_rules(study)
    for share in ROUNDS[:2]:
        yield from _round(study, share)
        yield from revise(study)
    joint = yield from join(study)
    yield from _round(study, ROUNDS[2])
    yield from fit_all(study, joint)
    yield from _round(study, ROUNDS[3])
    if not study.book.ideas:  # without a registry nothing was stated that a further fit would go behind
        yield from fit_all(study, None)
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


def _first_rules(study: Study) -> Script[None]:
    """The phase that does best for all, as the rule; its rival, analogy; a rule where the phase is beaten."""
    common = cheapest(study.bench.trusted)
    drafts = drafted(study, [*([Rule((), common)] if common else []), *exceptions(study, common)])
    if common and (axes := study.bench.space.axes):
        why = "Chemists think in groups and rows; whether this potential does can fail at every compound."
        analogy = Relatives(RuleList((), ""), (), axes)
        drafts.append(draft_for_all(study, analogy, 0.5, why, Lineage()))
        study.rules.append((None, analogy))
    born = yield from state(study.book, study.bench, drafts)
    if study.rules and born:
        study.rules = [(born[-1], study.rules[0][1])]
    yield from begin(study.book.open)


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


def _round(study: Study, share: float) -> Script[None]:
    """Measure compounds as tests, those first that rules with few tests speak about; then weigh and judge."""
    left = study.bench.testable
    wanted = [rule for idea, rule in rules_of(study.book.open) if idea.tested < WELL_TESTED]
    ask = {c: sum(r.covers(study.bench.space.values(c)) for r in wanted) for c in left}
    chosen = sorted(left, key=lambda c: -ask[c])[: math.ceil(share * len(left))]
    jobs = test_jobs(study.bench, chosen, left)
    yield from _measure(study, jobs, "Tests: compounds not yet measured, in the prototypes that may win.")
    yield from _weigh_and_judge(study)


def _weigh_and_judge(study: Study) -> Script[None]:
    """Hold what is new against all open ideas, and take the verdicts that are due.

    Rules for the whole family stay under test as long as there is something to test them on.
    """
    yield from weigh(study.book, study.bench, study.book.open)
    due = [i for i in study.book.open if not isinstance(i.claim, Mostly) and i.verdict != "dormant"]
    yield from settle(due)


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
