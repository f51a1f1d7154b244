"""A small laboratory without a reference set on disk and without a potential."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from hepbench.harness.laboratory.dynamics import Trajectory, supercell
from hepbench.harness.laboratory.family import Family
from hepbench.harness.laboratory.laboratory import Laboratory, LabSettings
from hepbench.harness.laboratory.records import Provenance, Relaxation
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.harness.laboratory.simulations import DynamicsJob, DynamicsOutcome
from hepbench.harness.laboratory.structures import start_atoms
from hepbench.harness.laboratory.workers import Job, LiveRelaxationError, Outcome
from hepbench.tasks import families

Records = Mapping[tuple[str, str], Relaxation]


def relaxed(prototype: str, energy: float, **changes: Any) -> Relaxation:
    """A sound relaxation of TiO2 that kept its prototype, unless `changes` say otherwise."""
    pressure = float(changes.get("pressure", 0.0))
    values = {
        "compound": "TiO2",
        "prototype": prototype,
        "energy": energy,
        "enthalpy": energy + 0.006241509 * pressure * 10.4,
        "volume": 10.4,
        "space_group": 136,
        "phase": prototype,
        "is_start": True,
        "steps": 20,
        "fmax": 0.008,
        "smax": 0.05,
        "volume_ratio": 1.0,
        "converged": True,
    }
    return Relaxation.model_validate(values | changes)


@dataclass
class FakeReference:
    """Relaxations in memory, under a potential that needs no package."""

    records: Records
    provenance: Provenance = field(
        default_factory=lambda: Provenance(
            potential="ase:ase.calculators.lj:LennardJones",
            weights_sha256=families_weights(),
            settings=RelaxationMaker().settings(),
            versions={},
            dtype="float64",
            device="cpu",
        )
    )

    def relaxation(self, compound: str, prototype: str) -> Relaxation | None:
        return self.records.get((compound, prototype))


def families_weights() -> str:
    """The hash under which a potential without weights is known."""
    from hepbench.harness.laboratory.potentials import potential

    return potential("ase:ase.calculators.lj:LennardJones").weights_sha256()


@dataclass
class FakeWorker:
    """Does jobs at once, without a potential. `ends` says how: "ok", "exploded", "slow"."""

    ends: dict[str, str] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)

    async def __call__(self, job: Any) -> Any:
        if isinstance(job, DynamicsJob):
            return self._simulated(job)
        if not isinstance(job, Job):
            return job.do()  # telling phases apart needs no potential
        self.jobs.append(job)
        name = job.prototype.name
        end = self.ends.get(name, "ok")
        if end == "slow":
            raise LiveRelaxationError(f"{job.name}: stopped after 120 s")
        if end == "exploded":
            failed = Relaxation(
                compound=job.compound.formula,
                prototype=name,
                pressure=job.pressure,
                status="failed",
                error="the relaxation exploded",
            )
            return Outcome(failed, None, 0.1)
        record = relaxed(
            name,
            -8.0 - 0.01 * len(self.jobs),
            compound=job.compound.formula,
            pressure=job.pressure,
            space_group=job.prototype.number,
            phase=None,
            is_start=False,
        )
        return Outcome(record, start_atoms(job.prototype, job.compound), 0.1)

    def _simulated(self, job: DynamicsJob) -> DynamicsOutcome:
        if self.ends.get("MD of") == "slow":
            raise LiveRelaxationError(f"{job.name}: stopped after 120 s")
        record = Trajectory(
            atoms=24,
            steps=job.maker.steps,
            temperature_mean=job.maker.temperature,
            temperature_sd=100.0,
            potential_mean=-7.9,
            start_energy=-8.0,
            quenched_energy=-8.0,
            quench_fmax=0.02,
            drift=0.5,
            displacement={"Ti": 0.05, "O": 0.06},
            space_group=136,
        )
        return DynamicsOutcome(record, supercell(job.start))


@pytest.fixture
def family() -> Family:
    return families.load("ao2")


@pytest.fixture
def tio2() -> dict[tuple[str, str], Relaxation]:
    """TiO2: anatase lowest, rutile 12.3 meV/atom above it, a changed start, a lost one, a failed one."""
    records = [
        relaxed("rutile", -8.9877),
        relaxed("anatase", -9.0, volume=11.6, space_group=141),
        relaxed("brookite", -8.995, volume=10.9, space_group=61),
        relaxed("CaCl2-type", -8.9876, phase="rutile", is_start=False),
        relaxed("fluorite", -8.7, phase=None, is_start=False),
        Relaxation(compound="TiO2", prototype="cotunnite", status="failed", error="it exploded"),
        relaxed("baddeleyite", -8.8, converged=False, fmax=0.3),
    ]
    return {("TiO2", r.prototype): r for r in records}


@pytest.fixture
def worker() -> FakeWorker:
    return FakeWorker()


@pytest.fixture
def make_lab(family: Family, tio2: Records, worker: FakeWorker) -> Callable[..., Laboratory]:
    """Builds laboratories; keyword arguments are settings."""

    def make(**settings: Any) -> Laboratory:
        database = families.known_database(family)
        return Laboratory(family, FakeReference(tio2), LabSettings(**settings), worker, database)

    return make
