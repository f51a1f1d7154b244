"""An audit's outcome is remembered for as long as nothing changes that it depends on."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from hepbench.benchmark.leaderboard import audited, collect, memory
from hepbench.reports.audit.subject import Finding


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The logs that were really audited."""
    done: list[str] = []

    class Report:
        findings = (Finding("chain", "content does not match its hash", 3),)

    def audit(where: str) -> Report:
        done.append(where)
        return Report()

    (tmp_path / "cache").mkdir()
    monkeypatch.setenv(memory.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(audited, "audit", audit)
    return done


@pytest.fixture
def log(suite_logs: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(next(suite_logs.glob("*.eval")), tmp_path / "a.eval"))


def test_a_log_is_audited_once_whatever_it_is_called(asked: list[str], log: Path) -> None:
    first = audited.audit_check(str(log))
    again = audited.audit_check(log.as_uri())
    moved = audited.audit_check(str(shutil.copy(log, log.with_name("b.eval"))))
    assert first == again == moved
    assert "content does not match" in first[0]
    assert len(asked) == 1


def test_a_changed_log_is_audited_again(asked: list[str], log: Path) -> None:
    audited.audit_check(str(log))
    log.write_bytes(log.read_bytes() + b" ")
    audited.audit_check(str(log))
    assert len(asked) == 2


def test_a_changed_journal_is_looked_at_again(asked: list[str], log: Path) -> None:
    audited.audit_check(str(log))
    folder = memory.journals_beside(str(log))
    folder.mkdir()
    (folder / "ao2_epoch_1_x.jsonl").write_text("{}\n")
    audited.audit_check(str(log))
    assert len(asked) == 2


def test_another_installation_audits_again(
    asked: list[str], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audited.audit_check(str(log))
    memory._digest.cache_clear()
    monkeypatch.setattr(memory, "_installation", lambda: "another")
    audited.audit_check(str(log))
    assert len(asked) == 2


def test_without_a_cache_every_audit_is_made(
    asked: list[str], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(memory.VARIABLE, "off")
    audited.audit_check(str(log))
    audited.audit_check(str(log))
    assert len(asked) == 2


def test_a_damaged_memory_is_no_obstacle(asked: list[str], log: Path, tmp_path: Path) -> None:
    audited.audit_check(str(log))
    (kept,) = (tmp_path / "cache" / "logs").iterdir()
    kept.write_text("[")
    audited.audit_check(str(log))
    assert len(asked) == 2


def test_remembered_runs_are_the_runs(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv(memory.VARIABLE, str(tmp_path / "cache"))
    first = collect([str(log)], lambda where: ())
    module = sys.modules["hepbench.benchmark.leaderboard.collect"]
    monkeypatch.setattr(module, "run_records", lambda where: [])
    assert collect([str(log)], lambda where: ()) == first
    assert len(first.runs) > 0
