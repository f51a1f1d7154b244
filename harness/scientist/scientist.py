"""The policy `hepbench/scientist`: research first, predictions once they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hepbench.harness.scientist.conversation import Call, Conversation, Question
from hepbench.harness.scientist.fitting import cheapest
from hepbench.harness.scientist.orientation import NOT_AN_LLM, Study
from hepbench.harness.scientist.relatives import Guide, Relatives, fitted
from hepbench.harness.scientist.research import research
from hepbench.harness.scientist.rules import Case, RuleList
from hepbench.harness.scientist.script import Script, Turn, replay

WRAP_UP_TOOLS = frozenset(
    ("element_properties", "transition_hypothesis", "list_hypotheses", "finish_research")
)
"""What is still worth a turn when few turns are left."""
MOST_WORDS = 1_500
"""Characters that the list of measured compounds may add to the rule."""


def scientist(talk: Conversation) -> Turn:
    """The next turn of the scripted scientist."""
    if talk.question is not None:
        return replay(_predict(talk, talk.question), talk) or Turn("The predictions are in.")
    offered = talk.tools & WRAP_UP_TOOLS if talk.hurried else talk.tools
    going_on = replay(research(Study()), replace(talk, tools=offered))
    return going_on or Turn("The research is done; I have nothing to add.")


def _predict(talk: Conversation, question: Question) -> Script[None]:
    """Predict from the rule kept; once more, by the majority alone, if that is refused."""
    study = _remembered(talk)
    fallback = Relatives(RuleList((), _majority(study, question)), (), ())
    for guide in (_guide(study), Guide(fallback, fallback)):
        answer = (yield Turn("My rule, applied to each compound.", (_submission(guide, study, question),)))[0]
        if answer.ok:
            return


def _remembered(talk: Conversation) -> Study:
    """The study as the conversation holds it, without asking for anything more."""
    study = Study()
    replay(research(study), replace(talk, tools=frozenset()))
    for call, answer in talk.exchanges:
        compound = str(call.arguments.get("compound"))
        if call.tool == "compare_structures" and answer.ok and compound not in study.bench.cases:
            study.bench.record((compound, ()), answer)
    return study


def _guide(study: Study) -> Guide:
    """The rules kept; without any, what the measurements suggest."""
    if study.guide is not None:
        return study.guide
    suggested = fitted(study.bench.trusted, study.bench.space.names, study.bench.space.axes)
    return Guide(suggested, suggested)


def _majority(study: Study, question: Question) -> str:
    """The most frequent measured label that may be said; the first of the labels without any."""
    allowed = [c for c in study.bench.trusted if c.label in question.labels]
    return cheapest(allowed) or next(iter(question.labels), study.label_name)


def _submission(guide: Guide, study: Study, question: Question) -> Call:
    fallback = _majority(study, question)
    predictions = []
    for compound in question.compounds:
        values = study.bench.space.values(compound)
        rule = guide.rule(values)
        label, sure = rule.label(values), rule.confidence(values)
        if label not in (question.labels or (label,)) or not label:
            label, sure = fallback, 1.0 / max(1, len(question.labels))
        predictions.append({"compound": compound, "label": label, "confidence": round(sure, 3)})
    measured = guide.newest.cases
    known = f"{guide.words()}. {_measured(measured)}" if measured else f"always {fallback}: a guess"
    return Call("submit_predictions", {"predictions": predictions, "rule": f"{NOT_AN_LLM} {known}."})


def _measured(cases: Sequence[Case]) -> str:
    """The compounds that the rules go back to, by their lowest phase."""
    found: dict[str, list[str]] = {}
    for case in cases:
        found.setdefault(case.label, []).append(case.compound)
    said = "Lowest: " + "; ".join(f"{label} in {', '.join(names)}" for label, names in found.items())
    return said if len(said) <= MOST_WORDS else f"{len(cases)} compounds were measured"
