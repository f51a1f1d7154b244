"""Work in worker processes: relaxations for a reference set, and live results of a run.

A worker is a spawned process with one torch thread that keeps its potential loaded. A job that overruns its
time limit, or is cancelled, is killed with its worker; a worker that dies (out of memory, a crash in a
library) fails its job alone. All of it shows behind the `concurrent.futures.Future` interface, as it does
where the same work goes to a cluster (`cluster.py`).

Threads: OpenMP threads of two workers spin against each other (565 ms instead of 45 ms a step were
measured), and torch reads `OMP_NUM_THREADS` once, when it is imported. So it is set first thing in a worker.

Kernels: torch takes those of the widest vectors that a processor has, and they round differently. Where a
start lies on a ridge, that decides on which side it ends: of the 408 starts of ao2, six end 3 to 64 meV/atom
elsewhere with AVX-512 than with AVX2, which made the sets that ship. So a worker takes AVX2 where Linux says
that the processor has it, unless `ATEN_CPU_CAPABILITY` is set.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from multiprocessing import connection
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary

import anyio
from pebble import ProcessExpired, ProcessPool

from hepbench.harness.laboratory.family import Compound, Prototype
from hepbench.harness.laboratory.potentials import load_calculator
from hepbench.harness.laboratory.records import Relaxation
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.harness.laboratory.structures import start_atoms

if TYPE_CHECKING:
    from ase import Atoms

TIME_LIMIT = 600.0  # s; a usual relaxation takes two


class LiveRelaxationError(RuntimeError):
    """A job without a result: too slow, its worker died, or it cannot be started. One line."""


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Work(Protocol[T_co]):
    """What a worker does; it is pickled, and done in another process."""

    @property
    def name(self) -> str:
        """For messages: "TiO2 as rutile"."""
        ...

    @property
    def potential(self) -> str:
        """Id of the potential that it computes with; empty for none."""
        ...

    def do(self) -> T_co:
        """Do it in this process."""
        ...


class Pool(Protocol):
    """Where work is done: worker processes of this machine, or a cluster."""

    def __enter__(self) -> Self:
        """Open it."""
        ...

    def __exit__(self, *_: object) -> None:
        """Close it."""
        ...

    def open(self) -> None:
        """Reach what does the work. Unless it is called, the first job does it.

        Raises:
            ClusterError: it cannot be reached.
        """
        ...

    def room(self) -> int:
        """How many jobs the pool should hold at once, so that no worker waits and no queue grows."""
        ...

    def submit(self, job: Work[T]) -> Future[T]:
        """Queue a job. Cancelling the future stops the job, running or not."""
        ...

    def outcome(self, job: Work[T], future: Future[T]) -> T:
        """The future's outcome, waiting for it.

        Raises:
            LiveRelaxationError: there is none; the line says why.
        """
        ...

    def close(self) -> None:
        """Stop all jobs."""
        ...


@dataclass(frozen=True)
class Job:
    """One candidate to relax.

    Attributes:
        potential: Its id.
        maker: The recipe.
        compound: What is relaxed.
        prototype: What it starts as.
        pressure: External, GPa.
    """

    potential: str
    maker: RelaxationMaker
    compound: Compound
    prototype: Prototype
    pressure: float = 0.0

    @property
    def name(self) -> str:
        """For messages: "TiO2 as rutile"."""
        return f"{self.compound.formula} as {self.prototype.name}"

    def do(self) -> Outcome:
        """Relax the candidate in this process; `run_job`."""
        return run_job(self)


@dataclass(frozen=True)
class Outcome:
    """What a job gives.

    Attributes:
        record: The relaxation, whose phase is not identified yet.
        atoms: The relaxed structure; None where the record says "failed".
        seconds: Wall time of the job, without loading the potential.
    """

    record: Relaxation
    atoms: Atoms | None
    seconds: float


def run_job(job: Job) -> Outcome:
    """Do the job in this process.

    Raises:
        PotentialError: the potential cannot be loaded here.
        StructureError: the start cannot be built.
    """
    calculator = load_calculator(job.potential)
    begin = time.perf_counter()
    record, atoms = job.maker.relax(
        start_atoms(job.prototype, job.compound),
        calculator,
        compound=job.compound.formula,
        prototype=job.prototype.name,
        pressure=job.pressure,
    )
    return Outcome(record, atoms, time.perf_counter() - begin)


class WorkerPool:
    """Worker processes for relaxations. The processes start with the first job.

    Args:
        workers: How many processes.
        time_limit: Seconds after which a running job is killed.
    """

    def __init__(self, workers: int = 1, time_limit: float = TIME_LIMIT) -> None:
        self._workers = workers
        self._time_limit = time_limit
        self._pool: ProcessPool | None = None
        self._limits: WeakKeyDictionary[Future[Any], float] = WeakKeyDictionary()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Nothing has to be reached."""

    def room(self) -> int:
        """As `Pool.room`."""
        return 2 * self._workers

    def submit(self, job: Work[T], time_limit: float | None = None) -> Future[T]:
        """Queue a job. Cancelling the future of a running job kills its worker.

        Args:
            job: What is done.
            time_limit: Seconds after which this job is killed, where they are not those of the pool.
        """
        if self._pool is None:
            self._pool = ProcessPool(
                max_workers=self._workers,
                max_tasks=500,  # a worker is replaced now and then, so that a leak cannot grow
                initializer=_start_worker,
                context=multiprocessing.get_context("spawn"),
            )
        limit = time_limit or self._time_limit
        future: Future[T] = self._pool.schedule(_do, args=[job], timeout=limit)
        self._limits[future] = limit
        return future

    def outcome(self, job: Work[T], future: Future[T]) -> T:
        """The future's outcome, waiting for it.

        Raises:
            LiveRelaxationError: there is none; the line says why.
        """
        return outcome(job, future, self._limits.get(future, self._time_limit))

    def close(self) -> None:
        """Stop the workers, running jobs included."""
        if self._pool is not None:
            self._pool.stop()
            self._pool.join()
            self._pool = None


def outcome(job: Work[T], future: Future[T], time_limit: float) -> T:
    """The outcome of a job, waiting for it.

    Args:
        job: What was submitted.
        future: Its future.
        time_limit: The seconds that the job had.

    Raises:
        LiveRelaxationError: there is none; the line says why.
    """
    try:
        return future.result()
    except LiveRelaxationError:  # a line that was written where the job was done
        raise
    except (FutureTimeout, TimeoutError):
        raise LiveRelaxationError(f"{job.name}: stopped after {time_limit:g} s") from None
    except ProcessExpired as e:
        raise LiveRelaxationError(f"{job.name}: the worker process died (exit code {e.exitcode})") from None
    except CancelledError:
        raise LiveRelaxationError(f"{job.name}: cancelled") from None
    except Exception as e:
        raise LiveRelaxationError(f"{job.name}: {_one_line(e)}") from e


async def run_live(pool: Pool, job: Work[T]) -> T:
    """Do a job in the pool without blocking the event loop (asyncio or trio).

    Cancelling the awaiting task kills the job.

    Raises:
        LiveRelaxationError: no result; the line says why.
    """
    future = await anyio.to_thread.run_sync(pool.submit, job)  # a cluster may have to be reached first
    try:
        return await anyio.to_thread.run_sync(pool.outcome, job, future, abandon_on_cancel=True)
    finally:
        if not future.done():
            future.cancel()


def _do(job: Work[T]) -> T:
    return job.do()


def _start_worker() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    if _has_avx2():
        os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx2")
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - for the worker's life; potentials chat


def _has_avx2() -> bool:
    """Whether the processor is known to: told to use what is not there, torch crashes."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:  # noqa: PTH123 - no regular file
            return any(line.startswith("flags") and "avx2" in line.split() for line in info)
    except OSError:  # no Linux; Macs have other vectors
        return False


def _end_with_parent() -> None:
    """End this process when the one that started it was killed: a job may hang for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _one_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
