"""kill -9 at random moments: does the journal hold every event that was acknowledged?"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from pathlib import Path

from hepbench.harness.protocol.events import chain_faults
from hepbench.harness.protocol.journal import Journal, read_journal
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.rules import ProtocolRules

LONGEST = 0.15
"""Seconds until a kill, at the most: some hundred operations on a usual disk."""


def measure(*, quick: bool) -> list[tuple[str, str]]:
    """Kill a writing process again and again."""
    points, lost, acknowledged = (20 if quick else 200), 0, 0
    rng = random.Random(5)  # noqa: S311
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for point in range(points):
            path = Path(folder) / f"{point}.jsonl"
            told = _killed(path, rng.uniform(0.001, LONGEST))
            if not told:
                continue
            read = read_journal(path)
            lost += max(0, told - len(read.events)) + len(chain_faults(read.events)) + len(read.damaged)
            acknowledged += told
    return [
        (
            "kill -9",
            f"{points} random points, {acknowledged:,} acknowledged events, **{lost} lost**",
        )
    ]


def _killed(path: Path, after: float) -> int:
    """Let a child write and report each acknowledged event, kill it, and return the last number."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        _write_for_ever(path, writable)
    os.close(writable)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(readable, "rb") as pipe:
        numbers = pipe.read().split(b"\n")
    return int(numbers[-2]) if len(numbers) > 1 else 0


def _write_for_ever(path: Path, writable: int) -> None:
    registry = Registry.start("run", ProtocolRules(similar_statement="off"), sink=Journal.create(path).append)
    for n in range(1_000_000):
        name = registry.propose(f"claim {n}", 0.5, "x" * (n % 4_000 + 1)).id
        os.write(writable, b"%d\n" % registry.events[-1].seq)
        registry.transition(name, "dormant", "aside")  # two events in one operation: the move and a warning
        os.write(writable, b"%d\n" % registry.events[-1].seq)
