"""Tasks × harnesses × models as one eval set: it ends, it does nothing twice, and it resumes after a kill."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import Result
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


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("--harness hepp", "a harness is one of hep, planning"),
        ("--harness hep", "needs one: --model"),
        ("--harness majority --task nowhere", "unknown family 'nowhere'"),
        ("--harness majority -T budget=1", "budget"),
        ("--harness majority -T harness=hep", "takes its harnesses from --harness"),
        ("--harness majority -T lab_budget", "-T lab_budget: wants -T name=value"),
        ("--harness majority -T rules={", "-T rules: its value is not YAML"),
        ("--harness majority -M =x", "wants -M name=value"),
        ("--harness hep -m nosuch/x", "model nosuch/x: Model API nosuch"),
        ("--harness hep -m openai/gpt-4o", "OPENAI_API_KEY"),
        ("--harness majority --model-role auditr=hepbench/auditor", "there are auditor, grader, reader"),
        ("--harness majority -T journal=reqire", "did you mean require? Or a folder: ./reqire"),
        ("--harness majority -T cache=of", "did you mean off? Or a folder: ./of"),
        ('--harness majority -T rules={"support_treshold":0.9}', "did you mean support_threshold?"),
        ("--harness majority --model-role auditor=nosuch/x", "--model-role auditor: Model API nosuch"),
        ("--harness majority --model-role auditor=[1]", "wants a model's name"),
        ("--harness majority --reasoning-effort big", "--reasoning-effort big: Input should be 'none'"),
        ("--harness majority --limit 0", "--limit 0: wants a number"),
    ],
)
def test_bad_requests_are_one_line(wrong: str, said: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["sweep", str(tmp_path / "x"), *wrong.split()])
    assert done.exit_code == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "[bold]" not in done.stderr
    assert not (tmp_path / "x").exists()


def test_an_unknown_display_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["sweep", str(tmp_path / "x"), "--harness", "majority", "--display", "foo"]
    )
    assert done.exit_code == 2
    assert "'rich'" in done.stderr


def swept(halides: str, log_dir: Path, *words: str) -> Result:
    common = ["-T", "potential=law", "-T", "lab_budget=40", "--display", "none"]
    return CliRunner().invoke(app, ["sweep", str(log_dir), "--task", halides, *common, *words])


def test_models_get_what_they_are_given_and_floors_get_none_of_it(halides: str, tmp_path: Path) -> None:
    words = "--harness closed_book --harness majority -m mockllm/model -M seed=3"
    words += " --model-role reader=hepbench/scientist --model-base-url http://127.0.0.1:1"
    words += " --temperature 0.25 --reasoning-effort low --max-retries 2 --max-tokens 900 --limit 1"
    words += " --max-samples 1 --no-fail-on-error"
    done = swept(halides, tmp_path / "a", *words.split())
    assert done.exit_code == 0, done.output
    headers = [read_eval_log(i, header_only=True) for i in list_eval_logs(str(tmp_path / "a"))]
    asked, majority = sorted(headers, key=lambda h: str(h.eval.task_args["harness"]))
    config = asked.plan.config
    assert (config.temperature, config.reasoning_effort) == (0.25, "low")
    assert (config.max_retries, config.max_tokens) == (2, 900)
    assert asked.eval.model_args == {"seed": 3}
    assert asked.eval.model_base_url == "http://127.0.0.1:1"
    assert list(asked.eval.model_roles or {}) == ["reader"]
    assert (asked.eval.config.limit, asked.eval.config.fail_on_error) == (1, False)
    assert (majority.plan.config.temperature, majority.plan.config.max_tokens) == (None, None)
    assert not majority.eval.model_args
    assert not majority.eval.model_roles
    assert not majority.eval.model_base_url


def test_a_used_folder_is_refused_in_one_line(halides: str, tmp_path: Path) -> None:
    assert swept(halides, tmp_path / "a", "--harness", "majority").exit_code == 0
    done = swept(halides, tmp_path / "a", "--harness", "decision_tree")
    assert done.exit_code == 2
    assert "holds runs that this sweep does not have: name a new folder" in done.stderr
    assert "allow-dirty" not in done.stderr
    (tmp_path / "file").write_text("")
    done = swept(halides, tmp_path / "file", "--harness", "majority")
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)


def test_epochs_at_once_do_not_mix(run_halides: Callable[..., EvalLog]) -> None:
    log = run_halides("hep", "hepbench/hasty", epochs=3, max_samples=3, sample_id="halides", limit=None)
    assert log.samples
    runs = [s.store_as(RegistryStore) for s in log.samples]
    assert len({r.state().run_id for r in runs}) == 3
    first = [e.payload for e in runs[0].run.events]
    assert all([e.payload for e in r.run.events] == first for r in runs)
