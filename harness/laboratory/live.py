"""Live relaxations of one run: in worker processes, remembered, and identified as phases.

What a worker returns is a structure without a name. Which phase it is can depend on the other candidates of
its compound (`phases.py`), so all that were relaxed at one pressure are identified together. That is work for
a worker too: it needs pymatgen, which the process of an eval does not load.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

import anyio

from hepbench.harness.laboratory.cluster import open_pool
from hepbench.harness.laboratory.dynamics import DynamicsMaker
from hepbench.harness.laboratory.family import Compound, Family, Prototype
from hepbench.harness.laboratory.phases import Candidate, identify
from hepbench.harness.laboratory.potential import PotentialError
from hepbench.harness.laboratory.potentials import potential
from hepbench.harness.laboratory.records import Provenance, Relaxation
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.harness.laboratory.simulations import DynamicsJob, EndIdentification, Simulated
from hepbench.harness.laboratory.workers import (
    Job,
    LiveRelaxationError,
    Outcome,
    Pool,
    T,
    Work,
    run_live,
)

if TYPE_CHECKING:
    from ase import Atoms

WORKERS = 2
"""Worker processes that all samples of an eval share; each takes up to 1 GB."""
CLUSTER_JOBS = 64
"""Jobs that one sample may have on a cluster at once."""
IDENTIFICATIONS = 2
"""How often an identification is tried: it takes a second, and a dead worker loses nothing that it needs."""


class RunJob(Protocol):
    """Does a relaxation or a simulation elsewhere. Cancelling the call stops it."""

    async def __call__(self, job: Work[T]) -> T:
        """The outcome.

        Raises:
            LiveRelaxationError: no result; the line says why.
        """
        ...


@dataclass(frozen=True)
class Identification:
    """The work of telling which phases the candidates of one compound at one pressure are."""

    family: Family
    compound: Compound
    candidates: tuple[Candidate, ...]
    potential: str = ""

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.compound.formula}, phases"

    def do(self) -> dict[str, Relaxation]:
        """Prototype name → record with its phase; `phases.identify`."""
        return identify(self.family, self.compound, self.candidates)


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
        wanted = [p for p in prototypes if not page.has(p)]
        maker = self.recipe()
        jobs = [Job(self._potential, maker, compound, p, pressure) for p in wanted]
        lost = await self._run_all(jobs, page)
        if page.unnamed:
            try:
                await self._identify(compound, page)
            except LiveRelaxationError as e:
                unnamed = [p for p in prototypes if p.name in page.unnamed]
                lost |= {p.name: _without_result(compound, p, pressure, str(e)) for p in unnamed}
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
        end = EndIdentification(self._family, compound, prototype, start, outcome)
        return Simulated(compound, prototype, maker, await self._insist(end))

    async def _identify(self, compound: Compound, page: _Page) -> None:
        candidates = tuple(page.candidates.values())
        page.records.update(await self._insist(Identification(self._family, compound, candidates)))

    async def _insist(self, work: Work[T]) -> T:
        for _ in range(IDENTIFICATIONS - 1):
            with suppress(LiveRelaxationError):
                return await self._run(work)
        return await self._run(work)

    async def _run_all(self, jobs: Sequence[Job], page: _Page) -> dict[str, Relaxation]:
        lost: dict[str, Relaxation] = {}

        async def run_one(job: Job) -> None:
            try:
                page.add(job.prototype, await self._run(job))
            except LiveRelaxationError as e:
                lost[job.prototype.name] = _without_result(job.compound, job.prototype, job.pressure, str(e))

        async with anyio.create_task_group() as group:
            for job in jobs:
                group.start_soon(run_one, job)
        return lost


def _without_result(compound: Compound, prototype: Prototype, pressure: float, reason: str) -> Relaxation:
    return Relaxation(
        compound=compound.formula,
        prototype=prototype.name,
        pressure=pressure,
        status="failed",
        error=reason,
    )


class _Page:
    """The candidates of one compound at one pressure.

    Attributes:
        records: Prototype name → record, of those that failed or whose phase was looked for.
        candidates: Prototype name → what has a structure.
    """

    def __init__(self) -> None:
        self.records: dict[str, Relaxation] = {}
        self.candidates: dict[str, Candidate] = {}

    @property
    def unnamed(self) -> set[str]:
        """Names of those whose phase was not looked for yet."""
        return self.candidates.keys() - self.records.keys()

    def has(self, prototype: Prototype) -> bool:
        """Whether it has been relaxed."""
        return prototype.name in self.records or prototype.name in self.candidates

    def add(self, prototype: Prototype, outcome: Outcome) -> None:
        if outcome.atoms is None:
            self.records[prototype.name] = outcome.record
        else:
            self.candidates[prototype.name] = Candidate(prototype, outcome.record, outcome.atoms)

    def structure(self, prototype: Prototype) -> Atoms:
        """The relaxed structure.

        Raises:
            KeyError: there is none.
        """
        return self.candidates[prototype.name].atoms


@cache
def shared_pool(time_limit: float, scheduler: str = "") -> Pool:
    """Where this process has its live results made.

    Args:
        time_limit: Seconds that a job may run.
        scheduler: Address of a Dask scheduler; empty for worker processes of this one.
    """
    return open_pool(scheduler, WORKERS, time_limit)


def shared_runner(time_limit: float, scheduler: str = "") -> RunJob:
    """Runs the jobs of one sample in the shared pool, some at a time, so that the others get their turn.

    Args:
        time_limit: As `shared_pool`.
        scheduler: As `shared_pool`.
    """
    pool = shared_pool(time_limit, scheduler)
    turn = anyio.Semaphore(CLUSTER_JOBS if scheduler else WORKERS)

    async def run(job: Work[T]) -> T:
        async with turn:
            return await run_live(pool, job)

    return run
