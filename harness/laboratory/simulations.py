"""Molecular dynamics of one run: the work that goes to a worker, its answer, and the checks on it.

A trajectory starts from the relaxed structure, which must still be the prototype that it is named for.
Whether the phase survived is the answer, not a check: a phase that falls apart is a sound result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hepbench.harness.laboratory.dynamics import DynamicsMaker, Trajectory
from hepbench.harness.laboratory.family import Compound, Family, Prototype
from hepbench.harness.laboratory.potentials import load_calculator
from hepbench.harness.laboratory.results import Checks

if TYPE_CHECKING:
    from ase import Atoms

MD_COST = 10
"""Structures of the budget that one simulation costs: about as many energies as ten relaxations need."""
DEFAULT_STEPS = 300
STEPS = (100, 1000)
"""Fewest and most steps of 2 fs."""
TEMPERATURES = (50.0, 3000.0)
"""Lowest and highest temperature, K."""
LARGEST_SEED = 999

MAX_DRIFT = 20.0
"""Total energy without thermostat, meV/atom/ps: sound runs stay below 10, a time step too long gives 100s."""
TEMPERATURE_ERROR = 0.2
"""Relative error of the mean temperature; 24 atoms over half a picosecond make 0.05 by chance alone."""
QUENCHED = 0.1
"""Largest force after the quench, eV/Å."""


@dataclass(frozen=True)
class DynamicsJob:
    """One simulation for a worker.

    Attributes:
        potential: Its id.
        maker: Temperature, steps, seed and the other settings.
        start: The relaxed structure.
        of: "TiO2 as rutile", for messages.
    """

    potential: str
    maker: DynamicsMaker
    start: Atoms
    of: str

    @property
    def name(self) -> str:
        """For messages: "MD of TiO2 as rutile"."""
        return f"MD of {self.of}"

    def do(self) -> DynamicsOutcome:
        """Run the simulation in this process.

        Raises:
            PotentialError: the potential cannot be loaded here.
            DynamicsError: there is no result.
        """
        return DynamicsOutcome(*self.maker.run(self.start, load_calculator(self.potential)))


@dataclass(frozen=True)
class DynamicsOutcome:
    """What a simulation gives: the record, whose phase is not identified yet, and the quenched end."""

    record: Trajectory
    atoms: Atoms


@dataclass(frozen=True)
class Simulated:
    """A simulation and what it was of."""

    compound: Compound
    prototype: Prototype
    maker: DynamicsMaker
    record: Trajectory

    @property
    def survived(self) -> bool:
        """The quenched end is the phase that the simulation started in."""
        return self.record.phase == self.prototype.label


@dataclass(frozen=True)
class EndIdentification:
    """The work of telling which phase the quenched end of a simulation is.

    Attributes:
        family: Whose list of prototypes counts.
        compound: What was simulated.
        prototype: What it started as.
        start: The relaxed structure that it started from.
        outcome: What the simulation gave.
    """

    family: Family
    compound: Compound
    prototype: Prototype
    start: Atoms
    outcome: DynamicsOutcome
    potential: str = ""

    @property
    def name(self) -> str:
        """For messages."""
        return f"MD of {self.compound.formula} as {self.prototype.name}, phase at its end"

    def do(self) -> Trajectory:
        """The record with the phase.

        It is the start's where the two structures match within tight tolerances; otherwise whatever the list
        of the family says of it (`phases.py`).
        """
        from hepbench.harness.laboratory.phases import Candidate, match_list, same_structure
        from hepbench.harness.laboratory.records import Relaxation

        record, end = self.outcome.record, self.outcome.atoms
        if same_structure(self.start, end):
            return record.model_copy(update={"phase": self.prototype.label})
        relaxed = Relaxation(
            compound=self.compound.formula, prototype=self.prototype.name, space_group=record.space_group
        )
        phase = match_list(self.family, self.compound, Candidate(self.prototype, relaxed, end))
        return record.model_copy(update={"phase": phase})


def simulation_checks(simulated: Simulated) -> Checks:
    """Gate 4 for a simulation."""
    r, wanted = simulated.record, simulated.maker.temperature
    energies = (r.potential_mean, r.start_energy, r.quenched_energy)
    return {
        "finite_energy": bool(np.isfinite(energies).all()),
        "temperature": abs(r.temperature_mean - wanted) <= TEMPERATURE_ERROR * wanted,
        "energy_drift": abs(r.drift) <= MAX_DRIFT,
        "quenched": r.quench_fmax <= QUENCHED,
    }


def simulation_key(simulated: Simulated) -> tuple[str, str]:
    """What was measured, and how; another seed is another measurement."""
    m = simulated.maker
    how = f"{simulated.prototype.name}, MD at {m.temperature:g} K, {m.steps} steps, seed {m.seed}"
    return simulated.compound.formula, how


def simulation_answer(simulated: Simulated, checks: Checks) -> dict[str, Any]:
    """What `run_md` answers, without the result's id, the provenance and the budget."""
    r, m = simulated.record, simulated.maker
    return {
        "compound": simulated.compound.formula,
        "prototype": simulated.prototype.name,
        "temperature_K": m.temperature,
        "steps": m.steps,
        "seed": m.seed,
        "ensemble": f"NVT, Langevin, {m.timestep:g} fs a step, {r.atoms} atoms",
        "survived": simulated.survived,
        "phase_at_end": r.phase,
        "mean_square_displacement_A2": {e: round(v, 4) for e, v in r.displacement.items()},
        "temperature_mean_K": round(r.temperature_mean, 1),
        "temperature_sd_K": round(r.temperature_sd, 1),
        "potential_energy_mean_eV_per_atom": round(r.potential_mean, 4),
        "quenched_above_start_meV_per_atom": round(1000 * (r.quenched_energy - r.start_energy), 1) + 0.0,
        "energy_drift_meV_per_atom_per_ps": round(r.drift, 2) + 0.0,
        "trusted": all(checks.values()),
        "checks": checks,
    }
