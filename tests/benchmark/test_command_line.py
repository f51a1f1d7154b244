"""The two command lines at their edges: a version, and a task without what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

import hepbench
from hepbench.benchmark.cli import app


def test_the_version() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.output) == (0, f"hepbench {hepbench.__version__}\n")


def test_a_family_that_is_not_named_is_one_line(tmp_path: Path) -> None:
    inspect = str(Path(sys.executable).with_name("inspect"))
    command = [inspect, "eval", "hepbench/family", "--model", "none/none", "--log-dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"COLUMNS": "200"})
    said = (done.stdout + done.stderr).strip()
    assert done.returncode == 1
    assert "Traceback" not in said
    assert said.splitlines() == [
        "hepbench/family: -T family is missing: a folder with a family.toml, or one of ao2, a2bbo6, mx"
    ]
