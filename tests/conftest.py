"""Every test runs offline, quietly, and with its logs in a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.scorer import Scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.store import start_registry
from hepbench.scorers import suite_scorers

os.environ["HEPBENCH_CACHE"] = "off"  # no test reads or writes the user's cache

Play = Callable[[Registry, int], None]
"""What happens in a run: the registry, and the epoch (from 1)."""

TRUTH: list[dict[str, Any]] = [
    {
        "compound": "TiO2",
        "chemical_family": "3d",
        "part": "interpolation",
        "labels": ["rutile", "anatase"],
        "above_lowest": {"rutile": 0.0, "anatase": 1.5, "fluorite": 400.0, "pyrite-type": None},
    },
    {
        "compound": "MnO2",
        "chemical_family": "3d",
        "part": "interpolation",
        "labels": ["rutile"],
        "above_lowest": {"rutile": 0.0, "anatase": 30.0, "fluorite": 500.0},
    },
    {
        "compound": "ThO2",
        "chemical_family": "actinides",
        "part": "extrapolation",
        "labels": ["fluorite"],
        "above_lowest": {"fluorite": 0.0, "rutile": 90.0, "anatase": 120.0},
    },
]
METADATA: dict[str, Any] = {"heldout": TRUTH, "exploration_majority": "rutile"}


@pytest.fixture(autouse=True)
def _offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_DISPLAY", "none")
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))
    for name in [n for n in os.environ if n.endswith("_API_KEY")]:
        monkeypatch.delenv(name)


@solver
def played(play: Play, harness: str | None) -> Solver:
    """A solver that fills the sample's store by hand; without a harness the run never begins."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if harness is not None:
            about = {"harness": harness, "potential": "chgnet-0.3.0"}
            play(start_registry("by-hand", ProtocolRules(), about), state.epoch)
        return state

    return solve


@pytest.fixture
def run_by_hand(tmp_path: Path) -> Callable[..., EvalLog]:
    """A real Inspect eval over a registry made by hand, judged by the suite's scorers."""

    def run(
        play: Play,
        *,
        harness: str | None = "hep",
        epochs: int = 1,
        metadata: Mapping[str, Any] = METADATA,
        scorers: Sequence[Scorer] | None = None,
        **options: Any,
    ) -> EvalLog:
        task = Task(
            dataset=[Sample(id="by-hand", input="Which phase?", metadata=dict(metadata))],
            solver=played(play, harness),
            scorer=list(scorers or suite_scorers()),
            headline_metric="heldout_accuracy",
            name="by-hand",
            version="1-A",
        )
        settings = {"model": "mockllm/model", "epochs": epochs, "log_dir": str(tmp_path / "logs"), **options}
        return inspect_eval(task, display="none", **settings)[0]

    return run
