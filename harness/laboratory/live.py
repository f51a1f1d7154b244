"""Live relaxations of one run: in worker processes, remembered, and identified as phases.

What a worker returns is a structure without a name. Which phase it is can depend on the other candidates of
its compound (`phases.py`), so all that were relaxed at one pressure are identified together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Protocol

import anyio

from hepbench.harness.laboratory.dynamics import DynamicsMaker
from hepbench.harness.laboratory.family import Compound, Family, Prototype
from hepbench.harness.laboratory.phases import Candidate, identify
from hepbench.harness.laboratory.potentials import PotentialError, potential
from hepbench.harness.laboratory.records import Provenance, Relaxation
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.harness.laboratory.simulations import DynamicsJob, Simulated, identified
from hepbench.harness.laboratory.workers import (
    Job,
    LiveRelaxationError,
    Outcome,
    T,
    Work,
    WorkerPool,
    run_live,
)

if TYPE_CHECKING:
    from ase import Atoms

WORKERS = 2
"""Worker processes that all samples of an eval share; each takes up to 1 GB."""


class RunJob(Protocol):
    """Does a relaxation or a simulation elsewhere. Cancelling the call stops it."""

    async def __call__(self, job: Work[T]) -> T:
        """The outcome.

        Raises:
            LiveRelaxationError: no result; the line says why.
        """
        ...


class LiveRelaxations:
    """The live relaxations of one run.

    Args:
        family: Whose phases are told apart.
        provenance: Potential and recipe; live relaxations are to compare with those of the reference set.
        run: Does a job.
        potential: What the set's potential is called here, where that is not its id: a file of weights.
    """

    def __init__(
        self, family: Family, provenance: Provenance, run: RunJob, potential: str | None = None
    ) -> None:
        self._potential = potential or provenance.potential
        self._family = family
        self._provenance = provenance
        self._run = run
        self._notebook: dict[tuple[str, float], _Page] = {}

    def recipe(self) -> RelaxationMaker:
        """The recipe of the reference set, if it and its potential can be had here.

        Raises:
            PotentialError: the potential cannot be loaded here (the line says what helps), or its weights are
                others than those of the reference set.
            RelaxationError: the recipe is that of another version.
        """
        chosen = potential(self._potential)
        chosen.check()
        if chosen.weights_sha256() != self._provenance.weights_sha256:
            raise PotentialError(f"the weights of {chosen.name} here are not those of the reference set")
        return RelaxationMaker.from_settings(self._provenance.settings)

    async def relax(
        self, compound: Compound, prototypes: Sequence[Prototype], pressure: float
    ) -> tuple[dict[str, Relaxation], dict[str, Relaxation]]:
        """Relax what this run has not relaxed yet.

        Args:
            compound: What is relaxed.
            prototypes: What it starts as.
            pressure: External, GPa.

        Returns:
            Prototype name → record, of those that have a result (which may be that the relaxation failed) and
            of those that have none: too slow, or a dead worker. The latter are not remembered; asked again,
            they are tried again.

        Raises:
            PotentialError: as `recipe`.
            RelaxationError: as `recipe`.
        """
        page = self._notebook.setdefault((compound.formula, pressure), _Page())
        wanted = [p for p in prototypes if p.name not in page.records]
        maker = self.recipe()
        jobs = [Job(self._potential, maker, compound, p, pressure) for p in wanted]
        lost = await self._run_all(jobs, page)
        await page.identify(self._family, compound)
        return {p.name: page.records[p.name] for p in prototypes if p.name not in lost}, lost

    async def simulate(self, compound: Compound, prototype: Prototype, maker: DynamicsMaker) -> Simulated:
        """Run molecular dynamics of a phase that `relax` has relaxed at zero pressure.

        Raises:
            LiveRelaxationError: there is no result; the line says why.
            KeyError: the phase has not been relaxed, or has no structure.
        """
        start = self._notebook[compound.formula, 0.0].structure(prototype)
        of = f"{compound.formula} as {prototype.name}"
        outcome = await self._run(DynamicsJob(self._potential, maker, start, of))
        record = await anyio.to_thread.run_sync(identified, self._family, compound, prototype, start, outcome)
        return Simulated(compound, prototype, maker, record)

    async def _run_all(self, jobs: Sequence[Job], page: _Page) -> dict[str, Relaxation]:
        lost: dict[str, Relaxation] = {}
        turn = anyio.Semaphore(WORKERS)

        async def run_one(job: Job) -> None:
            try:
                async with turn:
                    page.add(job.prototype, await self._run(job))
            except LiveRelaxationError as e:
                lost[job.prototype.name] = _without_result(job, str(e))

        async with anyio.create_task_group() as group:
            for job in jobs:
                group.start_soon(run_one, job)
        return lost


def _without_result(job: Job, reason: str) -> Relaxation:
    return Relaxation(
        compound=job.compound.formula,
        prototype=job.prototype.name,
        pressure=job.pressure,
        status="failed",
        error=reason,
    )


class _Page:
    """The candidates of one compound at one pressure."""

    def __init__(self) -> None:
        self.records: dict[str, Relaxation] = {}
        self._candidates: list[Candidate] = []
        self._unidentified = False

    def add(self, prototype: Prototype, outcome: Outcome) -> None:
        self.records[prototype.name] = outcome.record
        if outcome.atoms is not None:
            self._candidates.append(Candidate(prototype, outcome.record, outcome.atoms))
            self._unidentified = True

    def structure(self, prototype: Prototype) -> Atoms:
        """The relaxed structure.

        Raises:
            KeyError: there is none.
        """
        return {c.prototype.name: c.atoms for c in self._candidates}[prototype.name]

    async def identify(self, family: Family, compound: Compound) -> None:
        if self._unidentified:
            self._unidentified = False
            # A thread: matching structures takes up to a second, in which other samples should go on.
            found = await anyio.to_thread.run_sync(identify, family, compound, list(self._candidates))
            self.records.update(found)


@cache
def shared_runner(time_limit: float) -> RunJob:
    """Runs jobs in the worker processes that this process keeps for live relaxations.

    Args:
        time_limit: Seconds that a job may run.
    """
    pool = WorkerPool(WORKERS, time_limit)

    async def run(job: Work[T]) -> T:
        return await run_live(pool, job)

    return run
