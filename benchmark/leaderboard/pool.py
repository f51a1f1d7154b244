"""Many logs read by several processes: the same readings in the same order, whatever their number.

A log that was read before is remembered. The others go to spawned workers, one log at a time, so that memory
stays bounded by what one log may unpack to; a worker that a hostile log kills costs that log alone.
"""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hepbench.benchmark.leaderboard import readers
from hepbench.benchmark.leaderboard.reading import Reading, known_reading, read_log
from hepbench.harness.protocol.places import local_path
from hepbench.reports.opening import shown

if TYPE_CHECKING:
    from pebble import ProcessPool

_REMOTE = 200_000
_SLOW = 2.0  # s
_LOOK = 1.0  # s; how long to wait for a log before looking whether its readers are still there


def readings(wheres: Sequence[str], workers: int | None = None) -> Iterator[Reading]:
    """Read and audit logs, those that are not remembered by several processes if there are many.

    Args:
        wheres: The logs.
        workers: How many processes; default: one for each core.

    Returns:
        One reading for each log, in their order.
    """
    known = {where: found for where in wheres if (found := known_reading(where)) is not None}
    new = [where for where in wheres if where not in known]
    with _read(new, readers.readers_asked(workers)) as fresh:
        progressing = _with_progress(fresh, len(new))
        for where in wheres:
            yield known[where] if where in known else next(progressing)


@contextmanager
def _read(wheres: Sequence[str], workers: int) -> Iterator[Iterator[Reading]]:
    if workers == 1 or sum(map(_size, wheres)) < readers.WORTH_READERS:
        _freeze()
        try:
            yield map(read_log, wheres)
        finally:
            gc.unfreeze()
        return
    from pebble import ProcessPool

    pool = ProcessPool(
        max_workers=min(workers, len(wheres)),
        initializer=_start_worker,
        initargs=(dict(os.environ),),
        context=readers.reader_context(),
    )
    try:
        yield _outcomes(pool, wheres)
        pool.close()
    except BrokenProcessPool as e:
        raise ChildProcessError("the processes that read logs cannot run here; --workers 1 needs none") from e
    except BaseException:  # Ctrl-C too: nobody waits for a log that nobody wants any more
        pool.stop()
        raise
    finally:
        pool.join()


def _outcomes(pool: ProcessPool, wheres: Sequence[str]) -> Iterator[Reading]:
    from pebble import ProcessExpired

    try:
        futures = [pool.schedule(read_log, args=[where]) for where in wheres]
    except RuntimeError as e:  # it broke while it was given work
        raise BrokenProcessPool from e
    for where, future in zip(wheres, futures, strict=True):
        while not wait([future], _LOOK).done:  # a pool that breaks can forget work it was just given
            if not pool.active:
                raise BrokenProcessPool
        try:
            yield future.result()
        except ProcessExpired as e:
            yield Reading(where, unreadable=f"{shown(where)} ended the process that read it ({e.exitcode}).")


def _size(where: str) -> int:
    path = Path(local_path(where))
    return path.stat().st_size if path.is_file() else _REMOTE


def _start_worker(environment: Mapping[str, str]) -> None:
    """Ctrl-C is for the main process, which ends the workers.

    Args:
        environment: That of the main process now; what a worker is forked from may have an older one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(environment)
    _freeze()


def _freeze() -> None:
    """What was imported is no garbage: Python need not go through it again and again while logs are read."""
    gc.collect()
    gc.freeze()


def _with_progress(found: Iterator[Reading], total: int) -> Iterator[Reading]:
    """A bar on stderr from when it takes long."""
    begin = time.monotonic()
    with ExitStack() as stack:
        bar = None
        for number, reading in enumerate(found, 1):
            if bar is None and time.monotonic() - begin > _SLOW:
                from rich.console import Console
                from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

                columns = (TextColumn("reading logs"), BarColumn(), MofNCompleteColumn())
                bar = stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
                task = bar.add_task("", total=total)
            if bar is not None:
                bar.update(task, completed=number)
            yield reading
