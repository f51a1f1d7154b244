"""What stands in results/ is of its published form, and the scripted policies still reproduce it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from inspect_ai import eval as inspect_eval

from hepbench.benchmark.check import Outcome, check_runs, make_baseline, read_baseline, read_margins
from hepbench.benchmark.leaderboard.collect import collect
from hepbench.benchmark.leaderboard.forms import schema_json, to_csv, to_json, to_markdown
from hepbench.benchmark.leaderboard.pool import readings
from hepbench.reports.board import Leaderboard
from hepbench.reports.pages import leaderboard_page
from hepbench.tasks.ao2 import ao2

RESULTS = Path(__file__).parents[2] / "results"
BOARD = RESULTS / "leaderboard"


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


def test_the_baseline_holds_every_entry_of_the_leaderboard() -> None:
    board = Leaderboard.model_validate_json((BOARD / "leaderboard.json").read_bytes())
    kept = {(entry.model, entry.harness) for entry in read_baseline(RESULTS / "baseline.json").entries}
    assert kept == {(entry.model, entry.harness) for entry in board.entries}


@pytest.mark.parametrize(
    ("model", "harness"),
    [("hepbench/scientist", "hep"), ("hepbench/hasty", "hep"), ("none/none", "majority")],
)
def test_scripted_policies_reproduce_the_baseline(tmp_path: Path, model: str, harness: str) -> None:
    """If this fails after a wanted change, results/README.md says how the baseline is made anew."""
    inspect_eval(ao2(harness=harness), model=model, log_dir=str(tmp_path), display="log")
    found = collect([str(tmp_path)], readings, comparable=False)
    key = make_baseline(found).entries[0].key
    baseline = read_baseline(RESULTS / "baseline.json")
    mine = [e for e in baseline.entries if e.key == key and e.task == "hepbench/ao2"]
    verdict = check_runs(baseline.model_copy(update={"entries": tuple(mine)}), found, read_margins())
    assert mine
    assert verdict.outcome is Outcome.PASS, [c.message for c in verdict.checks]
