"""Molecular dynamics of a phase: does it survive at a temperature?

1. The relaxed cell is repeated to at least `MIN_ATOMS` atoms; its shape and volume stay fixed.
2. NVT by ASE's Langevin integrator. The velocities start at twice the temperature: a harmonic crystal gives
   half of its kinetic energy to the potential, and so starts at the right one.
3. A short stretch without thermostat (velocity Verlet, NVE), whose total energy must not drift: a thermostat
   hides a time step that is too long or forces that are not the energy's derivative, NVE shows both.
4. The end of the NVT part is quenched: positions relaxed in the fixed cell. What the quenched structure is
   says whether the phase survived.

A picosecond in a small, fixed cell shows that a phase is unstable; it does not show that one is stable.
Units: K, fs, eV, Å.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from ase import Atoms
    from ase.calculators.calculator import Calculator

MIN_ATOMS = 24
"""A cell is repeated, its shortest width first, until it has as many atoms."""
MAX_ATOMS = 96
"""Larger cells are not run: they would not finish within the time limit of a live result."""

_EQUILIBRATION = 0.2  # of the NVT part, left out of every mean


class DynamicsError(RuntimeError):
    """Dynamics without a result: the cell is too large, or the atoms flew apart. One line."""


class Trajectory(BaseModel):
    """What remains of one MD run. Energies are per atom.

    Attributes:
        atoms: In the simulated cell.
        steps: Of the NVT part.
        temperature_mean: K, after equilibration.
        temperature_sd: K; in a cell of N atoms about T × sqrt(2 / 3N) is the ensemble's own.
        potential_mean: Mean potential energy, eV, after equilibration.
        start_energy: Of the relaxed start, eV.
        quenched_energy: Of the quenched end, eV.
        quench_fmax: Largest force after the quench, eV/Å.
        drift: Slope of the total energy without thermostat, meV/ps.
        displacement: Element → mean-square displacement from the start's sites, Å², mean of the second half
            of the NVT part, the centre of mass held.
        space_group: Of the quenched end.
        phase: The phase that the quenched end is; None for none of the list, or not identified yet.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    atoms: int
    steps: int
    temperature_mean: float
    temperature_sd: float
    potential_mean: float
    start_energy: float
    quenched_energy: float
    quench_fmax: float
    drift: float
    displacement: dict[str, float] = Field(default_factory=dict)
    space_group: int | None = None
    phase: str | None = None


@dataclass(frozen=True)
class DynamicsMaker:
    """How molecular dynamics is run. The fields are the settings; `run` does the work.

    Attributes:
        temperature: Of the thermostat, K.
        steps: Of the NVT part.
        seed: Of velocities and thermostat: the same seed gives the same trajectory on the same machine.
        timestep: fs. Two are safe without hydrogen.
        friction: Of the Langevin thermostat, 1/fs.
        nve_steps: Length of the stretch in which the drift is measured.
        quench_fmax: Largest force at which the quench ends, eV/Å.
        quench_steps: Most steps of the quench.
        hottest: Instantaneous temperature, in units of the thermostat's, beyond which the run is given up.
        symprec_found: Tolerance of the space group that is found in the quenched end, Å.
    """

    temperature: float
    steps: int
    seed: int = 0
    timestep: float = 2.0
    friction: float = 0.02
    nve_steps: int = 60
    quench_fmax: float = 0.03
    quench_steps: int = 150
    hottest: float = 20.0
    symprec_found: float = 0.1

    def settings(self) -> dict[str, float | int]:
        """The settings, for a key or a record."""
        return asdict(self)

    def run(self, start: Atoms, calculator: Calculator) -> tuple[Trajectory, Atoms]:
        """Run the dynamics.

        Args:
            start: A relaxed crystal; it is not changed.
            calculator: An ASE calculator with energy and forces.

        Returns:
            The record, whose phase is not identified yet, and the quenched end.

        Raises:
            DynamicsError: the cell is too large, or the atoms flew apart.
        """
        try:
            return self._run(supercell(start), calculator)
        except (np.linalg.LinAlgError, RuntimeError, ValueError, ZeroDivisionError) as e:
            # Atoms so far apart, or so near, that the potential gave up.
            gave_up = f"the dynamics broke off: {str(e).splitlines()[0] if str(e) else type(e).__name__}"
            raise e if isinstance(e, DynamicsError) else DynamicsError(gave_up) from e

    def _run(self, atoms: Atoms, calculator: Calculator) -> tuple[Trajectory, Atoms]:
        atoms.calc = calculator
        sites = atoms.positions.copy()
        start_energy = _energy(atoms)
        rng = np.random.default_rng(self.seed)
        samples = self._nvt(atoms, rng)
        end = atoms.copy()
        drift = self._drift(atoms)
        end.calc = calculator
        quench_fmax = self._quench(end)
        record = Trajectory(
            atoms=len(atoms),
            steps=self.steps,
            start_energy=start_energy,
            quenched_energy=_energy(end),
            quench_fmax=quench_fmax,
            drift=drift,
            displacement=_displacement(atoms, samples.positions, sites),
            space_group=_space_group(end, self.symprec_found),
            **samples.means(),
        )
        return record, _bare(end)

    def _nvt(self, atoms: Atoms, rng: np.random.Generator) -> _Samples:
        from ase import units
        from ase.constraints import FixCom
        from ase.md.langevin import Langevin
        from ase.md.velocitydistribution import thermalize_momenta

        atoms.set_constraint(FixCom())
        thermalize_momenta(atoms, 2 * self.temperature, rng=rng)
        dynamics = Langevin(
            atoms,
            self.timestep * units.fs,
            temperature_K=self.temperature,
            friction=self.friction / units.fs,
            fixcm=False,  # ASE's own way samples a small cell wrongly; the constraint does it right
            rng=rng,
        )
        samples = _Samples([], [], [])
        for _ in dynamics.irun(self.steps):
            samples.temperatures.append(_temperature(atoms))
            samples.energies.append(_energy(atoms))
            samples.positions.append(atoms.positions.copy())
            self._check_sane(samples)
        return samples

    def _check_sane(self, samples: _Samples) -> None:
        temperature, energy = samples.temperatures[-1], samples.energies[-1]
        if not np.isfinite([temperature, energy]).all() or temperature > self.hottest * self.temperature:
            raise DynamicsError(
                f"the atoms flew apart after {len(samples.energies) - 1} steps at {self.temperature:g} K"
            )

    def _drift(self, atoms: Atoms) -> float:
        """Slope of the total energy in NVE, meV/atom/ps, by least squares."""
        from ase import units
        from ase.md.verlet import VelocityVerlet

        dynamics = VelocityVerlet(atoms, self.timestep * units.fs)
        totals = [
            _energy(atoms) + float(atoms.get_kinetic_energy()) / len(atoms)
            for _ in dynamics.irun(self.nve_steps)
        ]
        if not np.isfinite(totals).all():
            raise DynamicsError("the atoms flew apart without thermostat")
        picoseconds = np.arange(len(totals)) * self.timestep / 1000
        return 1000 * float(np.polyfit(picoseconds, totals, 1)[0])

    def _quench(self, atoms: Atoms) -> float:
        """Relax the positions in the fixed cell; the largest force left, eV/Å."""
        from ase.optimize import FIRE

        FIRE(atoms, logfile=None).run(fmax=self.quench_fmax, steps=self.quench_steps)
        return float(np.linalg.norm(atoms.get_forces(), axis=1).max())


def supercell(start: Atoms) -> Atoms:
    """The cell, repeated along its shortest width until it has `MIN_ATOMS` atoms.

    Raises:
        DynamicsError: it would have more than `MAX_ATOMS`.
    """
    repeats = np.array([1, 1, 1])
    volume, cell = start.get_volume(), start.cell[:]
    areas = [np.linalg.norm(np.cross(cell[i - 2], cell[i - 1])) for i in range(3)]
    widths = volume / np.array(areas)
    while len(start) * repeats.prod() < MIN_ATOMS:
        repeats[int(np.argmin(np.round(widths * repeats, 3)))] += 1
    if len(start) * repeats.prod() > MAX_ATOMS:
        raise DynamicsError(f"the cell has {len(start)} atoms; dynamics take at most {MAX_ATOMS}")
    return _bare(start).repeat(tuple(int(n) for n in repeats))


@dataclass
class _Samples:
    """One entry a step of the NVT part, the start included."""

    temperatures: list[float]
    energies: list[float]
    positions: list[Any]

    def means(self) -> Mapping[str, float]:
        begin = int(_EQUILIBRATION * len(self.energies))
        temperatures, energies = self.temperatures[begin:], self.energies[begin:]
        return {
            "temperature_mean": float(np.mean(temperatures)),
            "temperature_sd": float(np.std(temperatures)),
            "potential_mean": float(np.mean(energies)),
        }


def _energy(atoms: Atoms) -> float:
    return float(atoms.get_potential_energy()) / len(atoms)


def _temperature(atoms: Atoms) -> float:
    return float(atoms.get_temperature())


def _displacement(atoms: Atoms, positions: list[Any], sites: Any) -> dict[str, float]:
    """Mean-square displacement by element, the centre of mass held; positions are never wrapped."""
    half = np.array(positions[len(positions) // 2 :]) - sites
    masses = atoms.get_masses()
    half -= (np.einsum("tax,a->tx", half, masses) / masses.sum())[:, None, :]
    squares = (half**2).sum(axis=2).mean(axis=0)
    symbols = np.array(atoms.get_chemical_symbols())
    return {element: float(squares[symbols == element].mean()) for element in dict.fromkeys(symbols.tolist())}


def _space_group(atoms: Atoms, symprec: float) -> int | None:
    from hepbench.harness.laboratory.structures import StructureError, symmetry

    try:
        return symmetry(atoms, symprec)[0]
    except StructureError:
        return None


def _bare(atoms: Atoms) -> Atoms:
    copy = atoms.copy()
    copy.set_constraint()
    copy.set_momenta(None)
    copy.calc = None
    return copy
