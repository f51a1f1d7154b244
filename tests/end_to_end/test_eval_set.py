"""Inspect's own eval sets, a harness a folder: they end, they do nothing twice, they resume after a kill."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

from hepbench.benchmark.leaderboard.collect import collect
from hepbench.benchmark.leaderboard.pool import readings

TASKS = ("hepbench/ao2", "hepbench/mx")
MODELS = ("hepbench/hasty", "hepbench/scientist")
RUNS = [(task, model) for task in TASKS for model in MODELS]
KILLED = "hep"
WHOLE = ("closed_book", "react")
MORE = {KILLED: ["--max-tasks", "1"]}
"""One after the other, so that a kill finds one run done, one going on, and others not begun."""

Written = Mapping[str, tuple[int, str]]
"""File of a log or of its journal → when it was written, and the hash of its bytes."""


@dataclass(frozen=True)
class Torn:
    """What a killed set left: the status of every log, and what was written of those that were finished."""

    statuses: Mapping[str, str]
    finished: Written


def command(folder: Path) -> list[str]:
    """As `docs/models.md` writes it, for the harness that the folder is named after."""
    asked = [*TASKS, "-T", f"harness={folder.name}", "--model", ",".join(MODELS), "--log-dir", str(folder)]
    quick = ["-T", "lab_budget=40", "--display", "log", *MORE.get(folder.name, [])]
    return [sys.executable, "-m", "inspect_ai", "eval-set", *asked, *quick]


def run_set(folder: Path) -> None:
    done = subprocess.run(
        command(folder), cwd=folder.parent, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr


def kill_half_way(folder: Path) -> None:
    """Start the set, and kill all its processes as soon as one run is done and another goes on."""
    running = subprocess.Popen(
        command(folder),
        cwd=folder.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until = time.monotonic() + 300
    try:
        while set(statuses(folder).values()) != {"success", "started"} and time.monotonic() < until:
            assert running.poll() is None, "it ended before it could be killed"
            time.sleep(0.05)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def statuses(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in folder.glob("*.eval"):
        with suppress(ValueError):  # just being written
            found[path.name] = read_eval_log(str(path), header_only=True).status
    return found


def successful(folder: Path) -> list[tuple[str, str]]:
    """Task and model of every log that is a success."""
    headers = [read_eval_log(str(path), header_only=True) for path in folder.glob("*.eval")]
    return sorted((f"hepbench/{h.eval.task}", h.eval.model) for h in headers if h.status == "success")


def written(folder: Path, log: str = "*.eval") -> Written:
    files = [*folder.glob(log), *folder.glob(f"{Path(log).stem}.journal/*")]
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in files
    }


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("board")


@pytest.fixture(scope="module")
def whole(board: Path) -> Path:
    """The board with the sets that nothing happened to."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(run_set, [board / harness for harness in WHOLE]))
    return board


@pytest.fixture(scope="module")
def torn(board: Path) -> Torn:
    """The set that was killed half-way, before it was started again."""
    folder = board / KILLED
    kill_half_way(folder)
    found = statuses(folder)
    done = [log for log, status in found.items() if status == "success"]
    return Torn(found, {name: how for log in done for name, how in written(folder, log).items()})


@pytest.fixture(scope="module")
def resumed(board: Path, torn: Torn) -> Path:
    """The board with the set that was killed and started again."""
    run_set(board / KILLED)
    return board


def test_every_run_of_a_set_is_a_success(whole: Path) -> None:
    for harness in WHOLE:
        assert set(statuses(whole / harness).values()) == {"success"}
        assert successful(whole / harness) == RUNS


def test_a_killed_set_does_what_is_missing_and_leaves_alone_what_is_done(resumed: Path, torn: Torn) -> None:
    done = [log for log, status in torn.statuses.items() if status == "success"]
    assert 1 <= len(done) < len(RUNS)
    assert len(torn.finished) > len(done)  # their journals too
    assert successful(resumed / KILLED) == RUNS
    assert torn.finished.items() <= written(resumed / KILLED).items()


@pytest.mark.parametrize("harness", [KILLED, *WHOLE])
def test_a_finished_set_rests(whole: Path, resumed: Path, harness: str) -> None:
    before = written(whole / harness)
    run_set(whole / harness)
    assert written(whole / harness) == before


def test_the_leaderboard_takes_every_run_of_the_folders_once(whole: Path, resumed: Path, torn: Torn) -> None:
    found = collect([str(whole)], readings)
    runs = sorted((run.harness, run.task, run.model) for run in found.runs)
    assert runs == sorted((harness, *run) for harness in (KILLED, *WHOLE) for run in RUNS)
    assert {run.finished for run in found.runs} == {True}
    going_on = {log for log, status in torn.statuses.items() if status == "started"}
    assert {out.log for out in found.left_out} <= going_on
