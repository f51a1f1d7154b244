"""Crystal structures of the phases, from the reference set that the run was asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hepbench.harness.laboratory.family import Family, FamilyError
from hepbench.harness.laboratory.reference import ReferenceError, ReferenceSet  # noqa: A004 - the field's word
from hepbench.tasks import families

if TYPE_CHECKING:
    from ase import Atoms

BOND = 1.25
"""Atoms closer than this times the sum of their covalent radii are joined."""

_EDGE = 0.02
_MOST_ATOMS = 160
_SYMPREC = 0.05  # Å; wide, as only a picture is made of it


def phase_structures(about: Mapping[str, Any], labels: Sequence[str]) -> list[dict[str, Any]]:
    """One relaxed structure for each phase, where the installed reference set is the run's own.

    Args:
        about: The run's task, potential and hash of the reference set.
        labels: The phases.

    Returns:
        For each phase that the set holds: label, compound, space group, cell (Å), atoms with position (Å),
        radius (Å) and colour, and bonds as pairs of atoms. Empty without the right set.
    """
    known = _known(str(about.get("task", "")), str(about.get("potential", "")))
    if known is None or known[1].sha256 != about.get("reference_sha256"):
        return []
    family, reference = known
    chosen = {label: _representative(family, reference, label) for label in labels}
    return [_shown(reference, label, *found) for label, found in chosen.items() if found]


@lru_cache(maxsize=8)
def _known(task: str, potential: str) -> tuple[Family, ReferenceSet] | None:
    try:
        family = families.load(task.rpartition("/")[2])
        return family, ReferenceSet.load(families.reference_path(family.id, potential))
    except (FamilyError, ReferenceError):
        return None


def _representative(family: Family, reference: ReferenceSet, label: str) -> tuple[str, str] | None:
    """A compound in this phase, and the start that it came from.

    One that kept the prototype's space group, where there is one: a relaxed structure may be recognized as a
    phase and be distorted. Among those the compound whose lowest phase it is, or lies nearest to being it.
    """
    ideal = {p.number for p in family.prototypes if p.label == label}
    found = {
        key: record
        for key, record in reference.relaxations.items()
        if record.phase == label and record.converged
    }

    def worth(key: tuple[str, str]) -> tuple[bool, float, tuple[str, str]]:
        height = reference.truth(key[0]).above_lowest.get(label)
        return found[key].space_group not in ideal, float("inf") if height is None else height, key

    return min(found, key=worth, default=None)


def _shown(reference: ReferenceSet, label: str, compound: str, prototype: str) -> dict[str, Any]:
    atoms = _completed(_conventional(reference.structure(compound, prototype)))
    record = reference.relaxation(compound, prototype)
    return {
        "label": label,
        "compound": compound,
        "space_group": record.space_group if record else None,
        "cell": [[round(float(x), 3) for x in row] for row in atoms.cell[:]],
        "atoms": _drawn(atoms),
        "bonds": _bonds(atoms),
    }


def _conventional(atoms: Atoms) -> Atoms:
    """The conventional cell, in which textbooks show a structure; the cell as it is where that is large."""
    import spglib
    from ase import Atoms

    cell = (atoms.cell[:], atoms.get_scaled_positions(), atoms.numbers)
    found = spglib.standardize_cell(cell, to_primitive=False, no_idealize=False, symprec=_SYMPREC)
    if found is None or len(found[2]) > _MOST_ATOMS // 4:
        return atoms
    return Atoms(numbers=found[2], scaled_positions=found[1], cell=found[0], pbc=True)


def _completed(atoms: Atoms) -> Atoms:
    """The atoms of the cell, those repeated on its faces, edges and corners, and all their neighbours.

    So that each atom of the cell has its whole coordination.
    """
    import numpy as np
    from ase.data import covalent_radii

    atoms.wrap(eps=1e-3)
    shifts = np.array([[i, j, k] for i in (0, -1, 1) for j in (0, -1, 1) for k in (0, -1, 1)])
    fractional = atoms.get_scaled_positions(wrap=False)
    everywhere = (fractional[None] + shifts[:, None]).reshape(-1, 3)
    numbers = np.tile(atoms.numbers, len(shifts))
    inside = np.all((everywhere > -_EDGE) & (everywhere < 1 + _EDGE), axis=1)
    positions = everywhere @ atoms.cell[:]
    own = positions[: len(atoms)]
    apart = np.linalg.norm(own[:, None] - positions[None], axis=-1)
    radii = covalent_radii[numbers]
    joined = (apart < BOND * (radii[: len(atoms), None] + radii[None])) & (
        numbers[: len(atoms), None] != numbers[None]
    )
    wanted = inside | joined.any(axis=0)
    shown = np.flatnonzero(wanted if wanted.sum() <= _MOST_ATOMS else inside)[:_MOST_ATOMS]
    completed = atoms[[int(n) % len(atoms) for n in shown]]
    completed.positions = positions[shown]
    return completed


def _drawn(atoms: Atoms) -> list[dict[str, Any]]:
    from ase.data import covalent_radii
    from ase.data.colors import jmol_colors

    return [
        {
            "element": atom.symbol,
            "at": [round(float(x), 3) for x in atom.position],
            "radius": round(float(covalent_radii[atom.number]), 2),
            "colour": "#" + "".join(f"{int(255 * part):02x}" for part in jmol_colors[atom.number]),
        }
        for atom in atoms
    ]


def _bonds(atoms: Atoms) -> list[list[int]]:
    """Pairs of unlike atoms near enough to touch; like atoms where the crystal has one element alone."""
    import numpy as np
    from ase.data import covalent_radii

    radii = covalent_radii[atoms.numbers]
    apart = np.linalg.norm(atoms.positions[:, None] - atoms.positions[None], axis=-1)
    near = (apart > _EDGE) & (apart < BOND * (radii[:, None] + radii[None]))
    if len(set(atoms.numbers)) > 1:
        near &= atoms.numbers[:, None] != atoms.numbers[None]
    first, second = np.nonzero(np.triu(near))
    return [[int(a), int(b)] for a, b in zip(first, second, strict=True)]
