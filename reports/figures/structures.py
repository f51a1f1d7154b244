"""Crystal structures of the phases, from the reference set that the run was asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hepbench.harness.laboratory.family import FamilyError
from hepbench.harness.laboratory.reference import ReferenceError, ReferenceSet  # noqa: A004 - the field's word
from hepbench.tasks import families

if TYPE_CHECKING:
    from ase import Atoms

BOND = 1.25
"""Atoms closer than this times the sum of their covalent radii are joined."""

_EDGE = 0.02
_MOST_ATOMS = 160


def phase_structures(about: Mapping[str, Any], labels: Sequence[str]) -> list[dict[str, Any]]:
    """One relaxed structure for each phase, where the installed reference set is the run's own.

    Args:
        about: The run's task, potential and hash of the reference set.
        labels: The phases.

    Returns:
        For each phase that the set holds: label, compound, space group, cell (Å), atoms with position (Å),
        radius (Å) and colour, and bonds as pairs of atoms. Empty without the right set.
    """
    reference = _reference(str(about.get("task", "")), str(about.get("potential", "")))
    if reference is None or reference.sha256 != about.get("reference_sha256"):
        return []
    chosen = {label: _representative(reference, label) for label in labels}
    return [_shown(reference, label, *found) for label, found in chosen.items() if found]


@lru_cache(maxsize=8)
def _reference(task: str, potential: str) -> ReferenceSet | None:
    try:
        family = families.load(task.rpartition("/")[2])
        return ReferenceSet.load(families.reference_path(family.id, potential))
    except (FamilyError, ReferenceError):
        return None


def _representative(reference: ReferenceSet, label: str) -> tuple[str, str] | None:
    """A compound whose lowest phase this is, else the one that lies lowest above its own; and the start."""
    found = [
        (key, record)
        for key, record in reference.relaxations.items()
        if record.phase == label and record.converged
    ]
    heights = {key: reference.truth(key[0]).above_lowest.get(label, float("inf")) for key, _ in found}
    return min(heights, key=lambda key: (heights[key], key), default=None)


def _shown(reference: ReferenceSet, label: str, compound: str, prototype: str) -> dict[str, Any]:
    atoms = _with_images(reference.structure(compound, prototype))
    record = reference.relaxation(compound, prototype)
    return {
        "label": label,
        "compound": compound,
        "space_group": record.space_group if record else None,
        "cell": [[round(float(x), 3) for x in row] for row in atoms.cell[:]],
        "atoms": _drawn(atoms),
        "bonds": _bonds(atoms),
    }


def _with_images(atoms: Atoms) -> Atoms:
    """The cell's atoms with those repeated that lie on its faces, edges and corners."""
    import numpy as np

    atoms.wrap(eps=1e-3)
    whole = atoms.copy()
    for axis in range(3):
        fractional = whole.get_scaled_positions(wrap=False)
        on_face = whole[np.flatnonzero(np.abs(fractional[:, axis]) < _EDGE)]
        on_face.positions += whole.cell[axis]
        if len(whole) + len(on_face) <= _MOST_ATOMS:
            whole += on_face
    return whole


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
