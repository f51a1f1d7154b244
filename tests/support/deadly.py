"""A potential that kills the Dask worker above it; processes of a cluster import it from here."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from ase.calculators.emt import EMT

FOLDER = "DEADLY_FOLDER"
"""Environment variable: a folder in which each file stands for one worker to kill."""


class Deadly(EMT):
    """EMT, but while there are files in the folder, each calculation takes one and kills."""

    def calculate(self, *arguments: Any, **named: Any) -> None:
        for file in Path(os.environ[FOLDER]).iterdir():
            try:
                file.unlink()
            except FileNotFoundError:
                continue  # another process took it
            kill_above()
        super().calculate(*arguments, **named)


def murder() -> None:
    """A factory that never gives a calculator."""
    kill_above()


def kill_above() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
