"""`hepbench check` and `hepbench baseline`: the regression gate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hepbench.benchmark.log_options import Logs, Workers, one_line_errors, readings_of

BaselineFile = Annotated[Path, typer.Option("--baseline", help="Written by `hepbench baseline`.")]
MarginsFile = Annotated[
    Path | None, typer.Option("--margins", help="TOML file; default: the one in the package.")
]
JunitFile = Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the verdict as JSON.")]
Partial = Annotated[
    bool, typer.Option("--partial", help="Entries of the baseline that were not run are noted, not failed.")
]
SummaryFile = Annotated[
    Path | None,
    typer.Option("--summary", help="Append Markdown to this file.", envvar="GITHUB_STEP_SUMMARY"),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The file.")]


def check(
    logs: Logs,
    baseline: BaselineFile,
    margins: MarginsFile = None,
    junit: JunitFile = None,
    json: JsonFile = None,
    summary: SummaryFile = None,
    partial: Partial = False,
    workers: Workers = None,
) -> None:
    """Hold logs against a baseline.

    Exit code: 0 PASS; 1 FAIL; 2 INCONCLUSIVE, with the number of epochs that would decide; 3 the runs
    cannot be compared with the baseline, and why; 4 something cannot be read or written, or the command
    line is wrong.
    """
    read = readings_of(logs, workers)
    from rich.console import Console

    from hepbench.benchmark.check import (
        BaselineError,
        MarginsError,
        check_runs,
        read_baseline,
        read_margins,
    )
    from hepbench.benchmark.check.forms import to_json, to_junit, to_markdown, to_terminal
    from hepbench.benchmark.check.margins import DEFAULT
    from hepbench.benchmark.leaderboard.collect import collect
    from hepbench.benchmark.statistics import ScoreTableError
    from hepbench.reports.logs import LogError

    with one_line_errors("check", BaselineError, MarginsError, LogError, ScoreTableError, OSError):
        kept, limits = read_baseline(baseline), read_margins(margins or DEFAULT)
        found = collect(logs, read, comparable=False)
        verdict = check_runs(kept, found, limits, partial=partial)
        Console().print(to_terminal(verdict))
        for path, text in ((junit, to_junit(verdict)), (json, to_json(verdict))):
            if path is not None:
                path.write_text(text, encoding="utf-8")
        if summary is not None:
            with summary.open("a", encoding="utf-8") as file:
                file.write(to_markdown(verdict))
    raise typer.Exit(int(verdict.outcome))


def baseline(logs: Logs, output: Output, workers: Workers = None) -> None:
    """Write a baseline from logs that pass the audit.

    Exit code: 0; 1 if a log does not count or a sample failed, and nothing is written; 4 if something cannot
    be read or written.
    """
    read = readings_of(logs, workers)
    from hepbench.benchmark.check import make_baseline
    from hepbench.benchmark.check.baseline import to_json
    from hepbench.benchmark.leaderboard.collect import collect
    from hepbench.benchmark.leaderboard.plain import line
    from hepbench.reports.logs import LogError

    with one_line_errors("baseline", LogError, OSError):
        found = collect(logs, read)
        for left in found.left_out:
            typer.echo(f"hepbench baseline: {line(left.log)}: {line(left.reason)}", err=True)
        failed = [run for run in found.runs if run.error]
        if failed:
            counted = (
                f"{len(failed)} of {len(found.runs)} samples failed, the first with: {line(failed[0].error)}"
            )
            typer.echo(f"hepbench baseline: {counted}; a baseline holds none that failed", err=True)
        if found.left_out or failed or not found.runs:
            raise typer.Exit(1)
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(to_json(make_baseline(found)), encoding="utf-8", newline="\n")
    typer.echo(f"written: {output} ({len(found.entries)} entries, {len(found.runs)} runs)")
