"""Which phase a relaxed structure *is*, whatever it started as.

The decision, for all relaxed candidates of one compound together:

1. **Against the list.** A candidate is a listed prototype when it has its space group (spglib, tolerance
   `symprec_found` of the recipe) and is close to the ideal structure: pymatgen's `StructureMatcher` finds a
   root-mean-square displacement of at most `CLOSE`; or the matcher's usual tolerances hold and each cation
   has as many anion neighbours as in the ideal structure; or the candidate started as this prototype and
   has kept the neighbours. Each part is needed. The matcher alone takes CaCl2-type for rutile, whose
   distortion it is, and, at its limit, a monoclinic rutile for baddeleyite, which has seven neighbours. It
   does not know CdI2-type again when the gap between its layers has opened, nor a denser quartz. The space
   group alone is not enough either: cotunnite starts end as other things in its group.
2. **Against each other.** Kept symmetry lets a start reach a structure of higher symmetry, but how near it
   comes, and so its space group, depends on where the optimizer stopped. When two candidates differ by at
   most `SAME_ENERGY` and match within tight tolerances, they are one structure, and it is called what the
   candidate of higher symmetry is called.
3. What matches nothing is outside the list: its phase is None, it is shown, and it does not compete.

Families whose label is an *order* of sites (double perovskites) set `order_roles`: the matcher then compares
the sublattice of these roles alone, in any space group, because tilts do not change an order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hepbench.harness.laboratory.family import Compound, Family, Prototype
from hepbench.harness.laboratory.records import Relaxation
from hepbench.harness.laboratory.structures import ideal_structure, symmetry, to_pymatgen

if TYPE_CHECKING:
    from ase import Atoms

SAME_ENERGY = 0.002
"""eV/atom within which two relaxed structures may be one."""
TIGHT = {"ltol": 0.05, "stol": 0.1, "angle_tol": 3.0}
"""Tolerances for "one structure": relative length, displacement over (V/N)^(1/3), degrees."""
CLOSE = 0.1
"""Root-mean-square displacement over (V/N)^(1/3) below which the neighbours need not be counted."""
_FAR = 1.0  # ranks a structure that only its start and its neighbours tell after all that match
USUAL = {"ltol": 0.2, "stol": 0.3, "angle_tol": 5.0}
"""pymatgen's own tolerances, for a relaxed structure against a published ideal one."""


@dataclass(frozen=True)
class Candidate:
    """A relaxed candidate whose phase is wanted.

    Attributes:
        prototype: What it started as.
        record: Its relaxation.
        atoms: Its relaxed structure.
    """

    prototype: Prototype
    record: Relaxation
    atoms: Atoms


def identify(family: Family, compound: Compound, candidates: Sequence[Candidate]) -> dict[str, Relaxation]:
    """The records of one compound's candidates with `phase` and `is_start` filled in.

    Args:
        family: Whose list of prototypes counts.
        compound: What the candidates consist of.
        candidates: Relaxed at one pressure, each with a structure.

    Returns:
        Prototype name → record.
    """
    phases = {c.prototype.name: match_list(family, compound, c) for c in candidates}
    if not family.order_roles:
        phases = _merge(candidates, phases)
    return {c.prototype.name: _named(c, phases[c.prototype.name]) for c in candidates}


def match_list(family: Family, compound: Compound, candidate: Candidate) -> str | None:
    """The label of the listed prototype that the structure is, or None: step 1 of the module's decision."""
    if family.order_roles:
        return _match_order(family, compound, candidate.atoms)
    structure = to_pymatgen(candidate.atoms)
    fitting: dict[str, float] = {}
    for prototype in family.prototypes:
        if prototype.number == candidate.record.space_group:
            ideal = ideal_structure(prototype, compound)
            distance = _distance(ideal, structure)
            kept = _neighbours(structure, family, compound) == _neighbours(ideal, family, compound)
            started = prototype.name == candidate.prototype.name
            if (distance is not None and distance <= CLOSE) or (kept and (started or distance is not None)):
                fitting.setdefault(prototype.label, _FAR if distance is None else distance)
    return min(fitting, key=fitting.__getitem__) if fitting else None


def coordination(structure: Any, anions: Collection[str]) -> list[int]:
    """Anions around each cation, sorted: those before the widest relative gap between distances.

    Args:
        structure: A pymatgen `Structure`.
        anions: Symbols of the anions.

    Returns:
        One number for each cation of the cell, 3 to 15.
    """
    return sorted(_count(site, structure, anions) for site in structure if site.specie.symbol not in anions)


def same_structure(one: Atoms, other: Atoms) -> bool:
    """Whether two relaxed structures are one within the tight tolerances, volumes compared as they are."""
    return bool(_matcher(scale=False, **TIGHT).fit(to_pymatgen(one), to_pymatgen(other)))


def _neighbours(structure: Any, family: Family, compound: Compound) -> set[int]:
    anions = {compound.elements[role] for role in family.anion_roles}
    return set(coordination(structure, anions))


def _count(site: Any, structure: Any, anions: Collection[str]) -> int:
    reach = 3.0 * (structure.volume / len(structure)) ** (1 / 3)
    around = structure.get_neighbors(site, reach)
    distances = sorted(float(n.nn_distance) for n in around if n.specie.symbol in anions)[:16]
    if len(distances) <= 3:  # noqa: PLR2004 - the least that counts as a coordination
        return len(distances)
    gaps = [outer / inner for inner, outer in pairwise(distances)]
    return 3 + max(range(len(gaps) - 2), key=lambda i: gaps[i + 2])


def _merge(candidates: Sequence[Candidate], phases: Mapping[str, str | None]) -> dict[str, str | None]:
    """Step 2: give each candidate the phase of the most symmetric one that it is the same structure as."""
    merged = dict(phases)
    ranked = sorted(candidates, key=_symmetry_rank, reverse=True)
    for index, low in enumerate(ranked):
        for high in ranked[:index]:
            if _symmetry_rank(high) > _symmetry_rank(low) and _are_one(low, high):
                merged[low.prototype.name] = merged[high.prototype.name]
                break
    return merged


def _are_one(low: Candidate, high: Candidate) -> bool:
    if low.record.enthalpy is None or high.record.enthalpy is None:
        return False
    close = abs(low.record.enthalpy - high.record.enthalpy) <= SAME_ENERGY
    return close and same_structure(low.atoms, high.atoms)


def _symmetry_rank(candidate: Candidate) -> tuple[int, int]:
    """Operations of the crystal class, then fewer atoms in the (primitive) cell."""
    precision = 0.05  # as `RelaxationMaker.symprec_found`
    return symmetry(candidate.atoms, precision)[1], -len(candidate.atoms)


def _named(candidate: Candidate, phase: str | None) -> Relaxation:
    return candidate.record.model_copy(
        update={"phase": phase, "is_start": phase is not None and phase == candidate.prototype.label}
    )


def _match_order(family: Family, compound: Compound, atoms: Atoms) -> str | None:
    elements = [compound.elements[role] for role in family.order_roles]
    sublattice = to_pymatgen(atoms)
    sublattice.remove_species([e for e in set(atoms.get_chemical_symbols()) if e not in elements])
    fitting: dict[str, float] = {}
    for prototype in family.prototypes:
        ideal = ideal_structure(prototype, compound)
        ideal.remove_species([e for e in {s.specie.symbol for s in ideal} if e not in elements])
        distance = _distance(ideal, sublattice)
        if distance is not None:
            fitting.setdefault(prototype.label, distance)
    return min(fitting, key=fitting.__getitem__) if fitting else None


def _distance(ideal: Any, structure: Any) -> float | None:
    """Root-mean-square displacement over (V/N)^(1/3), or None where the structures do not match."""
    found = _matcher(scale=True, **USUAL).get_rms_dist(ideal, structure)
    return None if found is None else float(found[0])


@lru_cache(maxsize=4)
def _matcher(*, scale: bool, ltol: float, stol: float, angle_tol: float) -> Any:
    from pymatgen.analysis.structure_matcher import StructureMatcher

    return StructureMatcher(
        ltol=ltol, stol=stol, angle_tol=angle_tol, scale=scale, primitive_cell=True, attempt_supercell=False
    )
