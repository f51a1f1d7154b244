"""Rows, ranks, and the forms of the leaderboard."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import jsonschema
import made_logs
import pytest
from made_folders import MODEL_A, MODEL_B, SCRIPTED
from made_logs import Run, make_logs
from typer.testing import CliRunner
from unaudited import saying, unaudited

from hepbench.benchmark.cli import app
from hepbench.benchmark.leaderboard.build import build_leaderboard
from hepbench.benchmark.leaderboard.collect import collect
from hepbench.benchmark.leaderboard.forms import schema_json, to_csv, to_json, to_markdown
from hepbench.reports.board import Entry, Leaderboard
from hepbench.reports.logs import LogError
from hepbench.reports.records import differing


@pytest.fixture
def board(suite_logs: Path) -> Leaderboard:
    return build_leaderboard(collect([str(suite_logs)], unaudited))


def entry(board: Leaderboard, name: str) -> Entry:
    return next(e for e in board.entries if e.name == name)


def test_a_row_is_a_model_with_a_harness_over_the_suite(board: Leaderboard) -> None:
    assert [task.task for task in board.suite] == ["hepbench/ao2", "hepbench/mx"]
    assert {e.name for e in board.entries} == {
        f"{SCRIPTED} · hep",
        f"{MODEL_A} · hep",
        f"{MODEL_A} · planning",
        f"{MODEL_B} · hep",
        "mockllm/only-ao2 · react",
        "majority",
    }
    row = entry(board, f"{MODEL_A} · hep")
    by_task = [task.accuracy.value for task in row.tasks]
    assert row.accuracy.value == pytest.approx(sum(by_task) / 2, abs=1e-6)
    assert (row.runs, row.errors, row.accuracy.items, row.accuracy.clusters) == (6, 0, 31, 9)
    assert row.accuracy.low is not None
    assert row.accuracy.low < row.accuracy.value
    assert row.process["hypothesis_count"] == 5
    assert "hypothesis_count" not in entry(board, f"{MODEL_A} · planning").process


def test_one_family_alone_gives_no_interval(board: Leaderboard) -> None:
    """Each made task leaves one chemical family out for extrapolation."""
    part = entry(board, f"{MODEL_A} · hep").extrapolation
    assert part is not None
    assert part.low is None
    assert "one cluster" in part.note


def test_entries_of_a_rank_cannot_be_told_apart(board: Leaderboard) -> None:
    ranked = [e for e in board.entries if e.rank is not None]
    assert ranked[0].rank == 1
    assert entry(board, "majority").rank == len(ranked)
    assert entry(board, "majority").tie_group == 2


def test_incomplete_entries_are_not_ranked(board: Leaderboard) -> None:
    row = entry(board, "mockllm/only-ao2 · react")
    assert row.rank is None
    assert row.not_ranked == "no run of hepbench/mx"
    assert board.entries[-1] == row


def test_failed_samples_count_as_wrong(board: Leaderboard) -> None:
    row = entry(board, f"{MODEL_B} · hep")
    assert row.errors == 1
    ao2 = next(t for t in row.tasks if t.task == "hepbench/ao2")
    assert (ao2.errors, ao2.epochs) == (1, 2)
    assert ao2.accuracy.value <= 0.5


def test_failing_improves_no_mean(tmp_path: Path) -> None:
    """All compounds of a failed run are wrong, at the highest regret; no prediction has a Brier score."""
    make_logs(tmp_path / "one", Run(MODEL_A, noise=False))
    make_logs(tmp_path / "two", Run(MODEL_A, noise=False, epochs=2, fails=[2]))
    (one,), (two,) = (
        build_leaderboard(collect([str(tmp_path / name)], unaudited)).entries for name in ("one", "two")
    )
    assert two.accuracy.value == pytest.approx(one.accuracy.value / 2)
    name = "heldout_balanced_accuracy"
    assert two.measures[name] == pytest.approx(one.measures[name] / 2, abs=1e-6)
    assert two.measures["heldout_skill"] < one.measures["heldout_skill"]
    assert two.measures["heldout_regret"] > one.measures["heldout_regret"]
    for name in ("brier", "ece"):
        assert two.measures[name] == one.measures[name]


def test_runs_under_other_conditions_are_left_out_with_the_reason(board: Leaderboard) -> None:
    (left,) = board.left_out
    said = "not comparable with the other runs of hepbench/ao2 (theirs ≠ this): laboratory budget: 160 ≠ 80"
    assert left.reason == said


def test_of_rules_only_those_that_differ_are_named() -> None:
    one, other = ({"rules": {"support_threshold": high, "min_prior": 0.01}} for high in (0.8, 0.95))
    assert differing(one, other) == ["protocol rules: support_threshold 0.8 ≠ 0.95"]
    assert differing(one, {}) == ['protocol rules: {"min_prior": 0.01, "support_threshold": 0.8} ≠ none']


@pytest.mark.parametrize("condition", ["task_version", "potential", "weights_sha256", "reference_sha256"])
def test_a_floor_of_another_question_stands_beside_no_row(
    condition: str, tmp_path: Path, no_audit: None
) -> None:
    make_logs(tmp_path, Run(SCRIPTED), Run("none/none", "majority", about={condition: "another"}))
    board = build_leaderboard(collect([str(tmp_path)], unaudited))
    assert [e.name for e in board.entries] == [f"{SCRIPTED} · hep"]
    assert "≠ another" in board.left_out[0].reason
    done = CliRunner().invoke(app, ["leaderboard", str(tmp_path)])
    assert (done.exit_code, "≠ another" in " ".join(done.output.split())) == (0, True), done.output


def test_a_floor_has_neither_laboratory_nor_limits_nor_a_vote(tmp_path: Path) -> None:
    there = {"lab_budget": 1, "turn_limit": 2, "live_time_limit": 3.0, "database": "off"}
    floors = [Run("none/none", name, about=there) for name in ("majority", "decision_tree")]
    make_logs(tmp_path, Run(SCRIPTED), *floors)
    board = build_leaderboard(collect([str(tmp_path)], unaudited))
    assert board.left_out == ()
    assert {e.kind for e in board.entries} == {"scripted policy", "floor"}
    assert board.suite[0].conditions["lab_budget"] == 160


def test_floors_alone_make_a_board(tmp_path: Path) -> None:
    make_logs(tmp_path, Run("none/none", "majority"), Run("none/none", "decision_tree"))
    board = build_leaderboard(collect([str(tmp_path)], unaudited))
    assert [e.kind for e in board.entries] == ["floor", "floor"]


@pytest.mark.parametrize("command", ["leaderboard", "report"])
def test_compounds_of_two_families_are_one_line(
    command: str, tmp_path: Path, no_audit: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_logs(tmp_path / "logs", Run(MODEL_A))
    compounds = " ".join(made_logs.FAMILIES.values())
    monkeypatch.setattr(made_logs, "FAMILIES", {"one family": compounds})
    make_logs(tmp_path / "logs", Run(MODEL_A))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, [command, str(tmp_path / "logs")])
    assert done.exit_code == 4
    assert "stands in two clusters" in done.output


@pytest.mark.parametrize(
    ("condition", "value"),
    [("turn_limit", 5_000), ("context_limit", 8_000), ("live_time_limit", 5.0), ("database", "off")],
)
def test_limits_are_conditions(condition: str, value: object, tmp_path: Path) -> None:
    make_logs(tmp_path, Run(MODEL_A), Run(MODEL_B), Run("mockllm/c", about={condition: value}))
    board = build_leaderboard(collect([str(tmp_path)], unaudited))
    assert {e.model for e in board.entries} == {MODEL_A, MODEL_B}
    assert len(board.left_out) == 1


def test_an_audited_run_is_in_no_table_of_unaudited_ones(tmp_path: Path) -> None:
    make_logs(tmp_path, Run(MODEL_A), Run(MODEL_B), Run("mockllm/c", roles={"auditor": "mockllm/b"}))
    board = build_leaderboard(collect([str(tmp_path)], unaudited))
    assert {entry.model for entry in board.entries} == {MODEL_A, MODEL_B}
    assert board.suite[0].conditions["auditor"] is None
    assert board.left_out[0].reason.endswith("independent auditor: none ≠ mockllm/b")


def test_logs_that_fail_the_audit_are_left_out(suite_logs: Path) -> None:
    def check(where: str) -> list[str]:
        return ["event 7: content does not match its hash", "another"] if "_mx_" in where else []

    board = build_leaderboard(collect([str(suite_logs)], saying(check)))
    assert [task.task for task in board.suite] == ["hepbench/ao2"]
    reasons = [left.reason for left in board.left_out if "_mx_" in left.log]
    assert reasons == ["the audit finds: event 7: content does not match its hash (and 1 more)"] * 5


def test_the_same_logs_give_the_same_bytes(suite_logs: Path, tmp_path: Path) -> None:
    copies = [Path(shutil.copy(log, tmp_path)) for log in sorted(suite_logs.glob("*.eval"), reverse=True)]
    asked = [str(tmp_path), *map(str, copies[::-1]), str(suite_logs)]
    there = collect([str(suite_logs)], unaudited)
    here = collect(asked, unaudited)
    for form in (to_json, to_csv, to_markdown):
        assert form(build_leaderboard(here)) == form(build_leaderboard(there))


def test_json_keeps_its_published_schema(board: Leaderboard) -> None:
    document = json.loads(to_json(board))
    jsonschema.validate(document, json.loads(schema_json()))
    assert document["schema"] == "hepbench.leaderboard/1"
    assert Leaderboard.model_validate(document) == board
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"surprise": 1}, json.loads(schema_json()))


def test_csv_has_a_number_in_each_column(board: Leaderboard) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(board))))
    assert [row["rank"] for row in rows] == [str(e.rank or "") for e in board.entries]
    assert float(rows[0]["heldout_accuracy"]) == board.entries[0].accuracy.value


def test_markdown_marks_what_is_no_model(board: Leaderboard) -> None:
    text = to_markdown(board)
    assert "scripted policy, not an LLM" in text
    assert "floor, asks no model" in text


def test_a_suite_can_be_asked_for(suite_logs: Path) -> None:
    board = build_leaderboard(collect([str(suite_logs)], unaudited), ["hepbench/ao2"])
    assert entry(board, "mockllm/only-ao2 · react").rank is not None


def test_a_suite_may_be_asked_for_by_short_names_and_not_by_wrong_ones(
    suite_logs: Path, no_audit: None
) -> None:
    asked = ["leaderboard", str(suite_logs), "--task"]
    short, whole = (CliRunner().invoke(app, [*asked, name]) for name in ("ao2", "hepbench/ao2"))
    assert short.output == whole.output
    assert short.exit_code == 0
    wrong = CliRunner().invoke(app, [*asked, "ao3"])
    assert wrong.exit_code == 4
    assert "--task ao3: no such task in the logs. There are: hepbench/ao2" in wrong.stderr


def test_what_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="There is no log or folder"):
        collect([str(tmp_path / "nowhere")], unaudited)
    with pytest.raises(LogError, match="no eval log in"):
        collect([str(tmp_path)], unaudited)
    with pytest.raises(LogError, match="cannot be looked at"):
        collect(["a" * 300], unaudited)


def test_a_damaged_log_is_left_out(suite_logs: Path, tmp_path: Path) -> None:
    good = shutil.copy(next(suite_logs.glob("*_ao2_*.eval")), tmp_path)
    (tmp_path / "bad.eval").write_bytes(Path(good).read_bytes()[:2_000])
    found = collect([str(tmp_path)], unaudited)
    assert len(found.entries) == 1
    assert [left.log for left in found.left_out] == ["bad.eval"]


def test_command(suite_logs: Path, tmp_path: Path, no_audit: None) -> None:
    asked = ["leaderboard", str(suite_logs), "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(app, asked, env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.output
    assert MODEL_B in done.output
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {f"leaderboard.{kind}" for kind in ("csv", "json", "schema.json", "md", "html")}
    missing = CliRunner().invoke(app, ["leaderboard", str(tmp_path / "nowhere")])
    assert missing.exit_code == 4
    assert "There is no log or folder" in missing.output
