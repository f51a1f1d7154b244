"""`hepbench potentials`: what there is, and what runs here."""

from __future__ import annotations

from typing import Annotated

import typer


def potentials(
    name: Annotated[list[str] | None, typer.Argument(help="Only these; default: all named ones.")] = None,
) -> None:
    """List the potentials with their weights' SHA-256, and say why those that do not run here do not."""
    from hepbench.harness.laboratory.potential import PotentialError
    from hepbench.harness.laboratory.potentials import forms, names, potential

    wrong = False
    for one in name or names():
        try:
            chosen = potential(one)
            reason = chosen.why_not()
            hashed = "" if reason else chosen.weights_sha256()[:12]
            called = "" if reason or chosen.id == chosen.name else f", in records {chosen.id}"
        except PotentialError as e:
            typer.echo(f"hepbench potentials: {e}", err=True)
            wrong = True
            continue
        wrong = wrong or (bool(reason) and bool(name))
        typer.echo(f"{'✗' if reason else '✓'} {chosen.name:24} {chosen.description}")
        runs = f"runs here; {chosen.dtype} on {chosen.device()}, weights {hashed}{called}"
        typer.echo(f"    {reason or runs}")
    if not name:
        typer.echo(f"Also by name: {'; '.join(forms())}")
    raise typer.Exit(2 if wrong else 0)
