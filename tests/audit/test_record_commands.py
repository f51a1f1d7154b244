"""`hepbench audit`, `journal` and `hypotheses`: exit codes, forms, and one line for what cannot be read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import forging
import pytest
from click.testing import Result
from honest_runs import scientist_log
from typer.testing import CliRunner

from hepbench.benchmark.cli import app


@pytest.fixture
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scientist_log(tmp_path_factory.getbasetemp())


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def journal_of(log: Path) -> Path:
    (path,) = log.with_suffix(".journal").iterdir()
    return path


def forged(log: Path, tmp_path: Path) -> Path:
    def edit(sample: forging.Sample) -> None:
        forging.first(sample, "BeliefUpdated")["payload"]["after"] = 0.99

    forging.forge(log, tmp_path / "forged.eval", edit)
    return tmp_path / "forged.eval"


def test_clean_is_zero(log: Path) -> None:
    result = run("audit", log)
    assert result.exit_code == 0, result.output
    assert "clean: 1 log" in result.output


def test_a_folder_and_a_journal(log: Path) -> None:
    assert run("audit", log.parent).exit_code == 0
    assert run("audit", journal_of(log)).exit_code == 0


def test_findings_are_one(log: Path, tmp_path: Path) -> None:
    result = run("audit", forged(log, tmp_path))
    assert result.exit_code == 1
    assert "✗ chain: ao2/1, event" in result.output


def test_unreadable_is_two_and_the_others_are_audited_all_the_same(log: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.eval").write_bytes(b"no log")
    result = run("audit", tmp_path / "bad.eval", log)
    assert result.exit_code == 2
    assert "bad.eval cannot be read" in result.output
    assert "clean: 1 log" in result.output


def test_json(log: Path, tmp_path: Path) -> None:
    result = run("audit", "--json", log, forged(log, tmp_path))
    assert result.exit_code == 1
    clean, bad = json.loads(result.stdout)
    assert clean["clean"]
    assert clean["checks"]["gates"] == "holds"
    assert {"check", "event", "sample", "text"} == set(bad["findings"][0])


def test_recomputation_needs_the_potential(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hepbench.reports.audit import audit as module
    from hepbench.reports.audit.recompute import RecomputeError

    def missing(subjects: Sequence[Any]) -> None:
        raise RecomputeError("chgnet is not installed: pip install 'hepbench[chgnet]'")

    monkeypatch.setattr(module, "require", missing)
    result = run("audit", "--recompute", "2", log)
    assert result.exit_code == 2
    assert "pip install" in result.output


def test_journal_show(log: Path, tmp_path: Path) -> None:
    result = run("journal", "show", journal_of(log))
    assert result.exit_code == 0
    assert "closed" in result.output
    assert "HypothesisProposed" in result.output
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(journal_of(log).read_bytes()[:-40])
    result = run("journal", "show", torn)
    assert result.exit_code == 0
    assert "torn last line" in result.output
    assert "not closed" in result.output


def test_a_folder_with_one_journal_is_that_journal(log: Path, tmp_path: Path) -> None:
    folder = journal_of(log).parent
    assert run("journal", "show", folder).stdout == run("journal", "show", journal_of(log)).stdout
    for wrong, said in ((tmp_path, "holds 0 journals"), (log, "is an eval log: `hepbench hypotheses`")):
        result = run("journal", "show", wrong)
        assert result.exit_code == 2
        assert said in result.stderr


def test_journal_show_as_json(log: Path) -> None:
    lines = run("journal", "show", "--json", journal_of(log)).stdout.splitlines()
    assert json.loads(lines[0])["type"] == "RunStarted"


def test_journal_show_names_damage(log: Path, tmp_path: Path) -> None:
    lines = journal_of(log).read_text().splitlines(keepends=True)
    (tmp_path / "bad.jsonl").write_text("".join([lines[0], "garbage\n", *lines[2:]]))
    result = run("journal", "show", tmp_path / "bad.jsonl")
    assert result.exit_code == 1
    assert "line 2 is no event" in result.output


def test_journal_diff(log: Path, tmp_path: Path) -> None:
    assert run("journal", "diff", journal_of(log), log).exit_code == 0
    result = run("journal", "diff", journal_of(log), forged(log, tmp_path))
    assert result.exit_code == 1
    assert "BeliefUpdated.after is 0.99 in the log" in result.output
    short = tmp_path / "short.jsonl"
    short.write_text("".join(journal_of(log).read_text().splitlines(keepends=True)[:10]))
    result = run("journal", "diff", short, log)
    assert result.exit_code == 1
    assert "the journal does not" in result.output


@pytest.mark.parametrize("command", [["journal", "show"], ["audit"], ["hypotheses"], ["scores"]])
def test_nothing_there_and_nothing_readable_is_two_and_one_line(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("no journal")
    (tmp_path / "bad.eval").write_text("no log")
    for name in ("none.eval", "bad.jsonl", "bad.eval"):
        result = run(*command, tmp_path / name)
        assert result.exit_code == 2, (name, result.output)
        assert len(result.output.strip().splitlines()) <= 2


def test_hypotheses_as_a_tree(log: Path) -> None:
    result = run("hypotheses", log)
    assert result.exit_code == 0
    assert "H1 de_novo" in result.output
    assert "refuted" in result.output


def test_hypotheses_of_a_journal_and_one_alone(log: Path) -> None:
    result = run("hypotheses", journal_of(log), "--id", "H2")
    assert result.exit_code == 0
    assert "StateChanged" in result.output
    result = run("hypotheses", log, "--id", "H99")
    assert result.exit_code == 1
    assert "there is no hypothesis H99" in result.output


def test_hypotheses_as_json_and_markdown(log: Path) -> None:
    rows = json.loads(run("hypotheses", log, "--format", "json").stdout)
    assert rows[0]["hypotheses"][0]["id"] == "H1"
    one = json.loads(run("hypotheses", log, "--format", "json", "--id", "H1").stdout)
    assert one[0]["hypotheses"][0]["events"][0]["type"] == "HypothesisProposed"
    markdown = run("hypotheses", log, "--format", "md", "--id", "H1").stdout
    assert "| H1 | de_novo |" in markdown


def test_an_epoch_that_there_is_not(log: Path) -> None:
    assert run("hypotheses", log, "--epoch", "7").exit_code == 1
