"""The runs of a log, or the one of a journal, as stories."""

from __future__ import annotations

from pathlib import Path

from hepbench.harness.protocol.journal import JournalError, read_journal
from hepbench.reports.audit.subject import subject_of
from hepbench.reports.hypotheses import Story, story
from hepbench.reports.logs import newest_log
from hepbench.reports.opening import LogError, one_line, open_log


def stories_of(where: str) -> list[tuple[int, Story]]:
    """Epoch and story of each run that has a record.

    Raises:
        LogError: the log or journal cannot be read.
        StoryError: a record is none.
    """
    if where.endswith(".jsonl"):
        try:
            events = read_journal(Path(where)).events
        except JournalError as e:
            raise LogError(str(e)) from e
        return [(1, story(events[0].run_id, events))]
    where = newest_log(where)
    with one_line(where), open_log(where) as log:
        subjects = [(int(s.raw.get("epoch") or 1), subject_of(log.header, s)) for s in log.samples()]
    return [(epoch, story(s.name, s.events)) for epoch, s in subjects if s.events]
