"""Two sides, paired by compound."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from made_folders import MODEL_A, MODEL_B
from made_logs import Run, make_logs
from typer.testing import CliRunner
from unaudited import unaudited

from hepbench.benchmark.cli import app
from hepbench.benchmark.compare import Comparison, SideError, compare_sides, sides


def compared(a: str, b: str, logs: Path) -> Comparison:
    return compare_sides(*sides(a, b, [str(logs)], unaudited))


def test_harnesses_are_compared_within_each_model(suite_logs: Path) -> None:
    found = compared("hep", "planning", suite_logs)
    assert [d.of for d in found.tasks] == ["hepbench/ao2", "hepbench/mx"]
    assert [d.of for d in found.within] == [MODEL_A]
    assert found.suite.difference.value == pytest.approx(found.suite.b - found.suite.a)
    assert found.suite.difference.items == 31


def test_models_are_compared_within_each_harness(suite_logs: Path) -> None:
    found = compared(MODEL_A, MODEL_B, suite_logs)
    assert [d.of for d in found.within] == ["hep"]
    assert found.notes == (f"failed samples of {MODEL_B}, counted as wrong: 1",)


def test_an_entry_can_be_held_against_a_floor(suite_logs: Path) -> None:
    found = compared(f"{MODEL_A}@hep", "majority", suite_logs)
    assert found.suite.p < 0.05
    assert found.suite.difference.value < -0.3
    assert len(found.items) > 10
    first = found.items[0]
    assert abs(first.b - first.a) == max(abs(i.b - i.a) for i in found.items)
    assert first.a_predicted in ("rutile", "anatase", "fluorite", "cotunnite")


def test_turning_the_sides_around_turns_the_sign(suite_logs: Path) -> None:
    there, back = compared("hep", "planning", suite_logs), compared("planning", "hep", suite_logs)
    assert there.suite.difference.value == pytest.approx(-back.suite.difference.value)
    assert there.suite.p == back.suite.p


def test_folders_are_compared_by_what_they_share(suite_logs: Path, tmp_path: Path) -> None:
    for log in suite_logs.glob("*.eval"):
        shutil.copy(log, tmp_path)
    found = compared(str(suite_logs), str(tmp_path), suite_logs)
    assert found.suite.difference.value == 0
    assert found.suite.p == 1
    assert "no item" in found.suite.difference.note
    assert len(found.within) == 6


def test_options_may_be_left_out_where_they_are_clear(tmp_path: Path) -> None:
    make_logs(tmp_path, *(Run(MODEL_A, options={"reasoning_effort": e}) for e in ("low", "high")))
    make_logs(tmp_path, Run(MODEL_B, options={"seed": 1}))
    a, b = f"{MODEL_A} (reasoning_effort=high)", f"{MODEL_B} (seed=1)"
    assert compared(a, MODEL_B, tmp_path).suite == compared(a, b, tmp_path).suite
    assert compared(f"{a}@hep", f"{MODEL_B}@hep", tmp_path).suite.difference.items == 16
    with pytest.raises(SideError, match=rf"{MODEL_A} is neither .* \(reasoning_effort=low"):
        compared(MODEL_A, MODEL_B, tmp_path)


def test_other_conditions_are_refused(tmp_path: Path) -> None:
    make_logs(tmp_path / "a", Run())
    make_logs(tmp_path / "b", Run(about={"lab_budget": 80}))
    with pytest.raises(SideError, match="laboratory budget: 160 ≠ 80"):
        compared(str(tmp_path / "a"), str(tmp_path / "b"), tmp_path)


def test_an_auditor_is_a_condition(tmp_path: Path) -> None:
    make_logs(tmp_path / "a", Run())
    make_logs(tmp_path / "b", Run(roles={"auditor": "mockllm/b"}))
    with pytest.raises(SideError, match="independent auditor: none ≠ mockllm/b"):
        compared(str(tmp_path / "a"), str(tmp_path / "b"), tmp_path)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ("nobody", "hep", "nobody is neither a log nor a folder"),
        ("a" * 300, "hep", "is neither a log nor a folder"),
        ("hep", "hep", "hep is both sides"),
        ("mockllm/only-ao2", MODEL_B, "nothing in common"),
        (f"{MODEL_A}", "planning", "several entries"),
    ],
)
def test_sides_that_cannot_be_compared(suite_logs: Path, a: str, b: str, message: str) -> None:
    if message == "nothing in common":  # one stratum on each side is compared whatever it is called
        assert compared(a, b, suite_logs).suite.difference.items == 16
        return
    with pytest.raises(SideError, match=message):
        compared(a, b, suite_logs)


def test_command(suite_logs: Path, tmp_path: Path, no_audit: None) -> None:
    as_json, as_markdown = tmp_path / "c.json", tmp_path / "c.md"
    options = ["--logs", str(suite_logs), "--json", str(as_json), "--markdown", str(as_markdown)]
    done = CliRunner().invoke(app, ["compare", "hep", "planning", *options])
    assert done.exit_code == 0, done.output
    document = json.loads(as_json.read_text())
    assert {"suite", "tasks", "within", "items"} <= document.keys()
    assert document["suite"]["smallest_detectable"] > 0
    assert "points" in as_markdown.read_text()
    wrong = CliRunner().invoke(app, ["compare", "hep", "nobody", "--logs", str(suite_logs)])
    assert wrong.exit_code == 4
    assert "There are:" in wrong.output
