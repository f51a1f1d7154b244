"""The journal of a running sample: where it lies, and what happens when it cannot be written.

`journal` in the sample's metadata (a task's `-T journal=…`) is one of:

* `auto` (default): beside the log, `<log>.journal/<sample>_epoch_<n>_<attempt>.jsonl`. Where that cannot be
  written (a remote or read-only folder, a full disk) one line says so, and the run goes on without it.
* `require`: the same place, and a sample whose journal cannot be written ends with one line.
* `off`: no journal.
* a folder: below it, as `require`.
"""

from __future__ import annotations

from collections.abc import Sequence
from logging import getLogger
from pathlib import Path
from uuid import uuid4

from inspect_ai.log import transcript
from inspect_ai.log._samples import sample_active  # the one place that knows the log's location

from hepbench.harness.protocol.events import Event
from hepbench.harness.protocol.journal import Journal, JournalError
from hepbench.harness.protocol.places import journal_stem, journals_beside
from hepbench.harness.protocol.registry import Sink

AUTO, REQUIRE, OFF = "auto", "require", "off"

logger = getLogger(__name__)


def journal_sink(mode: str, past: Sequence[Event] = ()) -> Sink | None:
    """The sink of the current sample's registry, its past events already in the new journal.

    Raises:
        JournalError: a journal is required and cannot be made.
    """
    if mode == OFF or (mode == AUTO and sample_active() is None):
        return None
    try:
        journal = Journal.create(_place(mode))
        if past:
            journal.append(past)
    except JournalError as e:
        if mode != AUTO:
            raise
        _say(f"{e}; the run goes on without one.")
        return None
    transcript().info(f"journal: {journal.path}", source="hepbench journal")
    return journal.append if mode != AUTO else _ForgivingSink(journal)


class _ForgivingSink:
    """Writes until a write fails; says so once, and lets the run go on."""

    def __init__(self, journal: Journal) -> None:
        self._journal: Journal | None = journal

    def __call__(self, events: Sequence[Event]) -> None:
        if self._journal is None:
            return
        try:
            self._journal.append(events)
        except JournalError as e:
            self._journal = None
            _say(f"{e}; it ends before event {events[0].seq}, and the run goes on.")


def _place(mode: str) -> Path:
    active = sample_active()
    if active is None:
        raise JournalError("the journal has no place: no sample is running")
    folder = Path(mode) if mode not in (AUTO, REQUIRE) else journals_beside(active.log_location)
    return folder / f"{journal_stem(active.sample.id, active.epoch)}_{uuid4().hex[:8]}.jsonl"


def _say(line: str) -> None:
    """One line on the console, and in the sample's transcript."""
    logger.warning("hepbench: %s", line)
    transcript().info(line, source="hepbench journal")
