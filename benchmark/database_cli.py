"""`hepbench database`: the local databases of known structures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="The local databases of known structures.")

FamilyId = Annotated[str, typer.Argument(help="ao2, or a folder with a known.toml", metavar="FAMILY")]


@app.command()
def build(
    family: FamilyId,
    output: Annotated[Path | None, typer.Option(help="File to write; default: known.db beside it.")] = None,
) -> None:
    """Make the database (ase.db) of a family's table known.toml."""
    from hepbench.harness.laboratory.family import FamilyError
    from hepbench.harness.laboratory.known import DatabaseError, build_known
    from hepbench.tasks import families

    try:
        folder = families.folder(family)
        path = output or folder / "known.db"
        count = build_known(_table(folder), path)
    except (DatabaseError, FamilyError) as e:
        typer.echo(f"hepbench database: {e}", err=True)
        raise typer.Exit(2) from e
    typer.echo(f"wrote {count} structures to {path}")


@app.command()
def show(family: FamilyId) -> None:
    """List the structures of a family's table, each with its source."""
    from hepbench.harness.laboratory.family import FamilyError
    from hepbench.harness.laboratory.known import DatabaseError, load_known
    from hepbench.tasks import families

    try:
        known = load_known(_table(families.folder(family)))
    except (DatabaseError, FamilyError) as e:
        typer.echo(f"hepbench database: {e}", err=True)
        raise typer.Exit(2) from e
    for s in known:
        typer.echo(f"{s.compound:8}{s.name:22}{s.phase or 'none listed':20}{s.space_group:4}  {s.source}")


def _table(folder: Path) -> Path:
    from hepbench.harness.laboratory.known import DatabaseError

    table = folder / "known.toml"
    if not table.is_file():
        raise DatabaseError(
            f"{folder.name} has no table of known structures ({table.name} beside its family.toml)"
        )
    return table
