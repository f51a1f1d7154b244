"""The relaxation recipe: energy scan, then cell and positions together, in the start's symmetry.

1. A coarse isotropic scan finds the volume of lowest energy (enthalpy, under pressure), so that the start
   volume does not matter.
2. A quasi-Newton optimizer relaxes cell and positions. ASE's `FixSymmetry` symmetrizes forces, stress and
   steps, so that no symmetry is broken by accident: the result may gain symmetry, never lose it.
3. Where that does not converge, FIRE does it again from the same scanned start.

Measured on seven dioxides with CHGNet: `CellBFGS` took 179 energy evaluations, FIRE 488, and they agree
within 0.4 meV/atom on six. In the seventh, PbO2 as cotunnite, FIRE's inertia carried it out of the basin
that it started in. ASE's `CellAwareBFGS` took 161 and threw anatase into a false minimum.

Units: eV, Å, GPa where the name says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hepbench.harness.laboratory.records import Relaxation

if TYPE_CHECKING:
    from ase import Atoms
    from ase.calculators.calculator import Calculator

GPA = 0.006241509074460763  # eV/Å³ in one GPa; CODATA 2018

RECIPE = 1
"""Raised when the same settings give other results than before."""


class RelaxationError(RuntimeError):
    """A relaxation that gives no structure; the message is one line."""


@dataclass(frozen=True)
class RelaxationMaker:
    """How a candidate is relaxed. The fields are the settings; `relax` does the work.

    Attributes:
        fmax: Largest force on an atom at the end, eV/Å.
        smax: Largest component of stress plus external pressure at the end, GPa.
        max_steps: Energy evaluations allowed to each optimizer.
        optimizer: "CellBFGS" (`optimizer.py`), "BFGS", "LBFGS", "BFGSLineSearch" or "FIRE".
        maxstep: Largest move of an atom in one step, Å.
        symprec: Tolerance of the symmetry that is kept, Å.
        symprec_found: Tolerance of the space group that is reported, Å.
        scan_step: Spacing of the isotropic scan, in relative length.
        scan_reach: How far the scan may go from the start, in relative length.
        volume_bounds: Smallest and largest volume, Å³/atom, that count as a crystal.
    """

    fmax: float = 0.01
    smax: float = 0.1
    max_steps: int = 200
    optimizer: str = "CellBFGS"
    maxstep: float = 0.15
    symprec: float = 0.01
    symprec_found: float = 0.05
    scan_step: float = 0.04
    scan_reach: float = 0.32
    volume_bounds: tuple[float, float] = (3.0, 150.0)

    def settings(self) -> dict[str, float | int | str | bool]:
        """The settings as they stand in a provenance."""
        plain = asdict(self)
        low, high = plain.pop("volume_bounds")
        return plain | {"volume_min": low, "volume_max": high, "recipe": RECIPE}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> RelaxationMaker:
        """The recipe of a provenance, the other way round than `settings`.

        Raises:
            RelaxationError: the settings are those of another version of the recipe.
        """
        plain = dict(settings)
        if plain.pop("recipe", None) != RECIPE:
            raise RelaxationError("settings of another version of the recipe")
        try:
            return cls(volume_bounds=(plain.pop("volume_min"), plain.pop("volume_max")), **plain)
        except (KeyError, TypeError) as e:
            raise RelaxationError(f"unusable relaxation settings: {e}") from None

    def relax(
        self, start: Atoms, calculator: Calculator, *, compound: str, prototype: str, pressure: float = 0.0
    ) -> tuple[Relaxation, Atoms | None]:
        """Relax cell and positions.

        Args:
            start: The start structure; it is not changed.
            calculator: An ASE calculator with energy, forces and stress.
            compound: Formula, for the record.
            prototype: Name of the start, for the record.
            pressure: External hydrostatic pressure, GPa.

        Returns:
            The record, and the relaxed atoms (bare: no calculator, no constraint), or None where the record
            says "failed". `phase` and `is_start` are left for `phases.py`.
        """
        counted = _Counted(calculator)
        blank = Relaxation(compound=compound, prototype=prototype, pressure=pressure)
        try:
            scanned = self._scan(start, counted, pressure)
            atoms, converged = self._optimize(scanned, counted, pressure)
            record = blank.model_copy(update=self._results(atoms, start, pressure))
            return record.model_copy(update={"steps": counted.count, "converged": converged}), _bare(atoms)
        except RelaxationError as e:
            return blank.model_copy(
                update={"status": "failed", "steps": counted.count, "error": str(e)}
            ), None

    def _scan(self, start: Atoms, counted: _Counted, pressure: float) -> Atoms:
        """The start at the isotropic scale of lowest enthalpy, refined by a parabola."""
        enthalpies: dict[int, float] = {}
        limit = round(self.scan_reach / self.scan_step)

        def enthalpy(index: int) -> float:
            if index not in enthalpies:
                enthalpies[index] = counted.enthalpy(self._scaled(start, index), pressure)
            return enthalpies[index]

        best = min((-1, 0, 1), key=enthalpy)
        while enthalpy(best - 1) < enthalpy(best) or enthalpy(best + 1) < enthalpy(best):
            best += -1 if enthalpy(best - 1) < enthalpy(best + 1) else 1
            if abs(best) >= limit:
                raise RelaxationError(f"no minimum within {self.scan_reach:.0%} of the start's lengths")
        left, middle, right = enthalpy(best - 1), enthalpy(best), enthalpy(best + 1)
        return self._scaled(start, best + 0.5 * (left - right) / (left - 2 * middle + right))

    def _scaled(self, start: Atoms, index: float) -> Atoms:
        atoms = start.copy()
        atoms.set_cell(start.cell[:] * (1 + index * self.scan_step), scale_atoms=True)
        return atoms

    def _optimize(self, scanned: Atoms, counted: _Counted, pressure: float) -> tuple[Atoms, bool]:
        """Relax by the chosen optimizer, and again by FIRE where that one does not converge."""
        failure = ""
        for name in dict.fromkeys((self.optimizer, "FIRE")):
            try:
                atoms, converged = self._run(name, scanned.copy(), counted, pressure)
            except RelaxationError as e:
                failure = str(e)
                continue
            if converged:
                break
        else:
            if failure:
                raise RelaxationError(failure)
        return atoms, converged

    def _run(self, name: str, atoms: Atoms, counted: _Counted, pressure: float) -> tuple[Atoms, bool]:
        from ase.constraints import FixSymmetry

        with _quiet():
            atoms.set_constraint(FixSymmetry(atoms, symprec=self.symprec))
        atoms.calc = counted.calculator
        optimizer = self._optimizer(name, atoms, pressure)
        before = counted.count
        try:
            with _quiet():
                for _ in optimizer.irun(fmax=0.0, steps=self.max_steps):  # the criterion is ours
                    counted.count += 1
                    self._check_sane(atoms)
                    if self._is_relaxed(atoms, pressure):
                        return atoms, True
                    if counted.count - before > self.max_steps:
                        break
        except (np.linalg.LinAlgError, RuntimeError, ValueError, ZeroDivisionError) as e:
            # A step so large that the cell, the symmetrization or the neighbour list gave up.
            reason = e if isinstance(e, RelaxationError) else f"{name} broke off: {str(e).splitlines()[0]}"
            raise RelaxationError(str(reason)) from e
        return atoms, False

    def _optimizer(self, name: str, atoms: Atoms, pressure: float) -> Any:
        from ase import optimize

        from hepbench.harness.laboratory.optimizer import CELL_LENGTH, CellBFGS, cell_filter

        if name == "CellBFGS":
            return CellBFGS(cell_filter(atoms, pressure * GPA, CELL_LENGTH), self.maxstep)
        cell = cell_filter(atoms, pressure * GPA, None)
        return getattr(optimize, name)(cell, logfile=None, maxstep=self.maxstep)

    def _is_relaxed(self, atoms: Atoms, pressure: float) -> bool:
        fmax, smax = _residuals(atoms, pressure)
        return fmax <= self.fmax and smax <= self.smax

    def _check_sane(self, atoms: Atoms) -> None:
        volume, energy = atoms.get_volume() / len(atoms), atoms.get_potential_energy()
        low, high = self.volume_bounds
        if not np.isfinite([volume, energy]).all():
            raise RelaxationError("the relaxation exploded: the energy is not a finite number")
        if not low <= volume <= high:
            raise RelaxationError(
                f"the relaxation exploded: {volume:.1f} Å³/atom, allowed {low:g} to {high:g}"
            )

    def _results(self, atoms: Atoms, start: Atoms, pressure: float) -> dict[str, float | int]:
        from hepbench.harness.laboratory.structures import symmetry

        fmax, smax = _residuals(atoms, pressure)
        size = len(atoms)
        energy, volume = float(atoms.get_potential_energy()) / size, float(atoms.get_volume()) / size
        return {
            "energy": energy,
            "enthalpy": energy + pressure * GPA * volume,
            "volume": volume,
            "space_group": symmetry(atoms, self.symprec_found)[0],
            "fmax": fmax,
            "smax": smax,
            "volume_ratio": volume / (float(start.get_volume()) / size),
        }


class _Counted:
    """A calculator with a count of the energies it was asked for."""

    def __init__(self, calculator: Calculator) -> None:
        self.calculator = calculator
        self.count = 0

    def enthalpy(self, atoms: Atoms, pressure: float) -> float:
        """Energy plus pressure times volume of the whole cell, eV."""
        self.count += 1
        atoms.calc = self.calculator
        value = float(atoms.get_potential_energy()) + pressure * GPA * float(atoms.get_volume())
        if not np.isfinite(value):
            raise RelaxationError("the energy of the start structure is not a finite number")
        return value


def _residuals(atoms: Atoms, pressure: float) -> tuple[float, float]:
    """Largest force (eV/Å) and largest component of stress plus pressure (GPa), symmetrized."""
    forces, stress = atoms.get_forces(), atoms.get_stress(voigt=False) / GPA
    return float(np.linalg.norm(forces, axis=1).max()), float(np.abs(stress + pressure * np.eye(3)).max())


def _bare(atoms: Atoms) -> Atoms:
    copy = atoms.copy()
    copy.set_constraint()
    copy.calc = None
    return copy


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of ASE's FixSymmetry about large steps: the sanity check judges those."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
