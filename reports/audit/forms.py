"""An audit's report for the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hepbench.harness.text import clean, shorten
from hepbench.reports.audit.audit import CHECKS, Report, RunFacts
from hepbench.reports.audit.recompute import CHECK as RECOMPUTATION
from hepbench.reports.opening import shown

MAX_SHOWN = 25
"""Findings of one check that the terminal shows; the JSON has all."""


def to_json(reports: Sequence[Report]) -> str:
    """The reports as JSON: one object a log."""
    return json.dumps([_as_json(report) for report in reports], indent=1, ensure_ascii=False)


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "log": report.where,
        "clean": report.clean,
        "facts": report.facts,
        "checks": {name: _outcome(report, name) for name, _ in _checks(report)},
        "findings": [asdict(finding) for finding in report.findings],
        "runs": [asdict(run) for run in report.runs],
    }


def to_terminal(report: Report) -> RenderableType:
    """One log's report: its checks, what they found, and what the record itself warns of."""
    return Group(_head(report), _table(report), *_findings(report), *_notes(report.runs), Text())


def _head(report: Report) -> Text:
    facts = "; ".join(f"{name} {text}" for name, text in report.facts.items())
    return Text.assemble((_line(report.where, 300), "bold"), f"\n{_line(facts)}")


def _checks(report: Report) -> Iterator[tuple[str, str]]:
    yield from ((check.name, check.asks) for check in CHECKS)
    if report.recomputed:
        yield RECOMPUTATION, f"{report.recomputed} random measurements made again by the same potential"


def _table(report: Report) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, asks in _checks(report):
        outcome = _outcome(report, name)
        style = {"holds": "green"}.get(outcome, "yellow" if outcome.startswith("not") else "bold red")
        table.add_row(Text(name), Text(outcome, style=style), Text(asks, style="dim"))
    return table


def _outcome(report: Report, check: str) -> str:
    found = len(report.of(check))
    if found:
        return f"{found} finding{'s' if found > 1 else ''}"
    if check in ("laboratory", "provenance") and not any(run.ours for run in report.runs):
        return "not ours"
    if check == "journal" and not any(run.journal for run in report.runs):
        return "not there"
    if check in ("transcript", "scores", "journal", "record") and "journal" in report.facts:
        return "not in it"
    return "holds"


def _findings(report: Report) -> Iterator[RenderableType]:
    for name, _ in _checks(report):
        found = report.of(name)
        for finding in found[:MAX_SHOWN]:
            yield Text.assemble(("✗ ", "bold red"), f"{name}: {_line(str(finding), 400)}")
        if len(found) > MAX_SHOWN:
            yield Text(f"  … and {len(found) - MAX_SHOWN} more of {name}; --json has all")


def _notes(runs: Sequence[RunFacts]) -> Iterator[RenderableType]:
    """What is no finding: the record is sound, and says this of itself."""
    for run in runs:
        if run.warnings:
            yield Text(f"  {run.name} warns of itself: {_counted(run.warnings.items())}", style="dim")
        if run.audits:
            yield Text(f"  {run.name} was audited as it ran: {_counted(run.audits.items())}", style="dim")


def _counted(items: Any) -> str:
    return ", ".join(f"{_line(name, 40)} ({count})" for name, count in sorted(items))


def verdict(reports: Sequence[Report]) -> str:
    """The last line."""
    events = sum(run.events for report in reports for run in report.runs)
    runs = sum(len(report.runs) for report in reports)
    bad = [report for report in reports if not report.clean]
    counts = ((len(reports), "log"), (runs, "run"), (events, "event"))
    looked = ", ".join(f"{count:,} {name}{'s' if count != 1 else ''}" for count, name in counts)
    if not bad:
        return f"clean: {looked}"
    total = sum(len(report.findings) for report in bad)
    return f"{total} findings in {len(bad)} of {looked}: {', '.join(shown(r.where) for r in bad[:5])}"


def _line(text: str, limit: int = 200) -> str:
    return shorten(" ".join(clean(text).split()), limit)
