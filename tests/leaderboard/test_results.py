"""What stands in results/ is of its published form, and the scripted policies still reproduce it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from inspect_ai import Task
from inspect_ai import eval as inspect_eval

from hepbench.benchmark.check import Outcome, check_runs, read_baseline, read_margins
from hepbench.benchmark.leaderboard.build import build_leaderboard
from hepbench.benchmark.leaderboard.collect import collect
from hepbench.benchmark.leaderboard.forms import schema_json, to_csv, to_json, to_markdown
from hepbench.benchmark.leaderboard.pool import readings
from hepbench.harness.agents.harnesses import FLOORS, HarnessName
from hepbench.reports.board import Leaderboard
from hepbench.reports.pages import leaderboard_page
from hepbench.tasks.a2bbo6 import a2bbo6
from hepbench.tasks.ao2 import ao2
from hepbench.tasks.mx import mx

RESULTS = Path(__file__).parents[2] / "results"
BOARD = RESULTS / "leaderboard"
TASKS: dict[str, Callable[..., Task]] = {"a2bbo6": a2bbo6, "ao2": ao2, "mx": mx}


def test_the_leaderboard_fits_its_schema_and_all_forms_are_of_one_make() -> None:
    document = json.loads((BOARD / "leaderboard.json").read_text(encoding="utf-8"))
    schema = (BOARD / "leaderboard.schema.json").read_text(encoding="utf-8")
    assert schema == schema_json()
    jsonschema.validate(document, json.loads(schema))
    board = Leaderboard.model_validate(document)
    made = {"json": to_json, "csv": to_csv, "md": to_markdown, "html": leaderboard_page}
    for kind, make in made.items():
        assert (BOARD / f"leaderboard.{kind}").read_text(encoding="utf-8") == make(board), kind
    assert board.left_out == ()
    assert {entry.kind for entry in board.entries} >= {"scripted policy", "floor"}


def test_the_baseline_holds_every_row_that_is_no_models() -> None:
    board = Leaderboard.model_validate_json((BOARD / "leaderboard.json").read_bytes())
    kept = {(entry.model, entry.harness) for entry in read_baseline(RESULTS / "baseline.json").entries}
    assert kept == {(entry.model, entry.harness) for entry in board.entries if entry.kind != "model"}


@pytest.mark.parametrize("part", ["heldout_interpolation", "heldout_extrapolation"])
@pytest.mark.parametrize("task", TASKS)
def test_the_scripted_scientist_beats_the_majority(task: str, part: str) -> None:
    scores = {
        entry.harness: entry.runs[0].scores[part]
        for entry in read_baseline(RESULTS / "baseline.json").entries
        if entry.task == f"hepbench/{task}"
        and (entry.model == "hepbench/scientist" or entry.harness in FLOORS)
    }
    assert scores["hep"] > scores["majority"]


def test_logs_that_were_sent_give_their_rows() -> None:
    sent = RESULTS / "logs"
    if not sent.is_dir():
        pytest.skip("nobody has sent logs yet")
    board = Leaderboard.model_validate_json((BOARD / "leaderboard.json").read_bytes())
    assert wrong_rows(sent, board) == []


def test_a_row_that_its_logs_do_not_give_is_found(tmp_path: Path) -> None:
    inspect_eval(ao2(harness="majority"), model="none/none", log_dir=str(tmp_path), display="log")
    honest = build_leaderboard(collect([str(tmp_path)], readings))
    assert wrong_rows(tmp_path, honest) == []
    (row,) = honest.entries
    better = row.model_copy(update={"accuracy": row.accuracy.model_copy(update={"value": 1.0})})
    assert wrong_rows(tmp_path, honest.model_copy(update={"entries": (better,)})) == ["majority"]
    (tmp_path / "damaged.eval").write_bytes(b"PK")
    assert wrong_rows(tmp_path, honest) == ["damaged.eval"]


def wrong_rows(logs: Path, board: Leaderboard) -> list[str]:
    """Logs that do not count, and rows that a leaderboard does not hold as these logs give them.

    Rank and tie group depend on every row of a board, these logs' or not.
    """
    ranking = {"rank": None, "tie_group": None, "not_ranked": ""}
    made = build_leaderboard(collect([str(logs)], readings), [task.task for task in board.suite])
    published = [entry.model_copy(update=ranking) for entry in board.entries]
    wrong = [entry.name for entry in made.entries if entry.model_copy(update=ranking) not in published]
    return wrong + [left.log for left in made.left_out]


@pytest.mark.parametrize("harness", sorted(FLOORS))
def test_the_floors_reproduce_the_baseline(tmp_path: Path, harness: HarnessName) -> None:
    """On every task: they ask no model, and take no time."""
    tasks = [make(harness=harness) for make in TASKS.values()]
    inspect_eval(tasks, model="none/none", log_dir=str(tmp_path), display="log")
    assert reproduced(tmp_path) == set(TASKS)


def test_a_whole_sweep_reproduces_the_baseline(tmp_path: Path) -> None:
    """Three tasks, four harnesses, two policies and the floors, by the commands of results/README.md.

    If this fails after a wanted change, that file says how the baseline is made anew.
    """
    models = ("-m", "hepbench/scientist", "-m", "hepbench/hasty")
    hepbench("sweep", str(tmp_path), *models, "--display", "log")
    said = hepbench("check", str(tmp_path), "--baseline", str(RESULTS / "baseline.json"))
    assert "PASS" in said
    assert "FAIL" not in said


def hepbench(*arguments: str) -> str:
    """What a command says that ends well."""
    program = [sys.executable, "-c", "from hepbench.benchmark.cli import main; main()", *arguments]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=1_200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def reproduced(logs: Path) -> set[str]:
    """The tasks of one entry's logs, of which each gives what the baseline holds of it."""
    found = collect([str(logs)], readings, comparable=False)
    (key,) = found.entries
    baseline = read_baseline(RESULTS / "baseline.json")
    mine = tuple(e for e in baseline.entries if e.key == key and e.task in found.tasks)
    verdict = check_runs(baseline.model_copy(update={"entries": mine}), found, read_margins())
    assert verdict.outcome is Outcome.PASS, [c.message for c in verdict.checks]
    return {entry.task.removeprefix("hepbench/") for entry in mine}
