"""The operations of the protocol as pure functions: state and arguments in, payloads out, or a `Refusal`.

Nothing here changes the state; `registry.py` turns payloads into events and folds them in.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from hepbench.harness.protocol import cautions, gates
from hepbench.harness.protocol import events as ev
from hepbench.harness.protocol.gates import Refusal
from hepbench.harness.protocol.state import Hypothesis, RunState

_LOOK_BACK = 200
"""Of the record's latest, how many an example is taken from: the cost of a call stays flat in long runs."""

_PROPOSE = (
    'propose_hypothesis(statement="The ratio of the radii decides the label", prior=0.5, '
    'rationale="close packing should care about it")'
)
_REFINE = (
    'refine_hypothesis(parent="H1", statement="The label changes where the radius ratio passes 0.5", '
    'prior=0.6, rationale="the results R3 and R4 set the limit")'
)
_MERGE = 'merge_hypotheses(parents=["H1", "H2"], statement="…", prior=0.6, rationale="both held")'


@dataclass(frozen=True)
class Audit:
    """An auditor's word on evidence, taken before the belief moves."""

    verdict: ev.AuditVerdict
    reason: str
    auditor: str


def propose(
    state: RunState,
    statement: object,
    prior: object,
    rationale: object,
    inspired_by: object = (),
    scope: object = (),
) -> list[ev.Payload]:
    """A hypothesis of its own, or one inspired by others."""
    gates.require_running(state)
    parents = gates.parents_of(state, inspired_by, least=0, tested=False, example=_PROPOSE)
    mechanism: ev.Mechanism = "inspired_by" if parents else "de_novo"
    return _child(state, mechanism, parents, statement, prior, rationale, scope, _PROPOSE)


def refine(
    state: RunState,
    parent: object,
    statement: object,
    prior: object,
    rationale: object,
    scope: object = (),
) -> list[ev.Payload]:
    """A sharper or corrected child of one parent."""
    gates.require_running(state)
    parents = gates.parents_of(state, [parent], least=1, tested=True, example=_REFINE)
    return _child(state, "refine", parents, statement, prior, rationale, scope, _REFINE)


def merge(
    state: RunState,
    parents: object,
    statement: object,
    prior: object,
    rationale: object,
    scope: object = (),
) -> list[ev.Payload]:
    """One joint statement from two or more parents."""
    gates.require_running(state)
    found = gates.parents_of(state, parents, least=2, tested=True, example=_MERGE)
    return _child(state, "merge", found, statement, prior, rationale, scope, _MERGE)


def _child(
    state: RunState,
    mechanism: ev.Mechanism,
    parents: tuple[Hypothesis, ...],
    statement: object,
    prior: object,
    rationale: object,
    scope: object,
    example: str,
) -> list[ev.Payload]:
    child = ev.HypothesisProposed(
        hypothesis=f"H{len(state.hypotheses) + 1}",
        statement=gates.statement_of(state, statement, example),
        belief=gates.prior_of(state, prior, example),
        rationale=gates.text_of(rationale, "rationale", state.rules.max_text, "1, statement", example),
        mechanism=mechanism,
        parents=tuple(p.id for p in parents),
        generation=_generation(state, mechanism, parents),
        scope=gates.scope_of(scope, example),
    )
    return [child, *cautions.of_statement(state, child.hypothesis, child.statement, example)]


def _generation(state: RunState, mechanism: ev.Mechanism, parents: tuple[Hypothesis, ...]) -> int:
    if not parents or (mechanism == "inspired_by" and state.rules.strict_generation):
        return 0
    return 1 + max(p.generation for p in parents)


def attach(
    state: RunState,
    hypothesis: object,
    results: object,
    stance: object,
    summary: object,
    belief: object,
    rationale: object,
    audit: Audit | None = None,
) -> list[ev.Payload]:
    """Results tied to a hypothesis; the belief moves when the evidence is trusted."""
    gates.require_running(state)
    tested = gates.hypothesis_of(state, hypothesis, "3, evidence", _attach_example(state, hypothesis))
    example = _attach_example(state, tested.id)
    if tested.state != "under_test":
        raise Refusal(
            "3, evidence",
            f"{tested.id} is {tested.state}, and evidence is taken while it is under_test.",
            f'transition_hypothesis(hypothesis="{tested.id}", to="under_test", rationale="I test it now")',
        )
    named = gates.results_of(state, tested, results, example)
    way = gates.stance_of(stance, example)
    faults = tuple(f"{r}: {fault}" for r in named for fault in state.results[r].faults)
    evidence = ev.EvidenceAttached(
        evidence=f"E{len(state.evidence) + 1}",
        hypothesis=tested.id,
        results=named,
        stance=way,
        summary=gates.text_of(summary, "summary", state.rules.max_text, "3, evidence", example),
        rationale=gates.text_of(rationale, "rationale", state.rules.max_text, "3, evidence", example),
        stated_belief=gates.belief_of(tested, way, belief, example),
        trusted=not faults,
        failed_checks=faults,
    )
    warned = cautions.of_evidence(state, tested, named, example)
    return [evidence, *_after_evidence(evidence, tested, audit), *warned]


def _after_evidence(
    evidence: ev.EvidenceAttached, tested: Hypothesis, audit: Audit | None
) -> list[ev.Payload]:
    followed: list[ev.Payload] = []
    if audit is not None:
        followed.append(ev.EvidenceAudited(evidence=evidence.evidence, **vars(audit)))
    distrusted = audit is not None and audit.verdict == "untrusted"
    if evidence.trusted and not distrusted and evidence.stated_belief != tested.belief:
        followed.append(
            ev.BeliefUpdated(
                hypothesis=tested.id,
                evidence=evidence.evidence,
                before=tested.belief,
                after=evidence.stated_belief,
            )
        )
    return followed


def transition(state: RunState, hypothesis: object, to: object, rationale: object) -> list[ev.Payload]:
    """A move between lifecycle states: a test begun, a verdict, a setting aside, a reopening."""
    gates.require_running(state)
    moved = gates.hypothesis_of(state, hypothesis, "7, moves", _transition_example("H1", "under_test"))
    allowed = gates.MOVES[moved.state]
    target = gates.move_of(moved, to, _transition_example(moved.id, allowed[0]))
    gates.require_verdict(state, moved, target, _verdict_example(state, moved))
    reason = gates.text_of(
        rationale, "rationale", state.rules.max_text, "7, moves", _transition_example(moved.id, target)
    )
    warned = cautions.of_verdict(state, moved, target, _verdict_example(state, moved))
    return [
        ev.StateChanged(hypothesis=moved.id, before=moved.state, after=target, rationale=reason),
        *warned,
    ]


def _transition_example(hypothesis: str, target: str) -> str:
    return f'transition_hypothesis(hypothesis="{hypothesis}", to="{target}", rationale="…")'


def _verdict_example(state: RunState, hypothesis: Hypothesis) -> str:
    """The valid way on: another verdict if one fits, else evidence first."""
    rules = state.rules
    if rules.refute_threshold < hypothesis.belief < rules.support_threshold:
        return _transition_example(hypothesis.id, "dormant")
    if hypothesis.state == "proposed":
        return _transition_example(hypothesis.id, "under_test")
    return _attach_example(state, hypothesis.id)


def _under_test(state: RunState, hypothesis: object) -> Hypothesis | None:
    """The hypothesis of that name if it is under test, else one of the latest that is."""
    named = state.hypotheses.get(hypothesis) if isinstance(hypothesis, str) else None
    if named is not None and named.state == "under_test":
        return named
    latest = islice(reversed(state.hypotheses.values()), _LOOK_BACK)
    return next((h for h in latest if h.state == "under_test"), None)


def _attach_example(state: RunState, hypothesis: object) -> str:
    """A call that would be taken now: a hypothesis under test, a measurement not yet used for it."""
    chosen = _under_test(state, hypothesis)
    name, belief = (chosen.id, chosen.belief) if chosen else ("H1", 0.5)
    used = {r for e in chosen.evidence for r in e.results} if chosen else set()
    latest = islice(reversed(state.results.values()), _LOOK_BACK)
    unused = (r.id for r in latest if r.measurement and r.id not in used)
    raised = max(belief, min(1.0, round(belief + 0.1, 2)))
    return (
        f'attach_evidence(hypothesis="{name}", results=["{next(unused, "R1")}"], stance="supports", '
        f'summary="what the result shows", belief={raised:g}, rationale="why it moves so far")'
    )


def predict(
    state: RunState, predictions: object, rule: object, compounds: tuple[str, ...], labels: tuple[str, ...]
) -> list[ev.Payload]:
    """Predictions for sealed compounds, each with a label of the family and a confidence in [0, 1]."""
    gates.require_running(state)
    gate, example = "9, prediction", _predict_example(compounds, labels)
    if not isinstance(predictions, list) or not predictions:
        raise Refusal(gate, "The predictions must be a list with one entry for each compound.", example)
    if len(predictions) > len(compounds):
        raise Refusal(gate, f"{len(predictions)} predictions for {len(compounds)} compounds.", example)
    taken = tuple(_prediction(entry, compounds, labels, example) for entry in predictions)
    names = [p.compound for p in taken]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise Refusal(gate, f"{twice} is predicted twice.", example)
    text = gates.text_of(rule, "rule", state.rules.max_text, gate, example)
    return [ev.PredictionsSubmitted(predictions=taken, rule=text)]


def _predict_example(compounds: tuple[str, ...], labels: tuple[str, ...]) -> str:
    return (
        f'submit_predictions(predictions=[{{"compound": "{compounds[0]}", "label": "{labels[0]}", '
        '"confidence": 0.7}, …], rule="the rule that I found")'
    )


def _prediction(
    entry: object, compounds: tuple[str, ...], labels: tuple[str, ...], example: str
) -> ev.Prediction:
    gate = "9, prediction"
    if not isinstance(entry, dict) or set(entry) != {"compound", "label", "confidence"}:
        raise Refusal(gate, "Each prediction has exactly compound, label and confidence.", example)
    compound, label, confidence = entry["compound"], entry["label"], entry["confidence"]
    if compound not in compounds:
        raise Refusal(gate, f"{gates.shown(compound)} is not a held-out compound.", example)
    if label not in labels:
        raise Refusal(gate, f"{gates.shown(label)} is not a label; labels: {', '.join(labels)}.", example)
    if not gates.is_number(confidence) or not 0.0 <= confidence <= 1.0:
        raise Refusal(gate, f"The confidence for {compound} must be a number in [0, 1].", example)
    return ev.Prediction(compound=compound, label=label, confidence=float(confidence))
