"""The audit of a log or a journal: every check on every run, and what came of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
from inspect_ai.log import EvalLog

from hepbench.harness.protocol.journal import JournalError, read_journal
from hepbench.harness.protocol.state import RunState
from hepbench.reports.audit import journals, replay, transcript, world
from hepbench.reports.audit import scores as rescoring
from hepbench.reports.audit.recompute import recompute, require
from hepbench.reports.audit.subject import STORE_KEY, Finding, Subject, parsed_events, subject_of
from hepbench.reports.opening import LogError, LoggedSample, OpenLog, one_line, open_log, shown

Look = Callable[[Subject], Iterable[Finding]]


@dataclass(frozen=True)
class Check:
    """One thing that is checked of each run.

    Attributes:
        name: As findings name it.
        asks: The question, for the table.
    """

    name: str
    asks: str


CHECKS = (
    Check("record", "every run has a record that can be read, is closed, and none is missing"),
    Check("chain", "each event matches its hash and follows its predecessor"),
    Check("gates", "each operation again, by the rules in force; states and beliefs recomputed"),
    Check("transcript", "each operation is a tool call and each call on record; answers agree"),
    Check("laboratory", "each result that the reference set gives, computed from it again"),
    Check("held-outs", "no sealed compound was measured"),
    Check("provenance", "task version, reference set, potential and truth are known here"),
    Check("scores", "every score and mean computed again"),
    Check("journal", "the journal beside the log holds the same events"),
)
_LOOKS: tuple[Look, ...] = (
    transcript.transcript,
    transcript.conversation,
    transcript.store_changes,
    world.laboratory,
    world.sealed,
    world.provenance,
    journals.journal,
)


@dataclass(frozen=True)
class RunFacts:
    """What a run's record holds, for the report.

    Attributes:
        name: Sample and epoch.
        events: How many.
        hypotheses: How many.
        refusals: How many.
        warnings: Warning → how often it stands in the record.
        audits: Verdict of the auditor → how often.
        journal: Whether a journal lies beside the log.
        ours: It is a task whose world this installation knows.
    """

    name: str
    events: int
    hypotheses: int
    refusals: int
    warnings: Mapping[str, int]
    audits: Mapping[str, int]
    journal: bool
    ours: bool


@dataclass
class Report:
    """What an audit of one log or journal came to.

    Attributes:
        where: Path or URL.
        findings: What cannot be as it stands.
        runs: Facts of each run.
        facts: Task, model and the like, of the log.
        recomputed: How many measurements were made again.
    """

    where: str
    findings: list[Finding] = field(default_factory=list)
    runs: list[RunFacts] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    recomputed: int = 0

    @property
    def clean(self) -> bool:
        """Nothing was found."""
        return not self.findings

    def of(self, check: str) -> list[Finding]:
        """The findings of one check."""
        return [finding for finding in self.findings if finding.check == check]


@dataclass(frozen=True)
class Recompute:
    """How many measurements to make again, and which."""

    count: int
    seed: int = 0


def audit(where: str, again: Recompute | None = None) -> Report:
    """Audit a log, or a journal (`.jsonl`).

    Args:
        where: Path or URL.
        again: Measurements to be made again by the same potential.

    Raises:
        LogError: it cannot be read.
        RecomputeError: nothing can be computed again here.
    """
    if where.endswith(".jsonl"):
        return _audit_journal(where)
    with open_log(where) as log:
        with one_line(where):
            auditing = LogAudit(log)
            for logged in log.samples():
                auditing.take(logged)
            report = auditing.report()
        if again is not None:
            _recompute(report, log, again)
    return report


def _recompute(report: Report, log: OpenLog, again: Recompute) -> None:
    with one_line(log.where):
        subjects = [replace(subject_of(log.header, logged), logged=None) for logged in log.samples()]
    require(subjects)
    found, report.recomputed = recompute(subjects, again.count, again.seed)
    report.findings += found


def _audit_journal(where: str) -> Report:
    try:
        read = read_journal(Path(where))
    except JournalError as e:
        raise LogError(str(e)) from e
    torn = f", {read.torn} bytes of a torn last line" if read.torn else ""
    report = Report(where, facts={"journal": f"{len(read.events)} events{torn}"})
    for line in read.damaged:
        report.findings.append(Finding("record", f"line {line} is no event"))
    _look(report, Subject(read.events))
    return report


class LogAudit:
    """The audit of a log, one sample after the other, so that whoever reads them anyway reads them once.

    Args:
        log: The log.
    """

    def __init__(self, log: OpenLog) -> None:
        self._header = log.header
        self._report = Report(log.where, facts=_facts(log.header))
        self._seen: list[tuple[str, int]] = []
        self._scored: list[tuple[str, Mapping[str, Any]]] = []

    def take(self, logged: LoggedSample) -> None:
        """Every check of one run.

        Raises:
            LogError: the sample does not fit Inspect's schema.
        """
        report, raw = self._report, logged.raw
        subject = subject_of(self._header, logged)
        report.findings += [replace(f, sample=subject.name) for f in subject.unreadable]
        report.findings += [replace(f, sample=subject.name) for f in _record(subject)]
        run = _look(report, subject)
        again = anyio.run(rescoring.scores, subject, run)
        report.findings += [replace(f, sample=subject.name) for f in again]
        self._seen.append((str(raw.get("id")), int(raw.get("epoch") or 1)))
        self._scored.append((str(raw.get("id")), raw.get("scores") or {}))

    def report(self) -> Report:
        """The outcome, with what only all samples together can show."""
        report = self._report
        report.findings += rescoring.means(self._header, rescoring.values_of(self._scored))
        report.findings += _missing(self._header, self._seen)
        return report


def _look(report: Report, subject: Subject) -> RunState | None:
    """Every check of the record; the run as its events make it, if they can be replayed."""
    found, run = replay.gates(subject)
    for findings in (replay.chain(subject), found, *(look(subject) for look in _LOOKS)):
        report.findings += [replace(finding, sample=subject.name) for finding in findings]
    report.runs.append(_run_facts(subject))
    return run


def _record(subject: Subject) -> Iterator[Finding]:
    """The run's record is there, and was closed if nothing cut the run short."""
    assert subject.logged is not None  # noqa: S101 - a log's run
    raw, ours = subject.logged.raw, world.task_of(subject) is not None
    if raw.get("error") or raw.get("limit") or not ours:
        return
    if not subject.events:
        if STORE_KEY in (raw.get("store") or {}) or not subject.unreadable:
            yield Finding("record", "the sample has no record, and no error that says why")
        return
    if subject.events[0].type != "RunStarted":
        yield Finding("record", "does not start the run", subject.events[0].seq)
    if subject.events[-1].type != "RunEnded":
        yield Finding("record", "is the last one, and does not end the run", subject.events[-1].seq)


def _missing(header: EvalLog, seen: list[tuple[str, int]]) -> Iterator[Finding]:
    """A log that ended well holds each sample of each epoch once."""
    if header.status != "success":
        return
    epochs = range(1, (header.eval.config.epochs or 1) + 1)
    asked = {(str(sample), epoch) for sample in header.eval.dataset.sample_ids or [] for epoch in epochs}
    for sample, epoch in sorted(asked - set(seen)):
        yield Finding("record", "the sample is missing from the log", sample=f"{sample}/{epoch}")
    for sample, epoch in sorted(set(seen) - asked if asked else ()):
        yield Finding("record", "the log holds a sample that was not asked for", sample=f"{sample}/{epoch}")


def _facts(header: EvalLog) -> dict[str, str]:
    usage = header.stats.role_usage.get("auditor") if header.stats else None
    facts = {
        "task": f"{header.eval.task}, version {header.eval.task_version}",
        "model": header.eval.model,
        "status": header.status,
    }
    if usage is not None:
        facts["auditor"] = f"{usage.total_tokens:,} tokens, counted apart from the agent's"
    return {name: shown(text) for name, text in facts.items()}


def _run_facts(subject: Subject) -> RunFacts:
    raw = subject.logged.raw if subject.logged else {}
    paths = (
        journals.journals_of(subject.logged.where, raw.get("id"), int(raw.get("epoch") or 1))
        if subject.logged
        else []
    )
    types = [event.type for event in subject.events]
    return RunFacts(
        name=subject.name,
        events=len(types),
        hypotheses=types.count("HypothesisProposed"),
        refusals=types.count("OperationRefused"),
        warnings=_counted(subject, "RuleWarned", "warning"),
        audits=_counted(subject, "EvidenceAudited", "verdict"),
        journal=bool(paths),
        ours=world.world_of(subject) is not None,
    )


def _counted(subject: Subject, kind: str, name: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for _, payload in parsed_events(subject.events, kind):
        value = str(payload.get(name))
        counts[value] = counts.get(value, 0) + 1
    return counts
