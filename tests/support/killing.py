"""A reader of logs that one of them kills; spawned workers import it from here."""

from __future__ import annotations

import os
import signal

from hepbench.benchmark.leaderboard.reading import Reading

KILLER = "killer.eval"


def killing(where: str) -> Reading:
    if where == KILLER:
        os.kill(os.getpid(), signal.SIGKILL)
    return Reading(where)
