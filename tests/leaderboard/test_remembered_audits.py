"""An audit's outcome is remembered for as long as nothing changes that it depends on."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hepbench.benchmark.cli import app
from hepbench.benchmark.leaderboard import memory, reading
from hepbench.benchmark.leaderboard.collect import collect
from hepbench.benchmark.leaderboard.pool import readings
from hepbench.reports.audit.subject import Finding
from hepbench.reports.opening import LoggedSample, OpenLog


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The logs that were really audited."""
    done: list[str] = []

    class Report:
        findings = (Finding("chain", "content does not match its hash", 3),)

    class Audit:
        def __init__(self, log: OpenLog) -> None:
            self.where = log.where

        def take(self, logged: LoggedSample) -> None:
            pass

        def report(self) -> Report:
            done.append(self.where)
            return Report()

    (tmp_path / "cache").mkdir()
    monkeypatch.setenv(memory.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(reading, "LogAudit", Audit)
    return done


def findings_of(where: str) -> tuple[str, ...]:
    (found,) = readings([where])
    return found.findings


@pytest.fixture
def log(suite_logs: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(next(suite_logs.glob("*.eval")), tmp_path / "a.eval"))


def test_a_log_is_audited_once_whatever_it_is_called(asked: list[str], log: Path) -> None:
    first = findings_of(str(log))
    again = findings_of(log.as_uri())
    moved = findings_of(str(shutil.copy(log, log.with_name("b.eval"))))
    assert first == again == moved
    assert "content does not match" in first[0]
    assert len(asked) == 1


def test_a_changed_log_is_audited_again(asked: list[str], log: Path) -> None:
    findings_of(str(log))
    log.write_bytes(log.read_bytes() + b" ")
    findings_of(str(log))
    assert len(asked) == 2


def test_a_changed_journal_is_looked_at_again(asked: list[str], log: Path) -> None:
    findings_of(str(log))
    folder = memory.journals_beside(str(log))
    folder.mkdir()
    (folder / "ao2_epoch_1_x.jsonl").write_text("{}\n")
    findings_of(str(log))
    assert len(asked) == 2


def test_another_installation_audits_again(
    asked: list[str], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings_of(str(log))
    memory._digest.cache_clear()
    monkeypatch.setattr(memory, "_installation", lambda: "another")
    findings_of(str(log))
    assert len(asked) == 2


def test_without_a_cache_every_audit_is_made(
    asked: list[str], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(memory.VARIABLE, "off")
    findings_of(str(log))
    findings_of(str(log))
    assert len(asked) == 2


@pytest.mark.parametrize("damaged", ["[", "[]", "{}", '{"runs": [{}], "findings": []}', '{"runs": 5}'])
def test_a_damaged_memory_is_no_obstacle(asked: list[str], log: Path, tmp_path: Path, damaged: str) -> None:
    findings_of(str(log))
    (kept,) = (tmp_path / "cache" / "logs").iterdir()
    kept.write_text(damaged)
    findings_of(str(log))
    assert len(asked) == 2


def test_what_cannot_be_read_is_tried_again(asked: list[str], tmp_path: Path) -> None:
    log = tmp_path / "a.eval"
    log.write_bytes(b"PK")
    assert [found.unreadable != "" for found in readings([str(log), str(log)])] == [True, True]
    assert not (tmp_path / "cache" / "logs").exists()


def test_a_new_folder_is_made_and_holds_both(
    asked: list[str], log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(memory.VARIABLE, str(tmp_path / "new" / "folder"))
    findings_of(str(log))
    assert list((tmp_path / "new" / "folder" / "logs").iterdir())
    said = CliRunner().invoke(app, ["cache", "info"]).output.splitlines()
    assert said[0] == str(tmp_path / "new" / "folder" / "live.db")
    assert said[2] == str(tmp_path / "new" / "folder" / "logs")
    assert said[3].startswith("1 outcomes of reading logs, ")


def test_the_memory_is_cleared_and_what_is_not_its_own_stays(
    asked: list[str], log: Path, tmp_path: Path
) -> None:
    findings_of(str(log))
    (tmp_path / "cache" / "logs" / "notes.txt").write_text("mine")
    assert CliRunner().invoke(app, ["cache", "clear", "--yes"]).exit_code == 0
    assert [path.name for path in (tmp_path / "cache" / "logs").iterdir()] == ["notes.txt"]
    findings_of(str(log))
    assert len(asked) == 2


@pytest.mark.parametrize(("bound", "most"), [("MOST_ENTRIES", 10), ("MOST_BYTES", 1_000)])
def test_what_was_not_asked_for_longest_leaves(
    bound: str, most: int, asked: list[str], log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache" / "logs"
    folder.mkdir()
    for number in range(20):
        old = folder / f"{number:064x}.audit"
        old.write_bytes(b"x" * 100)
        os.utime(old, (number, number))
    kind = memory.READING
    monkeypatch.setattr(memory, bound, most)
    monkeypatch.setattr(memory, "_added", 0)
    memory.remember(str(log), kind, ["new"], memory.place_of(str(log), kind))
    assert memory.recalled(str(log), kind) == ["new"]
    assert sorted(int(p.stem, 16) for p in folder.iterdir() if p.stat().st_size == 100) == list(range(12, 20))


def test_remembered_runs_are_the_runs(log: Path, asked: list[str]) -> None:
    first = list(readings([str(log)]))
    assert list(readings([str(log)])) == first
    assert len(first[0].runs) > 0
    assert len(asked) == 1


@pytest.mark.parametrize("command", ["leaderboard", "report", "check", "baseline", "compare"])
def test_what_one_command_has_audited_no_other_audits_again(
    command: str, suite_logs: Path, asked: list[str], tmp_path: Path
) -> None:
    collect([str(suite_logs)], readings)
    before = len(asked)
    (tmp_path / "baseline.json").write_text('{"schema": "hepbench.baseline/1", "entries": []}')
    arguments = {
        "leaderboard": [],
        "report": ["-o", str(tmp_path / "site")],
        "check": ["--baseline", str(tmp_path / "baseline.json")],
        "baseline": ["-o", str(tmp_path / "new.json")],
    }
    if command == "compare":
        CliRunner().invoke(app, [command, "hep", "planning", "--logs", str(suite_logs)])
    else:
        CliRunner().invoke(app, [command, str(suite_logs), *arguments[command]])
    assert before > 0
    assert len(asked) == before


def test_the_audit_itself_believes_no_memory(
    log: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert findings_of(str(log))
    looked: list[str] = []
    monkeypatch.setattr(
        "hepbench.reports.audit.audit.LogAudit.take", lambda self, logged: looked.append(logged.where)
    )
    CliRunner().invoke(app, ["audit", str(log)])
    assert set(looked) == {str(log)}


def test_what_the_audit_found_no_table_looks_for_again(log: Path, asked: list[str]) -> None:
    done = CliRunner().invoke(app, ["audit", "--json", str(log)])
    found = [
        f"{f['sample']}, event {f['event']}: " for f in json.loads(done.stdout)[0]["findings"] if f["event"]
    ]
    assert found
    said = findings_of(str(log))
    assert all(any(text in line for line in said) for text in found)
    assert asked == []


def test_a_log_that_changes_while_it_is_read_is_not_remembered(log: Path, asked: list[str]) -> None:
    before = memory.place_of(str(log), memory.READING)
    log.write_bytes(log.read_bytes() + b" ")
    reading.remember_audit(str(log), [], before)
    assert findings_of(str(log))
    assert len(asked) == 1
