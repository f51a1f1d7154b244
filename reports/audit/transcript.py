"""The record beside the transcript: every recorded operation was a tool call, and every call is on record.

The transcript holds each tool call with its answer, written by Inspect and not by the registry. Whoever
edits the record, drops, adds or swaps events, and computes all hashes again, still has to make the transcript
agree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from hepbench.harness.agents.harnesses import FLOORS
from hepbench.harness.protocol import events as ev
from hepbench.harness.text import clean, shorten
from hepbench.reports.audit.equality import differ
from hepbench.reports.audit.pairing import (
    Operation,
    is_schema_error,
    key_of_call,
    may_be_missing,
    operations_of,
)
from hepbench.reports.audit.subject import STORE_KEY, Finding, Subject
from hepbench.reports.audit.world import task_of
from hepbench.reports.opening import ToolCall

CHECK = "transcript"
_EVENT_IN_STORE = re.compile(rf"^/{re.escape(STORE_KEY)}/events/(\d+)$")


def transcript(subject: Subject) -> Iterator[Finding]:
    """Calls and operations side by side, in order, and what each says of the other."""
    if subject.logged is None:
        return
    calls = subject.logged.tool_calls()
    operations = list(operations_of(subject.events))
    if not calls and subject.about.get("harness") in FLOORS:
        return  # no model: the solver itself submits the predictions
    yield from _schema_refusals(calls, operations)
    pairs: list[tuple[Operation, ToolCall]] = []
    keyed = [(key, call) for call in calls if (key := key_of_call(call)) and not is_schema_error(call)]
    recorded = [o for o in operations if o.event.payload.get("gate") != "schema"]
    matcher = SequenceMatcher(None, [k for k, _ in keyed], [o.key for o in recorded], autojunk=False)
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind == "equal":
            pairs += [(recorded[j], keyed[i][1]) for i, j in zip(range(i1, i2), range(j1, j2), strict=True)]
            continue
        before = recorded[j1 - 1].event.seq if j1 else 1
        yield from (_unrecorded(call, before) for _, call in keyed[i1:i2] if not may_be_missing(call))
        if task_of(subject) is not None:  # a stranger's solver may write into its registry itself
            yield from (_uncalled(operation) for operation in recorded[j1:j2])
    for operation, call in pairs:
        yield from _disagreements(operation, call)


def conversation(subject: Subject) -> Iterator[Finding]:
    """The conversation's tool calls and answers are those of the transcript's tool events."""
    if subject.logged is None:
        return
    events = {str(e.get("id")): e for e in subject.logged.tool_events}
    for message in subject.logged.sample.messages:
        if message.role == "assistant":
            for call in message.tool_calls or []:
                event = events.get(call.id)
                if event is not None and differ(call.arguments, event.get("arguments") or {}):
                    text = f"the conversation has other arguments of {call.function} than the transcript"
                    yield Finding(CHECK, f"{text} ({call.id})")
        elif message.role == "tool" and message.error is None:
            event = events.get(message.tool_call_id or "")
            answer = event.get("result") if event is not None else None
            if isinstance(answer, str) and answer.strip() != message.text.strip():
                text = f"the conversation has another answer of {message.function} than the transcript"
                yield Finding(CHECK, f"{text} ({message.tool_call_id})")


def store_changes(subject: Subject) -> Iterator[Finding]:
    """The store's changes, as Inspect logged them one by one, made these very events."""
    if subject.logged is None:
        return
    resolved = subject.logged.resolved
    same = [{text} for text in subject.texts]  # of each event, what was seen to say it; spans repeat it
    for place, change in subject.logged.changes(_EVENT_IN_STORE):
        position, text = int(place[1]), change.text("value")
        if position < len(same) and text in same[position]:
            continue
        value = change.get("value")
        if not isinstance(value, dict) or resolved(change.get("op")) not in ("add", "replace"):
            continue
        event = subject.events[position] if position < len(subject.events) else None
        if event is None or not (_is_event(value, event) or _is_event(resolved(value), event)):
            yield Finding(CHECK, "it is not the event that the store was seen to take in", position + 1)
        elif position < len(same):
            same[position].add(text)


def _is_event(value: Mapping[str, Any], event: ev.Event) -> bool:
    return event.hash == value.get("hash") and event.payload == value.get("payload")


def _schema_refusals(calls: Sequence[ToolCall], operations: Sequence[Operation]) -> Iterator[Finding]:
    """Calls that never reached a tool stand after the others of their turn: only their number counts."""
    made = Counter(call.function for call in calls if is_schema_error(call))
    recorded = [o for o in operations if o.event.payload.get("gate") == "schema"]
    noted = Counter(str(o.event.payload.get("operation")) for o in recorded)
    for function, count in (made - noted).items():
        yield Finding(
            CHECK, f"{count} calls of {shorten(function, 60)} that broke its schema are not on record"
        )
    for operation in recorded:
        function = str(operation.event.payload.get("operation"))
        if noted[function] > made[function]:
            noted[function] -= 1
            yield _uncalled(operation)


def _unrecorded(call: ToolCall, before: int) -> Finding:
    what = "was refused" if call.error else f"answered {shorten(' '.join((call.answer or '').split()), 80)}"
    text = f"after it the transcript has a call of {call.function} that {what}, and the record does not"
    return Finding(CHECK, text, before)


def _uncalled(operation: Operation) -> Finding:
    text = f"no tool call in the transcript made this {operation.event.type} ({' '.join(operation.key)}) here"
    return Finding(CHECK, text, operation.event.seq)


def _disagreements(operation: Operation, call: ToolCall) -> Iterator[Finding]:
    event = operation.event
    said = call.said
    told, asked = _told(operation), _asked(event)
    for name, value in told.items():
        if name in said and differ(said[name], value):
            text = (
                f"{event.type}: {name} is {_short(value)} here and {_short(said[name])} in the tool's answer"
            )
            yield Finding(CHECK, text, event.seq)
    for name, value in asked.items():
        if name in call.arguments and differ(call.arguments[name], value):
            text = (
                f"{event.type}: {name} is {_short(value)} here and {_short(call.arguments[name])} in the call"
            )
            yield Finding(CHECK, text, event.seq)
    yield from _answers(event, call, said)


def _answers(event: ev.Event, call: ToolCall, said: Mapping[str, Any]) -> Iterator[Finding]:
    """A result's whole answer, and a refusal's reason."""
    payload = event.payload
    if event.type == "OperationRefused":
        reason = _squeezed(str(payload.get("reason")))[:60]
        if reason not in _squeezed(call.error):
            yield Finding(CHECK, "OperationRefused: its reason is not the one that the call got", event.seq)
    if event.type != "LabResultRecorded":
        return
    if payload.get("tool") != call.function:
        text = f"tool is {_short(payload.get('tool'))} here, and the call is of {_short(call.function)}"
        yield Finding(CHECK, f"LabResultRecorded: {text}", event.seq)
    answer = payload.get("answer")
    recorded: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
    if "text" in recorded and not said:
        if str(recorded["text"])[:200] not in (call.answer or ""):
            yield Finding(CHECK, "LabResultRecorded: the answer is not the one that the tool gave", event.seq)
        return
    for name in sorted({*recorded, *said}):
        here, there = recorded.get(name), said.get(name)
        if differ(here, there):
            text = f"{name} is {_short(here)} here and {_short(there)} in the tool's answer"
            yield Finding(CHECK, f"LabResultRecorded: {text}", event.seq)


def _told(operation: Operation) -> Mapping[str, Any]:
    """What the record says of the things that the tool's answer names."""
    p = operation.event.payload
    if operation.event.type == "HypothesisProposed":
        return {k: p.get(k) for k in ("hypothesis", "belief", "mechanism", "parents", "generation")}
    if operation.event.type != "EvidenceAttached":
        return {}
    told = {k: p.get(k) for k in ("hypothesis", "evidence", "stance")}
    audited = next((e.payload for e in operation.followers if e.type == "EvidenceAudited"), None)
    moved = next((e.payload for e in operation.followers if e.type == "BeliefUpdated"), None)
    told["audit"] = audited.get("verdict") if audited else None
    told["trusted"] = bool(p.get("trusted")) and (audited is None or audited.get("verdict") != "untrusted")
    if moved is not None:
        told |= {"belief_before": moved.get("before"), "belief": moved.get("after")}
    return told


def _asked(event: ev.Event) -> Mapping[str, Any]:
    """What the record says of the call's arguments."""
    p = event.payload
    match event.type:
        case "HypothesisProposed":
            parents = p.get("parents") or []
            one = parents[0] if isinstance(parents, list) and parents else None
            asked = {"prior": p.get("belief"), "parents": parents, "inspired_by": parents, "parent": one}
            return asked | {k: p.get(k) for k in ("statement", "rationale", "scope")}
        case "EvidenceAttached":
            kept = ("hypothesis", "results", "stance", "summary", "rationale")
            return {"belief": p.get("stated_belief")} | {k: p.get(k) for k in kept}
        case "StateChanged":
            return {"hypothesis": p.get("hypothesis"), "to": p.get("after"), "rationale": p.get("rationale")}
        case "PredictionsSubmitted":
            return {"predictions": p.get("predictions"), "rule": p.get("rule")}
        case "LabResultRecorded" | "OperationRefused":
            arguments = p.get("arguments")
            return arguments if isinstance(arguments, dict) else {}
    return {}


def _squeezed(text: str) -> str:
    return " ".join(clean(text).split())


def _short(value: object) -> str:
    return shorten(repr(value), 80)
