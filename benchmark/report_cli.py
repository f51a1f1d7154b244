"""`hepbench report`: a static site from logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hepbench.benchmark.log_options import Logs, Workers, one_line_errors, readings_of

Output = Annotated[Path, typer.Option("--output", "-o", help="Folder of the site.")]
Open = Annotated[bool, typer.Option("--open", help="Open the site in the browser.")]


def report(logs: Logs, output: Output = Path("report"), open_: Open = False, workers: Workers = None) -> None:
    """A static site: the leaderboard, and a page for each run. It works from a file, offline.

    A log that does not count, because of its audit or its conditions, has pages that say so.

    Exit code: 0; 1 if no log counts; 4 if something cannot be read or written.
    """
    read = readings_of(logs, workers)
    from hepbench.benchmark.leaderboard.build import build_leaderboard
    from hepbench.benchmark.leaderboard.collect import collect, log_name
    from hepbench.reports.gather import DetailedRun, detailed_runs, find_logs
    from hepbench.reports.logs import LogError
    from hepbench.reports.pages import write_site

    with one_line_errors("report", LogError, OSError, ValueError):
        found = collect(logs, read)
        left_out = {left.log: left.reason for left in found.left_out}
        runs: list[DetailedRun] = []
        doubts: dict[str, str] = {}
        pageless: list[LogError] = []

        def refused(error: LogError) -> None:
            pageless.append(error)
            typer.echo(f"hepbench report: no page for a log: {error}", err=True)

        for where in find_logs(logs):
            try:
                shown = detailed_runs(where)
            except LogError as e:
                refused(e)
                continue  # it stands among the logs that do not count
            runs += shown
            doubts |= {run.record.where: left_out.get(log_name(where), "") for run in shown}
        unread = len(pageless)
        index = write_site(output, build_leaderboard(found), runs, doubts, refused)
    pages = len(runs) - (len(pageless) - unread)
    typer.echo(f"written: {index} ({pages} run{'' if pages == 1 else 's'})")
    if open_:
        typer.launch(index.resolve().as_uri())
    if not pages:
        raise typer.Exit(1)
