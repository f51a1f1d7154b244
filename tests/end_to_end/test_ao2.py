"""`hepbench/ao2` as it ships: both scripted policies on the real task, as a user meets them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai import score
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog, read_eval_log
from typer.testing import CliRunner

from hepbench.benchmark.cli import app
from hepbench.harness.laboratory.potentials import DEFAULT_POTENTIAL
from hepbench.harness.laboratory.reference import ReferenceSet
from hepbench.harness.protocol.events import MECHANISMS, chain_faults
from hepbench.harness.protocol.state import RunState
from hepbench.harness.protocol.store import RegistryStore
from hepbench.scorers import suite_scorers
from hepbench.tasks import families
from hepbench.tasks.ao2 import ao2

OF_TIME = {"time", "hash", "previous_hash"}
"""What may differ between two runs: the times, and the hashes that cover them."""


def run(folder: Path, model: str, **given: Any) -> EvalLog:
    log = inspect_eval(ao2(**given), model=model, log_dir=str(folder), display="none")[0]
    assert log.status == "success", log.error
    return log


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    return run(tmp_path_factory.mktemp("demo"), "hepbench/scientist")


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    return run(tmp_path_factory.mktemp("hasty"), "hepbench/hasty")


def record(log: EvalLog) -> RegistryStore:
    assert log.samples
    return log.samples[0].store_as(RegistryStore)


def state(log: EvalLog) -> RunState:
    return record(log).state()


def values(log: EvalLog) -> dict[str, float]:
    """Every score of the run, by its key."""
    assert log.results
    return {
        s.name if name in ("mean", "") else name: m.value
        for s in log.results.scores
        for name, m in s.metrics.items()
    }


def timeless(log: EvalLog) -> list[dict[str, Any]]:
    return [e.model_dump(mode="json", exclude=OF_TIME) for e in record(log).run.events]


def test_two_demo_runs_are_the_same_but_for_times(demo: EvalLog, tmp_path: Path) -> None:
    again = run(tmp_path, "hepbench/scientist")
    assert timeless(again) == timeless(demo)
    assert repr(values(again)) == repr(values(demo))  # repr: NaN is what an unscored value is


def test_the_scientist_goes_all_the_way(demo: EvalLog) -> None:
    ended, scores = state(demo), values(demo)
    assert {h.mechanism for h in ended.hypotheses.values()} == set(MECHANISMS)
    assert not any(h.is_open for h in ended.hypotheses.values())
    assert scores["resolution_rate"] == 1.0
    assert scores["belief_flips"] >= 1
    assert ended.refusals == []
    assert ended.ended == "finished by the agent"
    assert not chain_faults(record(demo).run.events)


def test_the_hasty_policy_is_told_apart(demo: EvalLog, hasty: EvalLog) -> None:
    good, bad = values(demo), values(hasty)
    assert bad["resolution_rate"] <= good["resolution_rate"] - 0.5
    assert bad["refusal_rate"] > 0.3 > good["refusal_rate"]
    assert bad["heldout_accuracy"] < good["heldout_accuracy"]
    assert {r.gate.split(",")[0] for r in state(hasty).refusals} >= {"1", "3"}
    assert any(h.is_open for h in state(hasty).hypotheses.values())


def test_both_say_that_they_are_no_llm(demo: EvalLog, hasty: EvalLog) -> None:
    for log in (demo, hasty):
        assert log.samples
        first = next(m for m in log.samples[0].messages if m.role == "assistant")
        assert "not an LLM" in first.text


def test_an_old_log_scores_the_same_again(demo: EvalLog) -> None:
    again = score(read_eval_log(demo.location), suite_scorers(), action="overwrite", display="none")
    assert repr(values(again)) == repr(values(demo))


def test_the_readme_shows_what_the_demo_prints(demo: EvalLog) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    shown = readme.partition("<!-- demo -->")[2].partition("<!-- /demo -->")[0].split("```")[1]
    printed = CliRunner().invoke(app, ["scores", demo.location]).output
    lines = {line.rstrip() for line in printed.splitlines()}
    assert len(shown.splitlines()) > 20
    assert [line for line in shown.splitlines()[1:] if line and line != "…" and line not in lines] == []


def test_the_majority_label_scores_under_0_6_on_both_parts(tmp_path: Path) -> None:
    scores = values(run(tmp_path, "mockllm/model", harness="majority"))
    assert 0 <= scores["heldout_interpolation"] < 0.6
    assert 0 <= scores["heldout_extrapolation"] < 0.6


EVAL = """
import atexit, sys
from pathlib import Path

def report():
    heavy = sorted({"torch", "chgnet", "mace"} & set(sys.modules))
    # Not ru_maxrss: over an exec that one keeps the size of the process that forked.
    peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
    print("heavy:", heavy, "MB:", int(peak) // 1024, file=sys.stderr)

atexit.register(report)
from inspect_ai._cli.main import main
sys.argv = ["inspect", "eval", "hepbench/ao2", "--model", "hepbench/hasty", "--log-dir", "logs"]
main()
"""


def test_from_a_folder_with_tasks_of_its_own_and_without_torch(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    for name in ("__init__.py", "ao2.py", "_registry.py"):
        (tmp_path / "tasks" / name).write_text('raise RuntimeError("not these tasks")\n')
    done = subprocess.run(
        [sys.executable, "-c", EVAL],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "INSPECT_DISPLAY": "plain"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "logs").glob("*.eval")
    log = read_eval_log(str(path), header_only=True)
    assert log.status == "success"
    assert (log.eval.task, log.eval.task_version) == ("ao2", version_of_ao2())
    heavy, memory = done.stderr.splitlines()[-1].removeprefix("heavy: ").split(" MB: ")
    assert heavy == "[]"
    assert int(memory) < 400


def version_of_ao2() -> str:
    return str(ao2().version)


def test_a_set_that_lacks_compounds_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ReferenceSet.load(families.reference_path("ao2", DEFAULT_POTENTIAL))
    half = {k: v for k, v in whole.relaxations.items() if k[0] != "SnO2"}
    monkeypatch.setattr(ReferenceSet, "load", lambda path: replace(whole, relaxations=half))
    with pytest.raises(PrerequisiteError, match=r"another version of the family: it has no SnO2") as told:
        ao2()
    assert "\n" not in str(told.value)
