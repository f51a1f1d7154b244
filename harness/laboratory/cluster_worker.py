"""What a Dask worker does with a job: it hands it to a child process that can be killed.

The child is one of a `WorkerPool` (`workers.py`), so time limits, one torch thread and deaths are as on one
machine, and a job that crashes does not take the Dask worker with it. Here the pool lives as long as the
Dask worker: the child keeps its potential loaded from job to job.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic

from hepbench.harness.laboratory.potential import PotentialError, installed_version
from hepbench.harness.laboratory.potentials import potential
from hepbench.harness.laboratory.workers import LiveRelaxationError, T, Work, WorkerPool

GLANCE = 0.2
"""Seconds between two looks whether a running job is still wanted."""
PACKAGES = ("hepbench", "ase", "numpy", "pymatgen", "spglib")
"""What every result depends on; a potential adds its own."""

Identity = tuple[tuple[str, str], ...]
"""What the results of a machine depend on, with its version or hash."""


class ClusterError(RuntimeError):
    """A cluster that cannot be used, or a worker of it; the message is one line."""


@lru_cache(maxsize=16)
def identity(potential_id: str) -> Identity:
    """Versions, and the weights, dtype and device of a potential, on this machine.

    Args:
        potential_id: Empty for work without a potential.

    Raises:
        PotentialError: the potential is unknown, or not here.
    """
    found = {name: installed_version(name) for name in PACKAGES}
    if potential_id:
        chosen = potential(potential_id)
        chosen.check()
        its = chosen.provenance({})
        found |= its.versions | {"dtype": its.dtype, "device": its.device}
        found[f"the weights of {potential_id}"] = f"sha256-{its.weights_sha256[:12]}"
    return tuple(found.items())


@dataclass(frozen=True)
class Alike(Generic[T]):
    """Work that is done only where results come out as on the machine that asks for them.

    Attributes:
        work: What is done.
        wanted: The identity of the machine that asks.
        worker: Who does it, for the message.
    """

    work: Work[T]
    wanted: Identity
    worker: str

    @property
    def name(self) -> str:
        """That of the work."""
        return self.work.name

    @property
    def potential(self) -> str:
        """That of the work."""
        return self.work.potential

    def do(self) -> T:
        """Do the work in this process.

        Raises:
            ClusterError: this machine is another than wanted.
        """
        require_alike(self.potential, self.wanted, self.worker)
        return self.work.do()


@lru_cache(maxsize=16)
def require_alike(potential_id: str, wanted: Identity, worker: str) -> None:
    """Raise ClusterError, with one line, unless this machine has the wanted identity."""
    try:
        here = dict(identity(potential_id))
    except PotentialError as e:
        raise ClusterError(f"worker {worker}: {e}") from None
    for name, its in wanted:
        if here.get(name) != its:
            raise ClusterError(
                f"worker {worker} has {name} {here.get(name)}, and this machine has {its}: "
                "their results could differ"
            )


def do_there(work: Work[T], wanted: Identity, time_limit: float, topic: str) -> T:
    """Do a job on the Dask worker that calls this.

    Args:
        work: What is done.
        wanted: The identity of the machine that asks.
        time_limit: Seconds after which the job is killed.
        topic: Where the start is announced. Dask starts a job again when its worker died; who asked for it
            counts that as a try.

    Raises:
        LiveRelaxationError: there is no result.
        PotentialError: no job with this potential can have a result here.
        ClusterError: this worker is another than wanted.
    """
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()
    worker.log_event(topic, key)
    pool = _children(worker.state.nthreads)
    future = pool.submit(Alike(work, wanted, _called(worker)), time_limit)
    _wait(future, worker, key)
    try:
        return pool.outcome(work, future)
    except LiveRelaxationError as e:
        lost = _bare(e)
    raise lost


def _bare(error: LiveRelaxationError) -> Exception:
    """What travels to the client: no cause, no context, which Dask cannot pickle."""
    cause = error.__cause__
    if isinstance(cause, PotentialError | ClusterError):
        return type(cause)(str(cause))
    return LiveRelaxationError(str(error))


@lru_cache(maxsize=1)
def _children(count: int) -> WorkerPool:
    # A nanny starts its worker as a daemon, and Python lets those have no children. Ours end with it.
    if multiprocessing.current_process().daemon:
        multiprocessing.current_process().daemon = False
    return WorkerPool(count)


def _wait(future: Future[Any], worker: Any, key: object) -> None:
    """Wait for the job; kill it when it is not wanted any more: cancelled, or the client is gone."""
    while not wait([future], timeout=GLANCE).done:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            future.cancel()
            return


def _called(worker: Any) -> str:
    return worker.address if worker.name == worker.address else f"{worker.name} ({worker.address})"
