"""The record played again: each operation is put to the gates as the run's rules had them at that moment.

The commands of the protocol are pure functions of the state and the arguments, and the arguments stand in the
events. So every payload can be computed again: an operation that the rules would have refused, a belief that
no evidence moved, an id or a generation that cannot be, all differ from what the commands answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from hepbench.harness.protocol import commands
from hepbench.harness.protocol import events as ev
from hepbench.harness.protocol.gates import Refusal
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.state import RunState
from hepbench.harness.text import is_whole, shorten
from hepbench.reports.audit.subject import Finding, Subject

CHECK = "gates"
_FOLLOWERS = (ev.EvidenceAudited, ev.BeliefUpdated, ev.RuleWarned)
_FOLLOWER_NAMES = frozenset(cls.__name__ for cls in _FOLLOWERS)

T = TypeVar("T", bound=ev.Payload)
Replay = Callable[[RunState, Sequence[ev.Payload], Subject], list[ev.Payload]]


def chain(subject: Subject) -> Iterator[Finding]:
    """The hash chain: each event matches its hash and follows its predecessor."""
    previous, events = ev.GENESIS, subject.events
    for position, event in enumerate(events, start=1):
        if event.seq != position:
            yield Finding("chain", f"stands at place {position} of the record", event.seq)
        if event.previous_hash != previous:
            yield Finding("chain", "does not follow its predecessor's hash", event.seq)
        if event.hash != _hash(event):
            yield Finding("chain", "its content does not match its hash", event.seq)
        if event.run_id != events[0].run_id:
            yield Finding("chain", f"belongs to another run, {event.run_id!r}", event.seq)
        if event.schema_version != ev.SCHEMA_VERSION:
            yield Finding("chain", f"has the unknown schema version {event.schema_version}", event.seq)
        previous = event.hash


def _hash(event: ev.Event) -> str | None:
    """The hash of an event; None for one with values that no event can hold, such as NaN."""
    try:
        return ev.event_hash(event)
    except ValueError:
        return None


def gates(subject: Subject) -> tuple[list[Finding], RunState | None]:
    """Every operation again, by the rules that the record says were in force.

    Returns:
        What was found, and the run as its events make it; None where they cannot be replayed to the end.
    """
    state = RunState()
    found: list[Finding] = []
    position = 0
    while position < len(subject.events):
        operation = _operation(subject.events, position)
        try:
            bodies = [_typed(body) for body in subject.bodies[position : position + len(operation)]]
            found += _operation_findings(state, operation, bodies, subject)
            for event, body in zip(operation, bodies, strict=True):
                state.take(event, body)
        except (ValueError, KeyError) as e:
            reason = shorten(str(e).splitlines()[0], 200)
            found.append(Finding(CHECK, f"cannot be replayed, nor what follows: {reason}", operation[0].seq))
            return found, None
        position += len(operation)
    return found, state


def _typed(body: ev.Payload | ValueError) -> ev.Payload:
    if isinstance(body, ValueError):
        raise body
    return body


def _operation(events: Sequence[ev.Event], position: int) -> list[ev.Event]:
    """An event and those that one operation wrote together with it."""
    end = position + 1
    while end < len(events) and events[end].type in _FOLLOWER_NAMES:
        end += 1
    return list(events[position:end])


def _operation_findings(
    state: RunState, operation: Sequence[ev.Event], bodies: Sequence[ev.Payload], subject: Subject
) -> Iterator[Finding]:
    first = operation[0]
    for event, body in zip(operation, bodies, strict=True):
        if event.actor != body.actor:
            yield Finding(CHECK, f"{event.type} is not for {event.actor} to write", event.seq)
    if isinstance(bodies[0], _FOLLOWERS):
        yield Finding(CHECK, f"{first.type} belongs to no operation", first.seq)
        return
    try:
        expected = _REPLAY[type(bodies[0])](state, bodies, subject)
    except Refusal as refusal:
        yield Finding(CHECK, f"{first.type} breaks gate {refusal.gate}: {refusal.reason}", first.seq)
        return
    except _CannotBeError as e:
        yield Finding(CHECK, f"{first.type} {e}", first.seq)
        return
    yield from _differences(operation, bodies, expected)


def _differences(
    operation: Sequence[ev.Event], bodies: Sequence[ev.Payload], expected: Sequence[ev.Payload]
) -> Iterator[Finding]:
    for event, body, wanted in zip(operation, bodies, expected, strict=False):
        if type(body) is not type(wanted):
            text = f"{event.type} stands where the rules give {type(wanted).__name__}"
            yield Finding(CHECK, text, event.seq)
            return
        for name in type(body).model_fields:
            found, right = getattr(body, name), getattr(wanted, name)
            if found != right:
                text = f"{event.type}.{name} is {_short(found)}; the rules give {_short(right)}"
                yield Finding(CHECK, text, event.seq)
    for event in operation[len(expected) :]:
        yield Finding(CHECK, f"{event.type} does not follow from its operation", event.seq)
    for wanted in expected[len(bodies) :]:
        text = f"{type(wanted).__name__} should follow it and is missing"
        yield Finding(CHECK, text, operation[-1].seq)


def _short(value: object) -> str:
    return shorten(repr(value), 120)


class _CannotBeError(Exception):
    """What is wrong with an event that no gate is about."""


def _started(state: RunState, bodies: Sequence[ev.Payload], subject: Subject) -> list[ev.Payload]:
    body = _as(ev.RunStarted, bodies)
    if state.length:
        raise _CannotBeError("comes after other events")
    metadata = subject.metadata
    if "rules" in metadata and body.rules != ProtocolRules.model_validate(metadata["rules"]):
        raise _CannotBeError("names other rules than the sample's metadata")
    about = {k: v for k, v in body.about.items() if k != "harness"}
    asked = {k: v for k, v in (metadata.get("about") or {}).items() if k != "harness"}
    if subject.logged is not None and asked and about != asked:
        raise _CannotBeError("is about something else than the sample's metadata")
    return [body]


def _result(state: RunState, bodies: Sequence[ev.Payload], _: Subject) -> list[ev.Payload]:
    body = _as(ev.LabResultRecorded, bodies)
    if not state.started or state.ended is not None:
        raise _CannotBeError("lies outside the run")
    if state.predictions:
        raise _CannotBeError("comes after predictions were made; the laboratory was closed")
    wanted = f"R{len(state.results) + 1}"
    stated = body.answer.get("checks")
    if isinstance(stated, dict) and stated.keys() == body.checks.keys() and stated != body.checks:
        raise _CannotBeError("answers other checks than it records")
    if body.measurement and "trusted" in body.answer and body.answer["trusted"] != all(body.checks.values()):
        raise _CannotBeError("says of its trust what its checks do not")
    answer = {**body.answer, "result": wanted} if "result" in body.answer else body.answer
    return [body.model_copy(update={"result": wanted, "answer": answer})]


def _proposed(state: RunState, bodies: Sequence[ev.Payload], _: Subject) -> list[ev.Payload]:
    b = _as(ev.HypothesisProposed, bodies)
    said = {"statement": b.statement, "prior": b.belief, "rationale": b.rationale, "scope": b.scope}
    if b.mechanism == "refine":
        if len(b.parents) != 1:
            raise _CannotBeError(f"refines {len(b.parents)} parents")
        return commands.refine(state, parent=b.parents[0], **said)
    if b.mechanism == "merge":
        return commands.merge(state, parents=b.parents, **said)
    return commands.propose(state, inspired_by=b.parents, **said)


def _attached(state: RunState, bodies: Sequence[ev.Payload], _: Subject) -> list[ev.Payload]:
    b = _as(ev.EvidenceAttached, bodies)
    word = next((x for x in bodies if isinstance(x, ev.EvidenceAudited)), None)
    return commands.attach(
        state,
        b.hypothesis,
        b.results,
        b.stance,
        b.summary,
        b.stated_belief,
        b.rationale,
        commands.Audit(word.verdict, word.reason, word.auditor) if word else None,
    )


def _moved(state: RunState, bodies: Sequence[ev.Payload], _: Subject) -> list[ev.Payload]:
    b = _as(ev.StateChanged, bodies)
    return commands.transition(state, b.hypothesis, b.after, b.rationale)


def _predicted(state: RunState, bodies: Sequence[ev.Payload], subject: Subject) -> list[ev.Payload]:
    b = _as(ev.PredictionsSubmitted, bodies)
    asked: Mapping[str, Any] = subject.metadata.get("prediction") or {}
    compounds = asked.get("compounds") or [p.compound for p in b.predictions]
    labels = asked.get("labels") or [p.label for p in b.predictions]
    entries = [p.model_dump() for p in b.predictions]
    return commands.predict(state, entries, b.rule, tuple(compounds), tuple(labels))


def _ended(state: RunState, bodies: Sequence[ev.Payload], _: Subject) -> list[ev.Payload]:
    body = _as(ev.RunEnded, bodies)
    if not state.started or state.ended is not None:
        raise _CannotBeError("ends what is not going on")
    return [body]


def _refused(state: RunState, bodies: Sequence[ev.Payload], subject: Subject) -> list[ev.Payload]:
    """A refusal of the gates comes again, unless its arguments are kept in part only."""
    b = _as(ev.OperationRefused, bodies)
    if not state.started or state.ended is not None:
        raise _CannotBeError("lies outside the run")
    command = _COMMANDS.get(b.operation)
    if command is None or not b.gate[:1].isdigit() or not is_whole(b.arguments):
        return [b]
    asked: Mapping[str, Any] = subject.metadata.get("prediction") or {}
    context = {k: tuple(asked.get(k) or ()) for k in ("compounds", "labels")}
    if b.operation == "submit_predictions" and not context["compounds"]:
        return [b]
    try:
        command(state, **b.arguments, **(context if b.operation == "submit_predictions" else {}))
    except Refusal as refusal:
        return [b.model_copy(update={"gate": refusal.gate})]
    except TypeError:
        raise _CannotBeError("has arguments that the operation does not take") from None
    raise _CannotBeError("refuses what the rules in force accept")


def _as(kind: type[T], bodies: Sequence[ev.Payload]) -> T:
    body = bodies[0]
    assert isinstance(body, kind)  # noqa: S101 - the table below goes by the type
    return body


_COMMANDS: Mapping[str, Callable[..., list[ev.Payload]]] = {
    "propose_hypothesis": commands.propose,
    "refine_hypothesis": commands.refine,
    "merge_hypotheses": commands.merge,
    "attach_evidence": commands.attach,
    "transition_hypothesis": commands.transition,
    "submit_predictions": commands.predict,
}
_REPLAY: Mapping[type[ev.Payload], Replay] = {
    ev.RunStarted: _started,
    ev.LabResultRecorded: _result,
    ev.HypothesisProposed: _proposed,
    ev.EvidenceAttached: _attached,
    ev.StateChanged: _moved,
    ev.PredictionsSubmitted: _predicted,
    ev.RunEnded: _ended,
    ev.OperationRefused: _refused,
}
