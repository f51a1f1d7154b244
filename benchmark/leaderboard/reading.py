"""What tables need of a log, read out of it once: its runs, and what the audit finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hepbench.benchmark.leaderboard.memory import READING, place_of, recalled, remember
from hepbench.reports.audit.audit import LogAudit
from hepbench.reports.audit.subject import Finding
from hepbench.reports.gather import RunReader
from hepbench.reports.opening import LogError, one_line, open_log
from hepbench.reports.parsing import no_collections
from hepbench.reports.records import RunRecord, run_of, values_of


@dataclass(frozen=True)
class Reading:
    """A log as it was read.

    Attributes:
        where: Path or URL.
        runs: Its runs.
        findings: What is wrong with it, one line for each finding; none for a clean log.
        unreadable: Why it could not be read at all; empty if it was.
    """

    where: str
    runs: tuple[RunRecord, ...] = ()
    findings: tuple[str, ...] = ()
    unreadable: str = ""


Readings = Callable[[Sequence[str]], Iterable[Reading]]
"""Reads logs: one reading for each, in their order."""


def known_reading(where: str) -> Reading | None:
    """The reading of a log whose very content was read before, by this installation; else None."""
    found = recalled(where, READING)
    with suppress(AttributeError, KeyError, TypeError):  # a file that somebody else has written into
        return None if found is None else _of(where, found)
    return None


def read_log(where: str) -> Reading:
    """Read and audit a log in one pass, and remember what it gave. What cannot be read is not remembered."""
    place = place_of(where, READING)
    try:
        with no_collections():  # only once the log is gone are there cycles worth searching for
            runs, findings = _read_and_audited(where)
    except LogError as e:
        return Reading(where, unreadable=str(e))
    return _remembered(where, runs, findings, place)


def _read_and_audited(where: str) -> tuple[list[RunRecord], list[Finding]]:
    with one_line(where), open_log(where) as log:
        reader, auditing = RunReader(log), LogAudit(log)
        runs: list[RunRecord] = []
        for logged in log.samples():
            runs.append(reader.take(logged))
            auditing.take(logged)
        reader.end()
        return runs, auditing.report().findings


def remember_audit(where: str, findings: Sequence[Finding], place: Path | None) -> None:
    """Keep for the tables what the audit of a log found, if they can use the log at all.

    Args:
        where: The log.
        findings: Of its whole audit.
        place: `place_of` before it was read.
    """
    if place is None:
        return
    with suppress(LogError), no_collections(), one_line(where), open_log(where) as log:
        reader = RunReader(log)
        runs = [reader.take(logged) for logged in log.samples()]
        reader.end()
        _remembered(where, runs, findings, place)


def _remembered(
    where: str, runs: Sequence[RunRecord], findings: Sequence[Finding], place: Path | None
) -> Reading:
    made = {"runs": [values_of(run) for run in runs], "findings": [str(finding) for finding in findings]}
    remember(where, READING, made, place)
    return _of(where, made)


def _of(where: str, values: dict[str, Any]) -> Reading:
    runs = (replace(run_of(run), where=where) for run in values["runs"])
    return Reading(where, tuple(runs), tuple(values["findings"]))
