"""Known experimental structures: a family's table of them, and the `ase.db` that is made of it.

The table (`tasks/data/<family>/known.toml`) is for people: one entry a refinement, each with its source. The
database (`known.db` beside it) is what the laboratory reads, and what `ase db` and `ase gui` open; it is made
by `hepbench database build`.
"""

from __future__ import annotations

import sqlite3
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hepbench.harness.laboratory.structures import symmetry

if TYPE_CHECKING:
    from ase import Atoms


_SQLITE = b"SQLite format 3\0"


class DatabaseError(ValueError):
    """A database that cannot be used or does not answer; one line."""


class KnownStructure(BaseModel):
    """One entry of the table.

    Attributes:
        compound: Formula.
        name: Of the mineral or phase.
        phase: The prototype of the family that it is; empty for none.
        space_group: Number.
        cell: a, b, c in Å and α, β, γ in degrees.
        sites: Element and fractional coordinates of one atom of each orbit.
        source: The publication.
        note: What else a reader should know: temperature, pressure, setting.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    compound: str
    name: str
    phase: str
    space_group: int = Field(ge=1, le=230)
    cell: tuple[float, float, float, float, float, float]
    sites: tuple[tuple[str, float, float, float], ...]
    source: str
    note: str = ""

    def atoms(self) -> Atoms:
        """The conventional cell."""
        from ase import Atoms
        from pymatgen.core import Lattice, Structure

        elements, places = [s[0] for s in self.sites], [s[1:] for s in self.sites]
        lattice = Lattice.from_parameters(*self.cell)
        structure = Structure.from_spacegroup(self.space_group, lattice, elements, places)
        symbols = [site.specie.symbol for site in structure]
        return Atoms(symbols, cell=structure.lattice.matrix, scaled_positions=structure.frac_coords, pbc=True)


class Entry(BaseModel):
    """A structure as a database gives it to the agent.

    Attributes:
        id: In the database.
        name: Of the mineral or phase, where the database has one.
        phase: The prototype of the family that it is, or None.
        space_group: Number.
        cell: a, b, c in Å and α, β, γ in degrees.
        volume: Å³/atom.
        source: The publication, or where in the database it stands.
        note: What else is known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    name: str = ""
    phase: str | None
    space_group: int | None
    cell: tuple[float, ...]
    volume: float
    source: str
    note: str = ""

    def row(self) -> dict[str, Any]:
        """For an answer; what is empty is left out."""
        row = {
            "id": self.id,
            "name": self.name,
            "phase": self.phase,
            "space_group": self.space_group,
            "cell_A_deg": list(self.cell),
            "volume_A3_per_atom": self.volume,
            "source": self.source,
            "note": self.note,
        }
        return {key: value for key, value in row.items() if value != ""}


def load_known(path: Path) -> tuple[KnownStructure, ...]:
    """The table of a family.

    Raises:
        DatabaseError: the file is missing or damaged.
    """
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("structures", [])
        return tuple(KnownStructure.model_validate(row) for row in rows)
    except OSError as e:
        raise DatabaseError(f"table {path}: {e.strerror or e}") from e
    except tomllib.TOMLDecodeError as e:
        raise DatabaseError(f"table {path} is not TOML: {e}") from e
    except ValidationError as e:
        where = ".".join(str(part) for part in e.errors()[0]["loc"])
        raise DatabaseError(f"table {path}, {where}: {e.errors()[0]['msg']}") from e


def build_known(table: Path, output: Path) -> int:
    """Write the database of a table; an older one is replaced.

    Returns:
        How many structures it has.

    Raises:
        DatabaseError: the table cannot be used.
    """
    from ase.db import connect
    from ase.db.row import AtomsRow

    entries = load_known(table)
    unfinished = output.with_name(f"unfinished-{output.name}")
    unfinished.unlink(missing_ok=True)
    with connect(str(unfinished), use_lock_file=False) as database:
        for entry in entries:
            pairs = {
                "compound": entry.compound,
                "structure": entry.name,
                "phase": entry.phase or "none",
                "space_group": entry.space_group,
            }
            row = AtomsRow(entry.atoms())
            row.ctime, row.user = 0.0, None  # who built it and when is nobody's concern
            database.write(row, key_value_pairs=pairs, data=entry.model_dump(mode="json"))
    unfinished.replace(output)
    return len(entries)


class Database(Protocol):
    """Where known structures are looked up."""

    name: str

    def entries(self, compound: str) -> list[Entry]:
        """What is known of a compound. May block for some seconds.

        Raises:
            DatabaseError: there is no answer; the line says why.
        """
        ...


def require_database(path: Path) -> None:
    """Raise DatabaseError, with one line, unless there is a database of that name."""
    try:
        with path.open("rb") as file:
            begin = file.read(len(_SQLITE))
    except OSError as e:
        raise DatabaseError(f"database {path}: {e.strerror or e}") from e
    if begin != _SQLITE:
        raise DatabaseError(f"{path} is no database: `hepbench database build` makes one")


class LocalDatabase:
    """An `ase.db` of known structures, as `build_known` writes it.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = f"local: {path.name} of {path.parent.name}"

    def entries(self, compound: str) -> list[Entry]:
        """What is known of a compound, in the table's order.

        Raises:
            DatabaseError: the file cannot be read.
        """
        from ase.db import connect

        if not self.path.is_file():
            raise DatabaseError(f"there is no database {self.path}")
        try:
            rows = list(connect(str(self.path), use_lock_file=False).select(compound=compound))
            return [_entry(row) for row in rows]
        except (sqlite3.Error, OSError, KeyError, ValueError) as e:
            raise DatabaseError(f"database {self.path} cannot be read: {e}") from e


def described(
    atoms: Atoms, *, identifier: str, source: str, phase: str | None, space_group: int | None
) -> Entry:
    """An entry whose cell and volume are those of the atoms."""
    return Entry(
        id=identifier,
        phase=phase,
        space_group=space_group,
        cell=tuple(round(float(v), 4) for v in atoms.cell.cellpar()),
        volume=round(float(atoms.get_volume()) / len(atoms), 3),
        source=source,
    )


def found_space_group(atoms: Atoms, symprec: float = 0.01) -> int | None:
    """What spglib finds, or None."""
    if not np.isfinite(atoms.positions).all():
        return None
    try:
        return symmetry(atoms, symprec)[0]
    except ValueError:
        return None


def _entry(row: Any) -> Entry:
    known = KnownStructure.model_validate(dict(row.data))
    atoms = row.toatoms()
    entry = described(
        atoms,
        identifier=str(row.id),
        source=known.source,
        phase=known.phase or None,
        space_group=known.space_group,
    )
    return entry.model_copy(update={"name": known.name, "note": known.note})
