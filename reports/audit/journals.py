"""A run's journal beside its log: two copies of one record, written at different times by different hands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hepbench.harness.protocol.events import Event
from hepbench.harness.protocol.journal import JournalError, JournalRead, read_journal
from hepbench.harness.protocol.places import journal_stem, journals_beside
from hepbench.harness.text import shorten
from hepbench.reports.audit.subject import Finding, Subject

CHECK = "journal"
LOST = "the run goes on"
"""What the transcript says when a journal could not be written any further."""


def journals_of(where: str, sample: object, epoch: int) -> list[Path]:
    """The journals beside a log that may be a sample's, one for each attempt at it."""
    try:
        folder = journals_beside(where)
    except JournalError:
        return []
    stem = journal_stem(sample, epoch)
    found = folder.glob("*.jsonl") if folder.is_dir() else ()
    return sorted(path for path in found if path.name.rpartition("_")[0] == stem)


def journal(subject: Subject) -> Iterator[Finding]:
    """The journal beside the log, if there is one, holds the same events."""
    if subject.logged is None:
        return
    raw = subject.logged.raw
    paths = journals_of(subject.logged.where, raw.get("id"), int(raw.get("epoch") or 1))
    closest: list[Finding] | None = None
    for path in paths:
        lost = _was_lost(subject)
        try:
            read = read_journal(path)
        except JournalError as e:
            found = [] if lost else [Finding(CHECK, str(e))]
        else:
            found = list(differences(subject.events, read, lost=lost))
        if not found:
            return
        if closest is None or len(found) < len(closest):
            closest = found
    yield from closest or ()


def _was_lost(subject: Subject) -> bool:
    assert subject.logged is not None  # noqa: S101 - the caller looked
    notes = (e for e in subject.logged.transcript("info") if e.get("source") == "hepbench journal")
    return any(LOST in str(note.get("data")) for note in notes)


def differences(logged: Sequence[Event], read: JournalRead, *, lost: bool = False) -> Iterator[Finding]:
    """Where a log's record and a journal differ, one finding for each event.

    Args:
        logged: The record in the log.
        read: The journal.
        lost: The journal is known to end before the run did.
    """
    for line in read.damaged:
        yield Finding(CHECK, f"line {line} of the journal is no event")
    for mine, other in zip(logged, read.events, strict=False):
        if mine != other:
            yield Finding(CHECK, _difference(mine, other), mine.seq)
    for extra in read.events[len(logged) :]:
        yield Finding(CHECK, f"the journal has this {extra.type}, and the log does not", extra.seq)
    if lost:
        return
    for extra in logged[len(read.events) :]:
        yield Finding(CHECK, f"the log has this {extra.type}, and the journal does not", extra.seq)


def _difference(mine: Event, other: Event) -> str:
    names = [n for n in Event.model_fields if getattr(mine, n) != getattr(other, n)]
    if "payload" not in names:
        return f"{mine.type} differs from the journal's in {', '.join(names)}"
    keys = sorted(
        k for k in mine.payload.keys() | other.payload.keys() if _value(mine, k) != _value(other, k)
    )
    first = keys[0] if keys else "payload"
    here, there = shorten(repr(_value(mine, first)), 60), shorten(repr(_value(other, first)), 60)
    return f"{mine.type}.{first} is {here} in the log and {there} in the journal"


def _value(event: Event, key: str) -> object:
    return event.payload.get(key)
