"""Many new logs are read by several processes: nothing but the time shows it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from killing import KILLER, aborting, killing
from typer.testing import CliRunner

from hepbench.benchmark.cli import app
from hepbench.benchmark.leaderboard import pool, readers
from hepbench.benchmark.leaderboard.pool import readings

CLI = (  # a shell that starts the tests in the background lets them ignore SIGINT, and what they start too
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from hepbench.benchmark.leaderboard import readers; readers.WORTH_READERS = 0; "
    "from hepbench.benchmark.cli import main; main()"
)


@pytest.fixture
def always_pooled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "WORTH_READERS", 0)


@pytest.fixture
def logs(suite_logs: Path) -> list[str]:
    return sorted(map(str, suite_logs.glob("*.eval")))


def test_the_number_of_workers_changes_no_byte(suite_logs: Path, always_pooled: None, tmp_path: Path) -> None:
    for workers in ("1", "2"):
        out = str(tmp_path / workers)
        done = CliRunner().invoke(app, ["leaderboard", str(suite_logs), "--workers", workers, "-o", out])
        assert done.exit_code in (0, 1), done.output
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / workers).iterdir()} for workers in ("1", "2")
    )
    assert one == two
    assert one


def test_readings_come_in_the_order_of_the_logs(logs: list[str], always_pooled: None, tmp_path: Path) -> None:
    (tmp_path / "bad.eval").write_bytes(b"no log")
    asked = [logs[2], str(tmp_path / "bad.eval"), *logs[:2]]
    pooled, alone = list(readings(asked, 2)), list(readings(asked, 1))
    assert [found.where for found in pooled] == asked
    assert pooled == alone
    assert pooled[1].unreadable


def test_a_log_that_kills_its_reader_costs_itself_alone(
    logs: list[str], always_pooled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "read_log", killing)
    asked = [logs[0], KILLER, logs[1]]
    monkeypatch.setattr(pool, "known_reading", lambda where: None)
    first, killed, last = readings(asked, 2)
    assert killed.unreadable == "killer.eval ended the process that read it (-9)."
    assert (first.where, last.where) == (logs[0], logs[1])


def test_workers_that_cannot_start_are_one_line(
    suite_logs: Path, always_pooled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_start_worker", aborting)
    done = CliRunner().invoke(app, ["leaderboard", str(suite_logs), "--workers", "2"])
    assert done.exit_code == 4
    assert "hepbench leaderboard: the processes that read logs cannot run here" in done.output


def test_few_logs_start_no_process(logs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pebble.ProcessPool", None)
    assert len(list(readings(logs, 2))) == len(logs)


def test_workers_have_the_environment_of_now(
    logs: list[str], always_pooled: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder in ("first", "second"):  # what workers are forked from was begun with the first
        monkeypatch.setenv("HEPBENCH_CACHE", str(tmp_path / folder))
        list(readings(logs[:2], 2))
        assert len(list((tmp_path / folder / "logs").iterdir())) == len(logs[:2])


def test_what_workers_are_forked_from_is_begun_for_new_logs_alone(
    suite_logs: Path, logs: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun: list[None] = []
    monkeypatch.setattr(readers, "_begin", lambda: begun.append(None))
    monkeypatch.setenv("HEPBENCH_CACHE", str(tmp_path))
    new = sum(Path(log).stat().st_size for log in logs)
    monkeypatch.setattr(readers, "WORTH_READERS", new + 1)
    readers.start_early([str(suite_logs)], 2)
    assert begun == []  # too little to read
    monkeypatch.setattr(readers, "WORTH_READERS", new)
    readers.start_early([str(suite_logs)], 1)
    readers.start_early([str(tmp_path / "nowhere"), "s3://bucket/logs"], 2)
    assert begun == []
    readers.start_early([str(suite_logs)], 2)
    assert begun == [None]
    list(readings(logs, 1))
    readers.start_early([str(suite_logs)], 2)
    assert begun == [None]  # all of it is remembered


@pytest.mark.parametrize("processes", [3, 5], ids=["while Inspect is imported", "while logs are read"])
def test_ctrl_c_ends_the_workers_in_one_line(suite_logs: Path, processes: int) -> None:
    asked = [sys.executable, "-c", CLI, "leaderboard", *[str(suite_logs)], "--workers", "2"]
    command = subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    while len(family := processes_of(command.pid)) < processes:
        assert command.poll() is None
        time.sleep(0.05)
    os.killpg(command.pid, signal.SIGINT)  # as a terminal does: to all of them
    out, said = command.communicate(timeout=60)
    assert command.returncode not in (0, 1)
    assert b"Traceback" not in out + said
    deadline = time.monotonic() + 60
    while processes_of(command.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_of(command.pid) == [], family


def processes_of(session: int) -> list[int]:
    """The processes of a session that are no zombies."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(of) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


def test_a_long_reading_shows_on_stderr_alone(
    suite_logs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pool, "_SLOW", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    list(readings(sorted(map(str, suite_logs.glob("*.eval"))), 1))
    out, err = capfd.readouterr()
    assert "reading logs" in err
    assert out == ""
