"""Tasks × harnesses × models as one eval set: it ends, it does nothing twice, and it resumes after a kill."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log
from typer.testing import CliRunner

from hepbench.benchmark.cli import app
from hepbench.harness.protocol.store import RegistryStore

HEPBENCH = str(Path(sys.executable).with_name("hepbench"))
HARNESSES = ("hep", "planning", "majority")


def command(halides: str, log_dir: Path) -> list[str]:
    models = ["-m", "hepbench/scientist", "-m", "hepbench/hasty"]
    wanted = [word for h in HARNESSES for word in ("--harness", h)]
    given = ["-T", "potential=law", "-T", "lab_budget=40", "--max-tasks", "1", "--display", "none"]
    return [HEPBENCH, "sweep", str(log_dir), *models, "--task", halides, *wanted, *given]


def finished(log_dir: Path) -> dict[str, float]:
    """The logs of the runs that are done, and when they were written."""
    found = {}
    for path in log_dir.glob("*.eval"):
        with suppress(ValueError):  # still being written
            if read_eval_log(str(path), header_only=True).status == "success":
                found[path.name] = path.stat().st_mtime
    return found


def test_a_killed_sweep_resumes_and_a_finished_one_rests(halides: str, tmp_path: Path) -> None:
    log_dir = tmp_path / "sweep"
    first = subprocess.Popen(command(halides, log_dir))
    until = time.monotonic() + 120
    while not (log_dir.exists() and finished(log_dir)) and time.monotonic() < until:
        time.sleep(0.1)
    first.kill()
    first.wait()
    before = finished(log_dir)
    assert 1 <= len(before) < 5
    assert subprocess.run(command(halides, log_dir), check=False).returncode == 0
    after = finished(log_dir)
    assert before.items() <= after.items()  # what was done was left alone
    headers = [read_eval_log(i, header_only=True) for i in list_eval_logs(str(log_dir))]
    assert {h.status for h in headers} == {"success"}
    runs = sorted((h.eval.task_args["harness"], h.eval.model) for h in headers)
    assert runs == [
        ("hep", "hepbench/hasty"),
        ("hep", "hepbench/scientist"),
        ("majority", "none/none"),
        ("planning", "hepbench/hasty"),
        ("planning", "hepbench/scientist"),
    ]
    assert subprocess.run(command(halides, log_dir), check=False).returncode == 0
    assert finished(log_dir) == after


def test_bad_requests_are_one_line(tmp_path: Path) -> None:
    for wrong, said in (
        (["--harness", "hepp"], "a harness is one of hep, planning"),
        (["--harness", "hep"], "needs one: --model"),
        (["--harness", "majority", "--task", "nowhere"], "unknown family 'nowhere'"),
        (["--harness", "majority", "-T", "budget=1"], "budget"),
    ):
        done = CliRunner().invoke(app, ["sweep", str(tmp_path / "x"), *wrong])
        assert done.exit_code == 2
        assert said in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_epochs_at_once_do_not_mix(run_halides: Callable[..., EvalLog]) -> None:
    log = run_halides("hep", "hepbench/hasty", epochs=3, max_samples=3, sample_id="halides", limit=None)
    assert log.samples
    runs = [s.store_as(RegistryStore) for s in log.samples]
    assert len({r.state().run_id for r in runs}) == 3
    first = [e.payload for e in runs[0].run.events]
    assert all([e.payload for e in r.run.events] == first for r in runs)
