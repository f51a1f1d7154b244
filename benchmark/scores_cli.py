"""`hepbench scores`: the scores of a log, as a table."""

from __future__ import annotations

from typing import Annotated

import typer

LogArgument = Annotated[
    str,
    typer.Argument(
        metavar="LOG_OR_DIR",
        help="An eval log, or a folder whose newest log is shown.",
        envvar="INSPECT_LOG_DIR",
        show_default=True,
    ),
]


def scores(log: LogArgument = "./logs") -> None:
    """Show the scores of a log, or of a folder's newest log.

    Exit code: 0; 1 if the run behind the log did not succeed; 2 if there is no readable log.
    """
    from rich.console import Console

    from hepbench.reports.logs import LogError, newest_log, read_log
    from hepbench.reports.scores import print_report

    try:
        shown = read_log(newest_log(log))
    except LogError as e:
        typer.echo(f"hepbench scores: {e}", err=True)
        raise typer.Exit(2) from e
    print_report(shown, Console())
    if shown.header.status != "success":
        raise typer.Exit(1)
