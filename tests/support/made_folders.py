"""Folders of made logs that several tests share; each is made once in a session."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from made_logs import HOSTILE_RUN, Run, make_logs

from hepbench.harness.laboratory.reference import ReferenceSet
from hepbench.tasks import families

MODEL_A = "mockllm/model-a"
MODEL_B = "mockllm/model-b"
SCRIPTED = "hepbench/scientist"


_made: dict[str, Path] = {}


def log_of(base: Path, run: Run) -> Path:
    """The log of a run, made once in a session."""
    if repr(run) not in _made:
        (_made[repr(run)],) = make_logs(base / "single-logs", run)
    return _made[repr(run)]


@cache
def suite_logs(base: Path) -> Path:
    """Two tasks: a scripted policy, two models, two harnesses, a floor, an incomplete entry, an odd one."""
    folder = base / "suite-logs"
    make_logs(
        folder,
        Run(SCRIPTED, noise=False, accuracy=0.8),
        Run(SCRIPTED, noise=False, accuracy=0.7, task="mx"),
        Run(MODEL_A, epochs=3),
        Run(MODEL_A, epochs=3, task="mx"),
        Run(MODEL_A, "planning", epochs=3, accuracy=0.5),
        Run(MODEL_A, "planning", epochs=3, accuracy=0.5, task="mx"),
        Run(MODEL_B, epochs=2, accuracy=0.9, fails=[2]),
        Run(MODEL_B, epochs=2, accuracy=0.9, task="mx"),
        Run("mockllm/only-ao2", "react"),
        Run("none/none", "majority", noise=False, accuracy=0.1),
        Run("none/none", "majority", noise=False, accuracy=0.1, task="mx"),
        Run("mockllm/odd", about={"lab_budget": 80}),
    )
    return folder


@cache
def hostile_logs(base: Path) -> Path:
    """One model whose every text is an attack, beside an honest one."""
    folder = base / "hostile-logs"
    failing = {**HOSTILE_RUN, "model": "mockllm/fails", "fails": [1]}
    make_logs(folder, Run(**HOSTILE_RUN), Run(**failing), Run(MODEL_A, rules=HOSTILE_RUN["rules"]))
    return folder


@cache
def site_logs(base: Path) -> Path:
    """For a site: both harnesses, runs of the installed reference set, a floor, and an attack."""
    reference = ReferenceSet.load(families.reference_path("ao2", "chgnet-0.3.0")).sha256
    known = {"reference_sha256": reference}
    folder = base / "site-logs"
    make_logs(
        folder,
        Run(SCRIPTED, noise=False, accuracy=0.8, about=known),
        Run(MODEL_A, epochs=2, about=known),
        Run(MODEL_A, "planning", epochs=2, accuracy=0.5, about=known),
        Run(MODEL_A, accuracy=0.6, task="mx"),
        Run("none/none", "majority", noise=False, accuracy=0.1, about=known),
        Run(**HOSTILE_RUN),
    )
    return folder
