"""`hepbench cache`: what stands in the cache of live results, and emptying it."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="The cache of live relaxations and simulations.")

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
    from hepbench.harness.laboratory.cache import Cache, CacheError, place_of

    place = place_of(cache)
    if place is None:
        typer.echo("the cache is off")
        return
    try:
        found = Cache(place).info()
    except CacheError as e:
        raise _one_line(e) from e
    size = "" if found.bytes is None else f", {found.bytes / 1e6:.1f} MB"
    typer.echo(f"{found.place}\n{found.relaxations} relaxations, {found.simulations} simulations{size}")


@app.command()
def clear(
    cache: Place = "auto",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Take every entry out of the cache."""
    from hepbench.harness.laboratory.cache import Cache, CacheError, place_of

    place = place_of(cache)
    if place is None:
        typer.echo("the cache is off")
        return
    if not yes:
        typer.confirm(f"Clear {place}?", abort=True)
    try:
        Cache(place).clear()
    except CacheError as e:
        raise _one_line(e) from e
    typer.echo(f"cleared {place}")


def _one_line(error: Exception) -> typer.Exit:
    typer.echo(f"hepbench cache: {error}", err=True)
    return typer.Exit(2)
