"""One entry of the cache: what it is found by, and how it stands in a row of `ase.db`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hepbench.harness.laboratory.dynamics import Trajectory
from hepbench.harness.laboratory.potentials import potential
from hepbench.harness.laboratory.records import Relaxation
from hepbench.harness.laboratory.simulations import DynamicsJob, DynamicsOutcome
from hepbench.harness.laboratory.structures import start_atoms
from hepbench.harness.laboratory.workers import Job, Outcome

if TYPE_CHECKING:
    from ase import Atoms

FORMAT = 1
"""Raised when entries of older versions cannot be read any more."""
_DIGITS = 6  # of coordinates in a key, Å: two machines may build one start with other last bits
DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError)  # what decoding damaged bytes raises


@dataclass(frozen=True)
class Keying:
    """The work of telling the key of a job: pymatgen builds the start, and no eval has to load it."""

    work: Job | DynamicsJob

    @property
    def name(self) -> str:
        """That of the job: what goes wrong here would go wrong there."""
        return self.work.name

    @property
    def potential(self) -> str:
        """That of the job."""
        return self.work.potential

    def do(self) -> str:
        """The key; `key_of`."""
        return key_of(self.work)


def key_of(work: Job | DynamicsJob) -> str:
    """The SHA-256 of all that the result depends on; names of compounds and prototypes do not count."""
    start, how = _start(work), dict(work.maker.settings())
    if isinstance(work, Job):
        how |= {"kind": "relaxation", "pressure": work.pressure}
    else:
        how |= {"kind": "simulation"}
    depends = {
        "format": FORMAT,
        "provenance": _provenance(work.potential),
        "how": how,
        "numbers": start.numbers.tolist(),
        "cell": _rounded(start.cell[:]),
        "positions": _rounded(start.positions),
    }
    return f"sha256-{hashlib.sha256(_canonical(depends)).hexdigest()}"


@lru_cache(maxsize=8)
def _provenance(potential_id: str) -> dict[str, Any]:
    """What the energies of a potential depend on here; read once, as the calculator is loaded once."""
    return potential(potential_id).provenance({}).model_dump()


def _start(work: Job | DynamicsJob) -> Atoms:
    return start_atoms(work.prototype, work.compound) if isinstance(work, Job) else work.start


class _DamagedError(ValueError):
    """An entry that is not what was written."""


def write(database: Any, key: str, work: Job | DynamicsJob, outcome: Outcome | DynamicsOutcome) -> None:
    """Write a result as a row with a checksum."""
    from ase.db.row import AtomsRow

    atoms = _start(work) if outcome.atoms is None else outcome.atoms
    data = {
        "record": outcome.record.model_dump(mode="json"),
        "has_structure": outcome.atoms is not None,
        "seconds": outcome.seconds if isinstance(outcome, Outcome) else 0.0,
    }
    row = AtomsRow(atoms)
    row.unique_id = key
    row.ctime = _now()
    row.user = None
    kind = "relaxation" if isinstance(work, Job) else "simulation"
    pairs = {"kind": kind, "potential": work.potential, "of": work.name}
    checksum = _checksum(row.toatoms(), data)
    database.write(row, key_value_pairs=pairs, data={**data, "checksum": checksum})


def row_number(database: Any, key: str) -> int | None:
    """The row of a key. By SQL, because ASE decodes a row that it finds, and a damaged one stops it."""
    with database.managed_connection() as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT id FROM systems WHERE unique_id=?", (key,))
        found = cursor.fetchone()
    return None if found is None else int(found[0])


def outcome_of(work: Job | DynamicsJob, row: Any) -> Outcome | DynamicsOutcome:
    """The result that a row holds.

    Raises:
        DAMAGE: any of these, where the row is not what was written.
    """
    atoms, data = row.toatoms(), dict(row.data)
    if data.pop("checksum") != _checksum(atoms, data):
        raise _DamagedError("checksum")
    if isinstance(work, DynamicsJob):
        return DynamicsOutcome(Trajectory.model_validate(data["record"]), _fresh(atoms))
    found = _fresh(atoms) if data["has_structure"] else None
    return Outcome(Relaxation.model_validate(data["record"]), found, float(data["seconds"]))


def again(work: Job | DynamicsJob, kept: Outcome | DynamicsOutcome) -> Outcome | DynamicsOutcome:
    """What was read once, for this job: its own structure, and the names that this job has for it."""
    if isinstance(kept, DynamicsOutcome) or isinstance(work, DynamicsJob):
        return replace(kept, atoms=None if kept.atoms is None else kept.atoms.copy())
    names = {"compound": work.compound.formula, "prototype": work.prototype.name}
    atoms = None if kept.atoms is None else kept.atoms.copy()
    return replace(kept, record=kept.record.model_copy(update=names), atoms=atoms)


def _fresh(atoms: Atoms) -> Atoms:
    copy = atoms.copy()
    copy.calc = None
    copy.info.clear()
    return copy


def _checksum(atoms: Atoms, data: Mapping[str, Any]) -> str:
    content = {
        "numbers": atoms.numbers.tolist(),
        "cell": atoms.cell[:].tolist(),
        "positions": atoms.positions.tolist(),
        "data": dict(data),
    }
    return hashlib.sha256(_canonical(content)).hexdigest()


def _rounded(lengths: Any) -> Any:
    return (np.round(lengths, _DIGITS) + 0.0).tolist()  # no -0.0


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str).encode()


def _now() -> float:
    from ase.db.core import now

    return float(now())
