"""Real runs that several test files look at; each is made once in a session."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from inspect_ai import eval as inspect_eval

from hepbench.tasks.ao2 import ao2


@cache
def scientist_log(base: Path) -> Path:
    """A short run of the scripted scientist on AO2, with its journal beside it."""
    folder = str(base / "honest")
    log = inspect_eval(ao2(lab_budget=90), model="hepbench/scientist", log_dir=folder, display="none")[0]
    assert log.status == "success", log.error
    return Path(log.location)
