"""The processes that read logs: how many there are, when they are worth it, and what they are forked from.

Reading a log takes Inspect, and Inspect takes seconds to import. So on Linux the readers are forked from one
process that has imported it, with nothing else going on in it (Python's "forkserver"). It is begun before
this process imports Inspect itself: both happen at the same time.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from multiprocessing.context import BaseContext
from pathlib import Path

from hepbench.benchmark.leaderboard.memory import READING, place_of
from hepbench.harness.protocol.places import is_local, local_path

MOST_READERS = 8
WORTH_READERS = 8_000_000
"""Packed bytes of new logs from which on readers are started."""

_KEEPING = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "64000000"}
"""A reader keeps the megabytes of a log's text for the next log (by glibc; without effect elsewhere)."""

_FORKED = sys.platform == "linux"  # elsewhere a fork is not safe, or not there
_NEEDED = "hepbench.benchmark.leaderboard.reading"


def readers_asked(workers: int | None) -> int:
    """How many readers there may be; by default one for each core."""
    return workers or min(os.cpu_count() or 1, MOST_READERS)


def start_early(wheres: Iterable[str], workers: int | None = None) -> None:
    """Begin what readers are forked from, if they are likely to be wanted for these files and folders."""
    if not _FORKED or readers_asked(workers) == 1:
        return
    new = 0
    with suppress(OSError):  # what cannot be looked at is said later, by who has to read it
        for path in _likely_logs(wheres):
            place = place_of(str(path), READING)
            new += 0 if place is not None and place.is_file() else path.stat().st_size
            if new >= WORTH_READERS:
                _begin()
                return


def reader_context() -> BaseContext:
    """The way in which readers are started."""
    if not _FORKED:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([_NEEDED])
    return context


def _begin() -> None:
    from multiprocessing import resource_tracker
    from multiprocessing.forkserver import ensure_running

    reader_context()
    added = {name: value for name, value in _KEEPING.items() if name not in os.environ}
    os.environ.update(added)  # for the process that begins here; this one's memory is set up already
    resource_tracker.ensure_running()  # `ensure_running` begins it first, and it lets SIGINT through again
    blocked = signal.pthread_sigmask(
        signal.SIG_BLOCK, {signal.SIGINT}
    )  # inherited: Ctrl-C is for this process
    try:
        ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for name in added:
            del os.environ[name]


def _likely_logs(wheres: Iterable[str]) -> Iterator[Path]:
    for where in wheres:
        if is_local(where):
            path = Path(local_path(where))
            yield from [path] if path.is_file() else path.rglob("*.eval")
