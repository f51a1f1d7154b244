"""Start structures: a prototype's crystal, filled with a compound's elements.

Cells are primitive, because a relaxation's cost grows with the atoms and its result does not. The start
volume is only a guess from ionic or covalent radii; the energy scan of `relaxation.py` corrects it.

pymatgen is imported inside the functions: it takes a second, and most of hepbench never builds a structure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hepbench.harness.laboratory.family import Compound, Prototype

if TYPE_CHECKING:
    from ase import Atoms

_SYMPREC = 1e-3  # Å; ideal structures carry rounding errors of published coordinates only


class StructureError(ValueError):
    """A start structure that cannot be built; the message names the prototype and the reason."""


def ideal_structure(prototype: Prototype, compound: Compound) -> Any:
    """The prototype's published geometry with the compound's elements, as a primitive pymatgen `Structure`.

    Args:
        prototype: Where the sites are.
        compound: Which element plays which role.

    Raises:
        StructureError: the compound lacks a role, or the AFLOW library has no such prototype.
    """
    structure = _template(prototype.model_dump_json()).copy()
    try:
        elements = {role: compound.elements[role] for role in {str(s.properties["role"]) for s in structure}}
    except KeyError as e:
        raise StructureError(f"{compound.formula} has no element for role {e} of {prototype.name}") from None
    for index, role in enumerate(structure.site_properties["role"]):
        structure.replace(index, elements[role])
    return structure


def start_atoms(prototype: Prototype, compound: Compound) -> Atoms:
    """The start of a relaxation: the ideal structure, scaled so that its shortest bond is a plausible one.

    Returns:
        Periodic `ase.Atoms`, without calculator or constraint.

    Raises:
        StructureError: as `ideal_structure`.
    """
    from ase import Atoms

    geometry = _geometry(prototype.model_dump_json())
    try:
        symbols = [compound.elements[role] for role in geometry.roles]
    except KeyError as e:
        raise StructureError(f"{compound.formula} has no element for role {e} of {prototype.name}") from None
    atoms = Atoms(symbols, cell=geometry.cell, scaled_positions=geometry.fractional, pbc=True)
    atoms.set_cell(atoms.cell[:] * _bond_scale(geometry, compound), scale_atoms=True)
    return atoms


def to_pymatgen(atoms: Atoms) -> Any:
    """The atoms as a pymatgen `Structure`, without calculator, constraint or site properties."""
    from pymatgen.core import Structure

    return Structure(atoms.cell[:], atoms.get_chemical_symbols(), atoms.get_scaled_positions())


def symmetry(atoms: Atoms, symprec: float) -> tuple[int, int]:
    """Space-group number and the number of the crystal class's operations, found by spglib.

    Args:
        atoms: The crystal.
        symprec: Tolerance on positions, Å.

    Raises:
        StructureError: spglib finds no space group, for example because atoms coincide.
    """
    import spglib

    cell = (atoms.cell[:], atoms.get_scaled_positions(), atoms.numbers)
    dataset = spglib.get_symmetry_dataset(cell, symprec=symprec)
    if dataset is None:
        raise StructureError(f"spglib finds no space group in {atoms.get_chemical_formula()}")
    return int(dataset.number), len({r.tobytes() for r in np.asarray(dataset.rotations)})


@lru_cache(maxsize=256)
def _template(dumped: str) -> Any:
    """The prototype's primitive cell, each site with its role. By its JSON, which can be hashed."""
    prototype = Prototype.model_validate_json(dumped)
    structure = _from_aflow(prototype) if prototype.aflow else _from_sites(prototype)
    primitive = structure.get_primitive_structure(tolerance=0.01, use_site_props=True)
    # `get_primitive_structure` may hand back a skewed cell: short vectors keep neighbour lists small.
    return primitive.get_reduced_structure()


@dataclass(frozen=True)
class _Geometry:
    """A template as plain numbers, from which a start is made in a tenth of a millisecond.

    Attributes:
        roles: Of each site.
        cell: Rows are the lattice vectors, Å; 3 × 3.
        fractional: Coordinates of the sites; sites × 3.
        contacts: Two roles → the shortest distance between their sites, Å.
    """

    roles: tuple[str, ...]
    cell: Any
    fractional: Any
    contacts: Mapping[tuple[str, str], float]


@lru_cache(maxsize=256)
def _geometry(dumped: str) -> _Geometry:
    from ase import Atoms
    from ase.neighborlist import neighbor_list

    structure = _template(dumped)
    roles = tuple(str(role) for role in structure.site_properties["role"])
    cell, fractional = structure.lattice.matrix, structure.frac_coords
    atoms = Atoms(["X"] * len(roles), cell=cell, scaled_positions=fractional, pbc=True)
    cutoff = 1.5 * float((atoms.get_volume() / len(atoms)) ** (1 / 3))
    contacts: dict[tuple[str, str], float] = {}
    for first, second, distance in zip(*neighbor_list("ijd", atoms, cutoff), strict=True):
        pair = roles[first], roles[second]
        contacts[pair] = min(float(distance), contacts.get(pair, math.inf))
    return _Geometry(roles, cell, fractional, contacts)


def _from_aflow(prototype: Prototype) -> Any:
    from pymatgen.analysis.prototypes import AFLOW_PROTOTYPE_LIBRARY

    for entry in AFLOW_PROTOTYPE_LIBRARY:
        tags = entry["tags"]
        named = tags["aflow"] == prototype.aflow
        if named and prototype.strukturbericht in (None, tags["strukturbericht"]):
            structure = entry["snl"].structure.copy()
            roles = [prototype.roles[site.specie.symbol] for site in structure]
            structure.add_site_property("role", roles)
            return structure
    raise StructureError(f"pymatgen's AFLOW library has no {prototype.aflow} for {prototype.name}")


def _from_sites(prototype: Prototype) -> Any:
    """Sites given in the file, expanded by the operations of the space group unless they are all listed."""
    from pymatgen.core import Lattice, Structure

    assert prototype.lattice is not None  # noqa: S101 - the model's validator guarantees it
    lattice = Lattice.from_parameters(*prototype.lattice)
    stand_ins = dict(zip(sorted({s.role for s in prototype.sites}), ("H", "He", "Li", "Be"), strict=False))
    species = [stand_ins[s.role] for s in prototype.sites]
    xyz = [s.xyz for s in prototype.sites]
    if prototype.expand:
        structure = Structure.from_spacegroup(prototype.number, lattice, species, xyz)
    else:
        structure = Structure(lattice, species, xyz)
    back = {element: role for role, element in stand_ins.items()}
    structure.add_site_property("role", [back[site.specie.symbol] for site in structure])
    return structure


def _bond_scale(geometry: _Geometry, compound: Compound) -> float:
    """Factor on lengths that brings the tightest cation-anion contact to the sum of the radii."""
    elements = compound.elements
    scales = [
        (_radius_in(compound, one) + _radius_in(compound, other)) / distance
        for (one, other), distance in geometry.contacts.items()
        if elements[one] != elements[other]
    ]
    if not scales:
        raise StructureError(f"{compound.formula}: no bond between unlike atoms in the start structure")
    return max(scales)


def _radius_in(compound: Compound, role: str) -> float:
    element = compound.elements[role]
    charges = {compound.elements[role]: value for role, value in compound.charges.items()}
    return _radius(element, charges.get(element))


@lru_cache(maxsize=1024)
def _radius(element: str, charge: int | None) -> float:
    """Ionic radius (Å) for the formal charge where the compound has one, else the covalent radius."""
    if charge is None:
        from ase.data import atomic_numbers, covalent_radii

        return float(covalent_radii[atomic_numbers[element]])
    from pymatgen.core import Element

    known = Element(element).ionic_radii
    return float(known.get(charge) or Element(element).average_ionic_radius or 0.7)
