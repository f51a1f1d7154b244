"""`hepbench cache`: what is kept of live results and of logs that were read, and taking it away."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated

import typer

from hepbench.benchmark.log_options import one_line_errors

if TYPE_CHECKING:
    from hepbench.harness.laboratory.cache import Cache

UNUSABLE = 2

app = typer.Typer(no_args_is_help=True, help="What is kept of live results, and of logs that were read.")

Place = Annotated[
    str,
    typer.Option(
        "--cache",
        metavar="DIR|FILE.db|URL",
        help="Which cache; default: $HEPBENCH_CACHE, or else the user's cache folder.",
    ),
]


@app.command()
def info(cache: Place = "auto") -> None:
    """Say where the cache is, what stands in it and how large it is."""
    from hepbench.benchmark.leaderboard import memory

    with _one_line():
        live = _opened(cache)
        if live is None:
            typer.echo("the cache is off")
            return
        found = live.info()
        size = "" if found.bytes is None else f", {found.bytes / 1e6:.1f} MB"
        typer.echo(f"{found.place}\n{found.relaxations} relaxations, {found.simulations} simulations{size}")
        logs = memory.info(_of_logs(cache))
        if logs is not None:
            typer.echo(f"{logs.place}\n{logs.entries} outcomes of reading logs, {logs.bytes / 1e6:.1f} MB")


@app.command()
def clear(
    cache: Place = "auto",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Take every entry out of the cache, and forget what was read of logs."""
    from hepbench.benchmark.leaderboard import memory

    with _one_line():
        live = _opened(cache)
        if live is None:
            typer.echo("the cache is off")
            return
        logs = memory.info(_of_logs(cache))
        places = live.shown if logs is None else f"{live.shown} and {logs.place}"
        if not yes:
            typer.confirm(f"Clear {places}?", abort=True)
        live.clear()
        memory.clear(_of_logs(cache))
        typer.echo(f"cleared {places}")


def _opened(cache: str) -> Cache | None:
    from hepbench.harness.laboratory.cache import open_cache

    return open_cache(cache)


def _of_logs(cache: str) -> str | None:
    """The cache in whose folder logs are remembered: a file or a server that was named has none."""
    if cache == "auto":
        return None
    return "off" if "://" in cache or cache.endswith(".db") else cache


def _one_line() -> AbstractContextManager[None]:
    from hepbench.harness.laboratory.cache import CacheError

    return one_line_errors("cache", CacheError, OSError, code=UNUSABLE)
