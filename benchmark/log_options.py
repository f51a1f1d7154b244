"""What the commands that read logs share: their arguments, and how they end on a bad one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hepbench.benchmark.leaderboard.reading import Readings

Logs = Annotated[
    list[str],
    typer.Argument(metavar="LOGS...", help="Eval logs, folders of them, or URLs such as s3://bucket/logs."),
]

Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Processes that read new logs; default: one for each core, at most 8."),
]


def readings_of(logs: Sequence[str], workers: int | None) -> Readings:
    """What reads logs for a command: by several processes, if these are so many that it pays."""
    from hepbench.benchmark.leaderboard.readers import start_early

    start_early(logs, workers)
    from hepbench.benchmark.leaderboard.pool import readings  # Inspect's import, seconds

    return partial(readings, workers=workers)


UNUSABLE = 4
"""Exit code for what could not be read or written; 1 to 3 are `check`'s verdicts."""


@contextmanager
def one_line_errors(command: str, *kinds: type[Exception], code: int = UNUSABLE) -> Iterator[None]:
    """Say these errors in one line on stderr, and exit."""
    try:
        yield
    except kinds as e:
        said = f"{e.filename}: {e.strerror}" if isinstance(e, OSError) and e.filename else e
        typer.echo(f"hepbench {command}: {said}", err=True)
        raise typer.Exit(code) from e
