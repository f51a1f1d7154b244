"""`hepbench leaderboard`: one row for each model and harness over the suite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from hepbench.benchmark.log_options import Logs, Workers, one_line_errors, readings_of

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Folder for CSV, JSON with its schema, Markdown and HTML."),
]
Suite = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        help="A task that a row must have to be ranked, such as ao2; default: every task in the logs.",
    ),
]


def leaderboard(logs: Logs, output: Output = None, task: Suite = None, workers: Workers = None) -> None:
    """Who is better: one row for each model and harness, from logs that pass the audit.

    Exit code: 0; 1 if no log counts; 4 if something cannot be read or written.
    """
    read = readings_of(logs, workers)
    from rich.console import Console

    from hepbench.benchmark.leaderboard.collect import collect
    from hepbench.benchmark.statistics import ScoreTableError
    from hepbench.reports.opening import LogError

    with one_line_errors("leaderboard", LogError, ScoreTableError, OSError):
        found = collect(logs, read)
        from hepbench.benchmark.leaderboard.build import build_leaderboard
        from hepbench.benchmark.leaderboard.forms import to_terminal, write_files
        from hepbench.reports.pages import leaderboard_page

        board = build_leaderboard(found, _suite(task or (), found.tasks))
        written = write_files(board, output, leaderboard_page(board)) if output is not None else []
        Console().print(to_terminal(board))
        for path in written:
            typer.echo(f"written: {path}")
    if not board.entries:
        raise typer.Exit(1)


def _suite(asked: Sequence[str], known: Sequence[str]) -> list[str]:
    """The tasks asked for, by their whole names.

    Raises:
        LogError: there is no such task in the logs.
    """
    from hepbench.reports.opening import LogError

    whole = {name.rpartition("/")[2]: name for name in known} | {name: name for name in known}
    for name in asked:
        if known and name not in whole:
            raise LogError(f"--task {name}: no such task in the logs. There are: {', '.join(known)}.")
    return [whole.get(name, name) for name in asked]
