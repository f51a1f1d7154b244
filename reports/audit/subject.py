"""What an audit looks at: a run's events, with the logged sample around them where there is one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from inspect_ai.log import EvalLog
from pydantic import ValidationError

from hepbench.harness.protocol.events import ACTORS, Event, Payload
from hepbench.reports.opening import LoggedSample

STORE_KEY = "RegistryStore:run"


@dataclass(frozen=True)
class Finding:
    """Something that cannot be as it stands.

    Attributes:
        check: Which check found it.
        text: One line: what is wrong.
        event: Sequence number of the event it shows in; None where no event is at fault.
        sample: Id and epoch of the sample, such as "ao2/1"; empty for the log itself.
    """

    check: str
    text: str
    event: int | None = None
    sample: str = ""

    def __str__(self) -> str:
        where = [self.sample] if self.sample else []
        where += [f"event {self.event}"] if self.event is not None else []
        return f"{', '.join(where)}: {self.text}" if where else self.text


@dataclass(frozen=True)
class Subject:
    """One run.

    Attributes:
        events: Its record.
        unreadable: Finding for each event that is none.
        logged: The sample; None for a journal alone.
        header: The log without its samples; None for a journal alone.
    """

    events: list[Event]
    unreadable: tuple[Finding, ...] = ()
    logged: LoggedSample | None = None
    header: EvalLog | None = None

    @property
    def about(self) -> Mapping[str, Any]:
        """What the run says it is about."""
        started = self.events[0].payload if self.events else {}
        about = started.get("about")
        return about if isinstance(about, dict) else {}

    @cached_property
    def texts(self) -> list[bytes]:
        """The JSON of each event as the store has it; none where one of them was unreadable."""
        if self.logged is None or self.unreadable:
            return []
        return self.logged.raw.object("store").object(STORE_KEY).texts("events")

    @cached_property
    def bodies(self) -> list[Payload | ValueError]:
        """The events' payloads, typed; what is wrong with one in its place."""
        return [_body(event) for event in self.events]

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The sample's metadata; empty for a journal alone."""
        return (self.logged.raw.get("metadata") or {}) if self.logged else {}

    @property
    def name(self) -> str:
        """Id and epoch."""
        raw = self.logged.raw if self.logged else {}
        return f"{raw.get('id')}/{raw.get('epoch')}" if raw else ""


def _body(event: Event) -> Payload | ValueError:
    try:
        return event.body
    except ValueError as e:
        return e


class _ParsedEvent(Event):
    """An event out of a JSON parser: that its payload holds JSON values need not be looked at again."""

    payload: dict[str, Any]


def subject_of(header: EvalLog, logged: LoggedSample) -> Subject:
    """The run of a logged sample. An event that does not fit the schema is left out, and found."""
    store = logged.raw.get("store") or {}
    record = store.get(STORE_KEY) or {}
    raw = record.get("events") if isinstance(record, dict) else None
    events, unreadable = _events(raw if isinstance(raw, list) else [])
    return Subject(events, tuple(unreadable), logged, header)


def _events(raw: Iterable[Any]) -> tuple[list[Event], list[Finding]]:
    events: list[Event] = []
    unreadable: list[Finding] = []
    for position, item in enumerate(raw, start=1):
        try:
            values = item if _is_plain(item) else dict(_ParsedEvent.model_validate(item))
            events.append(Event.model_construct(**values))
        except ValidationError as e:
            first = e.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "event"
            unreadable.append(Finding("record", f"it is no event: {where}: {first['msg']}", position))
    return events, unreadable


_NO_TEXT: Mapping[str, type] = {"seq": int, "schema_version": int, "payload": dict}
_TYPES = {name: _NO_TEXT.get(name, str) for name in Event.model_fields}


def _is_plain(item: Any) -> bool:
    """Whether this has an event's fields and types to the letter; a schema is asked about what has not."""
    return (
        type(item) is dict
        and item.keys() == _TYPES.keys()
        and all(type(item[name]) is kind for name, kind in _TYPES.items())
        and item["actor"] in ACTORS
    )


def parsed_events(events: Iterable[Event], kind: str) -> Iterator[tuple[Event, Mapping[str, Any]]]:
    """The events of a type with their payloads."""
    return ((event, event.payload) for event in events if event.type == kind)
