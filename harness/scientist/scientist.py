"""The policy `hepbench/scientist`: research first, predictions once they are asked for."""

from __future__ import annotations

from dataclasses import replace

from hepbench.harness.scientist.conversation import Call, Conversation, Question
from hepbench.harness.scientist.fitting import cheapest, tree
from hepbench.harness.scientist.orientation import NOT_AN_LLM, Study
from hepbench.harness.scientist.research import research
from hepbench.harness.scientist.rules import RuleList, share
from hepbench.harness.scientist.script import Script, Turn, replay

WRAP_UP_TOOLS = frozenset(("transition_hypothesis", "list_hypotheses", "finish_research"))
"""What is still worth a turn when few turns are left."""


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
    for rules in (_rules(study), RuleList((), _majority(study, question))):
        answer = (yield Turn("My rule, applied to each compound.", (_submission(rules, study, question),)))[0]
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


def _rules(study: Study) -> RuleList:
    """The rule kept; without one, what the measurements suggest."""
    return study.kept or tree(study.bench.trusted, study.bench.space.names)


def _majority(study: Study, question: Question) -> str:
    """The most frequent measured label that may be said; the first of the labels without any."""
    allowed = [c for c in study.bench.trusted if c.label in question.labels]
    return cheapest(allowed) or next(iter(question.labels), study.label_name)


def _submission(rules: RuleList, study: Study, question: Question) -> Call:
    fallback = _majority(study, question)
    predictions = []
    for compound in question.compounds:
        values = study.bench.space.values(compound)
        label = rules.label(values)
        sure = share(rules, study.bench.trusted, values)
        if label not in (question.labels or (label,)) or not label:
            label, sure = fallback, 1.0 / max(1, len(question.labels))
        predictions.append({"compound": compound, "label": label, "confidence": round(sure, 3)})
    said = rules.words() if rules.otherwise else f"nothing was measured, so a guess: {fallback}"
    return Call("submit_predictions", {"predictions": predictions, "rule": f"{NOT_AN_LLM} {said}."})
