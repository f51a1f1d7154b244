"""What must stay light: no torch, pymatgen or ase where a benchmark is listed, scored or shown."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from inspect_ai.log import EvalLog

HEAVY = ("torch", "pymatgen", "ase", "chgnet", "mace", "spglib")
REPORT = f"print('heavy:', sorted(m for m in {HEAVY!r} if m in sys.modules))"


def run(program: str, *arguments: str) -> str:
    """Standard output of a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(*arguments: str) -> str:
    program = f"""
import atexit, sys
atexit.register(lambda: {REPORT})
from hepbench.benchmark.cli import main
sys.argv = ["hepbench", *sys.argv[1:]]
main()
"""
    return run(program, *arguments)


@pytest.mark.parametrize(
    "module",
    ["hepbench.tasks._registry", "hepbench.scorers", "hepbench.reports.scores", "hepbench.benchmark.cli"],
)
def test_modules_are_light(module: str) -> None:
    assert run(f"import sys, {module}\n{REPORT}").endswith("heavy: []\n")


@pytest.mark.parametrize("arguments", [("--help",), ("scores", "--help"), ("reference", "--help")])
def test_help_is_light(arguments: tuple[str, ...]) -> None:
    out = command(*arguments)
    assert "Usage: hepbench" in out
    assert out.endswith("heavy: []\n")


def test_help_does_not_even_need_inspect() -> None:
    program = "import sys, hepbench.benchmark.cli\nprint('inspect_ai' in sys.modules)"
    assert run(program) == "False\n"


def test_scores_are_light(run_by_hand: Callable[..., EvalLog]) -> None:
    log = run_by_hand(lambda registry, epoch: None)
    out = command("scores", log.location.removeprefix("file://"))
    assert "heldout_accuracy" in out
    assert out.endswith("heavy: []\n")


def test_the_entry_point_is_the_command() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("hepbench"), "--help"], capture_output=True, text=True, check=True
    )
    assert "scores" in done.stdout
