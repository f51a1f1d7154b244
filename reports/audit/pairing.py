"""Which recorded operation was which tool call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from hepbench.harness.protocol import events as ev
from hepbench.harness.protocol.tools import READ_TOOLS, WRITE_TOOLS
from hepbench.reports.opening import ToolCall

_FOREIGN = re.compile(r"^\[(R\d+)\]", re.MULTILINE)
_HEAD = 2_000
"""Characters in which a stranger's answer names its result: Inspect puts a note before what it cuts."""

_WITHOUT_RECORD = frozenset({*READ_TOOLS, "finish_research"})
"""Tools whose refusals are not on record, as nothing was to be changed."""

Key = tuple[str, ...]
"""What an operation and its call have in common, such as ("result", "R4")."""


_NAMED = {
    "LabResultRecorded": ("result", "result"),
    "HypothesisProposed": ("proposed", "hypothesis"),
    "EvidenceAttached": ("evidence", "evidence"),
}
"""Type of event → what its call did, and what of the payload its answer names."""


@dataclass(frozen=True)
class Operation:
    """An event that a tool call made, with the events that the same call wrote after it."""

    key: Key
    event: ev.Event
    followers: tuple[ev.Event, ...]


def operations_of(events: Sequence[ev.Event]) -> Iterator[Operation]:
    """The operations of a record, in order."""
    for position, event in enumerate(events):
        key = _key_of_event(event)
        if key is not None:
            following = takewhile(lambda e: _key_of_event(e) is None, events[position + 1 :])
            yield Operation(key, event, tuple(following))


def _key_of_event(event: ev.Event) -> Key | None:
    """The key of an event that opens an operation; None for those that follow, start or end."""
    p = event.payload
    if event.type == "OperationRefused":
        return "refused", str(p.get("operation"))
    if event.type == "PredictionsSubmitted":
        return ("predicted",)
    if event.type == "StateChanged":
        return "moved", str(p.get("hypothesis")), str(p.get("before")), str(p.get("after"))
    kind, name = _NAMED.get(event.type, ("", ""))
    return (kind, str(p.get(name))) if kind else None


def key_of_call(call: ToolCall) -> Key | None:
    """The key of the operation that a call must have made; None for one that leaves no record."""
    if call.error:
        return None if call.function in _WITHOUT_RECORD else ("refused", call.function)
    said = call.said
    if call.function in WRITE_TOOLS:
        return _key_of_write(call, said)
    if call.function == "submit_predictions":
        return ("predicted",)
    if isinstance(said.get("result"), str):
        return "result", said["result"]
    foreign = _FOREIGN.search((call.answer or "")[:_HEAD])
    return ("result", foreign[1]) if foreign else None


def _key_of_write(call: ToolCall, said: Mapping[str, Any]) -> Key:
    if "evidence" in said:
        return "evidence", str(said["evidence"])
    if "from" in said:
        return "moved", str(said.get("hypothesis")), str(said["from"]), str(said.get("to"))
    return "proposed", str(said.get("hypothesis")) if said else f"unanswered {call.function}"


def is_schema_error(call: ToolCall) -> bool:
    """Whether a call broke its tool's schema, and so never reached the tool."""
    return call.kind == "parsing"


def may_be_missing(call: ToolCall) -> bool:
    """Calls that a limit, a timeout or the like ended may have left no record."""
    return call.answer is None and not call.error.startswith("Refused")
