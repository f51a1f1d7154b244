"""Work on a Dask cluster, behind the same surface as the worker processes of one machine (`workers.py`).

Dask places the jobs, and that is all it does: whoever asks for a job tries it again, for both kinds of pool
alike. When a Dask worker dies, the scheduler starts its job again elsewhere without a word; so every start is
announced (`cluster_worker.py`), and a second one ends the job as a dead worker process does.

`distributed` is imported when a scheduler is asked for, and not before.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from concurrent.futures import CancelledError, Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from logging import CRITICAL, getLogger
from typing import Any, Self, cast

from hepbench.harness.laboratory.cluster_worker import ClusterError, do_there, identity
from hepbench.harness.laboratory.potential import PotentialError
from hepbench.harness.laboratory.workers import (
    TIME_LIMIT,
    LiveRelaxationError,
    Pool,
    T,
    Work,
    WorkerPool,
    outcome,
)

logger = getLogger(__name__)

SCHEMES = ("tcp", "tls")
CONNECT = 5.0
"""Seconds within which a scheduler has to answer."""
WINDOW = 2
"""Jobs in the cluster for each of its threads."""
FEWEST = 4
"""Jobs in the cluster when it is small or has no worker yet."""


def open_pool(scheduler: str = "", workers: int = 1, time_limit: float = TIME_LIMIT) -> Pool:
    """Where work is done.

    Args:
        scheduler: Address of a Dask scheduler; empty for worker processes of this machine.
        workers: How many of those.
        time_limit: Seconds after which a running job is stopped.

    Raises:
        ClusterError: that is no address.
    """
    return DaskPool(scheduler, time_limit) if scheduler else WorkerPool(workers, time_limit)


def require_address(scheduler: str) -> None:
    """Raise ClusterError, with one line, unless it looks like the address of a scheduler."""
    scheme, found, place = scheduler.partition("://")
    host, _, port = place.rpartition(":")
    right = found and scheme in SCHEMES and host and port.isdecimal() and 0 < int(port) < 2**16
    if not right or any(c.isspace() for c in scheduler):
        raise ClusterError(f"{scheduler!r} is no address of a Dask scheduler: tcp://host:8786, or tls://")


@dataclass
class _Task:
    """A job in the cluster."""

    name: str
    future: Future[Any]
    started: bool = False


class DaskPool:
    """Sends jobs to a Dask scheduler. It is reached by `open`, or with the first job.

    Args:
        scheduler: Its address.
        time_limit: Seconds after which a running job is killed.

    Raises:
        ClusterError: that is no address.
    """

    def __init__(self, scheduler: str, time_limit: float = TIME_LIMIT) -> None:
        require_address(scheduler)
        self._scheduler = scheduler
        self._time_limit = time_limit
        self._topic = f"hepbench-{uuid.uuid4().hex}"
        self._client: Any = None
        self._tasks: dict[str, _Task] = {}
        self._opening = threading.Lock()
        self._deserted = False

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """As `Pool.open`."""
        with self._opening:
            if self._client is None:
                with ThreadPoolExecutor(1) as aside:  # here, an event loop may be running
                    self._client = aside.submit(_connected, self._scheduler).result()
                self._client.subscribe_topic(self._topic, self._started)

    def room(self) -> int:
        """As `Pool.room`; says so when the cluster has no workers."""
        self.open()
        try:
            threads = sum(map(int, self._client.nthreads().values()))
        except OSError:
            raise ClusterError(self._lost()) from None
        if not threads and not self._deserted:
            logger.warning("the cluster at %s has no workers; waiting for some", self._scheduler)
        self._deserted = not threads
        return max(FEWEST, WINDOW * threads)

    def submit(self, job: Work[T]) -> Future[T]:
        """As `Pool.submit`; a cluster that cannot be reached shows in the outcome."""
        task = _Task(job.name, Future())
        try:
            self.room()
            wanted = identity(job.potential)
        except (ClusterError, PotentialError) as e:
            _fail(task.future, e)
            return cast("Future[T]", task.future)
        key = f"hepbench-{uuid.uuid4().hex}"
        self._tasks[key] = task
        client = self._client
        there = client.submit(
            do_there, job, wanted, self._time_limit, self._topic, key=key, pure=False, retries=0
        )
        there.add_done_callback(lambda _: self._settle(key, there))
        # On the client's own loop, so that nobody who cancels has to wait for the scheduler.
        task.future.add_done_callback(lambda _: client.loop.add_callback(self._forget, key, there))
        return cast("Future[T]", task.future)

    def outcome(self, job: Work[T], future: Future[T]) -> T:
        """As `Pool.outcome`."""
        return outcome(job, future, self._time_limit)

    def close(self) -> None:
        """Leave the cluster, which then stops what this pool sent."""
        with self._opening:
            if self._client is not None:
                for task in list(self._tasks.values()):
                    task.future.cancel()
                self._client.close()
                self._client = None

    def _started(self, event: tuple[float, str]) -> None:
        """A job was started; that it was before means that its worker died, or lost the result."""
        task = self._tasks.get(event[1])
        if task is None:
            return
        if task.started:
            _fail(task.future, LiveRelaxationError(f"{task.name}: the Dask worker died"))
        task.started = True

    def _settle(self, key: str, there: Any) -> None:
        """Hand what the cluster made of a job to the future that its owner holds."""
        from distributed import KilledWorker

        task = self._tasks.get(key)
        if task is None:
            return
        try:
            result = there.result()
        except KilledWorker:
            _fail(task.future, LiveRelaxationError(f"{task.name}: the Dask worker died"))
        except CancelledError:  # by nobody here
            _fail(task.future, ClusterError(self._lost()))
        except ModuleNotFoundError as e:
            _fail(task.future, ClusterError(self._lacking(e)))
        except Exception as e:  # noqa: BLE001 - it is the job's, and handed on
            _fail(task.future, e)
        else:
            with suppress(InvalidStateError):
                task.future.set_result(result)

    def _forget(self, key: str, there: Any) -> Any:
        self._tasks.pop(key, None)
        return there.cancel()

    def _lost(self) -> str:
        return f"lost the Dask scheduler at {self._scheduler}, or it dropped the job"

    def _lacking(self, error: ModuleNotFoundError) -> str:
        """The line on a worker that cannot even read a job."""
        found = self._client.run(version, "hepbench", on_error="return")
        lacking = [worker for worker, its in found.items() if isinstance(its, Exception)]
        who = f"worker {lacking[0]}" if lacking else f"a worker of {self._scheduler}"
        return f"{who} has {error.name} not installed, and this machine has hepbench {version('hepbench')}"


def _fail(future: Future[Any], error: Exception) -> None:
    with suppress(InvalidStateError):  # cancelled, or failed before
        future.set_exception(error)


def _connected(scheduler: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError("a scheduler needs Dask: pip install 'hepbench[dask]'") from None
    getLogger("distributed").setLevel(CRITICAL)  # its tracebacks on a lost scheduler; ours is one line
    try:
        asyncio.run(_knock(scheduler))
        return Client(scheduler, timeout=CONNECT, set_as_default=False)
    except TimeoutError:
        why = f"no answer within {CONNECT:g} s"
    except (OSError, ValueError, TypeError, RuntimeError) as e:
        why = _first_line(e)
    raise ClusterError(f"cannot reach a Dask scheduler at {scheduler}: {why}")


async def _knock(scheduler: str) -> None:
    """Connect and leave: a `Client` would wait for ever for a server that is no scheduler."""
    from distributed import Security
    from distributed.core import connect

    how = Security().get_connection_args("client")
    comm = await asyncio.wait_for(connect(scheduler, timeout=CONNECT, **how), CONNECT)
    await comm.close()


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
