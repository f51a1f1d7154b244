"""The durable copy of a run's record: one JSON line an event, on disk before the agent has its answer.

    >>> journal = Journal.create(Path("run.jsonl"))
    >>> registry = Registry.start("my-run", ProtocolRules(), sink=journal.append)

An operation's lines go out in one write and are fsynced; only then is the operation accepted. So whatever
was answered is in the file, whenever the process dies. What was being written at that moment may stand at
the end as a torn line, which `read_journal` recognizes; it was never answered to anybody.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from weakref import finalize

from pydantic import ValidationError

from hepbench.harness.protocol.events import Event, canonical_json

MAX_LINE = 8_000_000
"""Bytes of one line that are read; the largest event that the gates let through is far below."""

MAX_JOURNAL = 64_000_000
"""Bytes of a journal that are read: some hundred times a long run."""


class JournalError(Exception):
    """A journal that cannot be written or read; the message is one line with the file and the reason."""


class Journal:
    """An open journal. Nobody else may write to the file.

    Args:
        path: Where it lies.
        descriptor: The file, open for appending. It is closed with the journal.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._length = os.fstat(descriptor).st_size
        self.close = finalize(self, os.close, descriptor)

    @classmethod
    def create(cls, path: Path) -> Journal:
        """A new journal, its folder made and its name on disk.

        Raises:
            JournalError: the file is there already, or cannot be made.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            journal = cls(path, os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o644))
            _sync_folder(path.parent)
        except OSError as e:
            raise JournalError(f"the journal {path} cannot be made: {e.strerror or e}") from e
        return journal

    def append(self, events: Sequence[Event]) -> None:
        """Write the events of one operation, all or none, and force them to the disk.

        Raises:
            JournalError: they could not be written; the file ends as before.
        """
        lines = b"".join(canonical_json(e.model_dump(mode="json")) + b"\n" for e in events)
        try:
            _write_all(self._descriptor, lines)
            os.fsync(self._descriptor)
        except OSError as e:
            self._take_back()
            raise JournalError(f"the journal {self.path} cannot be written: {e.strerror or e}") from e
        self._length += len(lines)

    def _take_back(self) -> None:
        try:
            os.ftruncate(self._descriptor, self._length)
        except OSError:
            return  # a torn line stays, and reads as one


@dataclass(frozen=True)
class JournalRead:
    """What a journal holds.

    Attributes:
        events: The events of all whole lines, in the file's order.
        torn: Bytes after the last whole line: an operation that was never answered. 0 for a closed file.
        damaged: Numbers of the whole lines that are no event.
    """

    events: list[Event]
    torn: int
    damaged: tuple[int, ...]


def read_journal(path: Path) -> JournalRead:
    """Read a journal, be it whole, torn at its end, or damaged within.

    Raises:
        JournalError: the file cannot be read, is no regular file, is too large, or holds no event at all.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # before it is opened: a pipe would wait for a writer
            raise JournalError(f"{path} is not a journal: it is no regular file")
        read = _read_lines(path)
    except OSError as e:
        raise JournalError(f"{path} cannot be read: {e.strerror or e}") from e
    if not read.events:
        raise JournalError(f"{path} is not a journal: it holds no event")
    return read


def _read_lines(path: Path) -> JournalRead:
    events: list[Event] = []
    damaged: list[int] = []
    torn = 0
    for number, line in enumerate(_lines(path), start=1):
        if not line.endswith(b"\n"):
            torn += len(line)
            continue
        try:
            events.append(Event.model_validate_json(line))
        except ValidationError:
            damaged.append(number)
            if not events:
                break  # whatever this is, it did not begin as a journal
    return JournalRead(events, torn, tuple(damaged))


def _lines(path: Path) -> Iterator[bytes]:
    count = 0  # of what is read, for a file may grow, and some say that they are empty
    with path.open("rb") as file:
        while line := file.readline(MAX_LINE):
            count += len(line)
            if count > MAX_JOURNAL:
                raise JournalError(f"{path} has more than {MAX_JOURNAL:,} bytes, which no journal has")
            yield line


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_folder(folder: Path) -> None:
    """Force a folder's list of names to the disk, where the file system knows how."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
