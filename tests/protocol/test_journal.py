"""The journal: on disk before the answer, readable after a kill, and never in the way of a run."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.solver import Generate, Solver, TaskState, solver

from hepbench.harness.protocol import journal as journal_module
from hepbench.harness.protocol.events import Event, chain_faults
from hepbench.harness.protocol.gates import Refusal
from hepbench.harness.protocol.journal import Journal, JournalError, read_journal
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.store import RegistryStore, start_registry


def journaled(path: Path) -> tuple[Registry, Journal]:
    journal = Journal.create(path)
    return Registry.start("run", ProtocolRules(), sink=journal.append), journal


def full_disk(after: int, partial: int = 0) -> Callable[[int, Any], int]:
    """os.write on a disk that has room for so many writes, and then for some bytes more."""
    real, left = os.write, [after, partial]

    def write(descriptor: int, data: Any) -> int:
        if left[0] > 0:
            left[0] -= 1
            return real(descriptor, data)
        if left[1] > 0:
            written = real(descriptor, bytes(data)[: left[1]])
            left[1] = 0
            return written
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return write


def test_every_accepted_event_is_in_the_file_before_the_answer(tmp_path: Path) -> None:
    registry, _ = journaled(tmp_path / "deep" / "er" / "j.jsonl")
    for i in range(5):
        registry.propose(f"claim {i}", 0.5, "x")
        assert read_journal(tmp_path / "deep" / "er" / "j.jsonl").events == registry.events
    with pytest.raises(Refusal):
        registry.propose("claim 1", 0.5, "x")
    read = read_journal(tmp_path / "deep" / "er" / "j.jsonl")
    assert read.events == registry.events
    assert (read.torn, read.damaged) == (0, ())
    assert read.events[-1].type == "OperationRefused"


@pytest.mark.parametrize("cut", [1, 2, 50])
def test_a_torn_last_line_is_recognized(tmp_path: Path, cut: int) -> None:
    registry, _ = journaled(tmp_path / "j.jsonl")
    registry.propose("a claim", 0.5, "x")
    whole = (tmp_path / "j.jsonl").read_bytes()
    (tmp_path / "torn.jsonl").write_bytes(whole[:-cut])
    read = read_journal(tmp_path / "torn.jsonl")
    assert read.events == registry.events[:-1]
    assert read.torn > 0
    assert chain_faults(read.events) == []


def test_a_damaged_line_within_is_named(tmp_path: Path) -> None:
    registry, _ = journaled(tmp_path / "j.jsonl")
    registry.propose("a claim", 0.5, "x")
    lines = (tmp_path / "j.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "bad.jsonl").write_bytes(lines[0] + b'{"no": "event"}\n' + lines[1])
    read = read_journal(tmp_path / "bad.jsonl")
    assert (len(read.events), read.damaged) == (2, (2,))


@pytest.mark.parametrize("content", [b"", b"\n", b"not json\n", b"\x00" * 100, b"[" * 5_000 + b"\n", b"{}"])
def test_what_is_no_journal_is_refused_with_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.jsonl").write_bytes(content)
    with pytest.raises(JournalError) as refused:
        read_journal(tmp_path / "x.jsonl")
    assert "\n" not in str(refused.value)
    assert "x.jsonl" in str(refused.value)


def test_missing_and_huge_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(JournalError, match="No such file"):
        read_journal(tmp_path / "none.jsonl")
    journaled(tmp_path / "j.jsonl")
    monkeypatch.setattr(journal_module, "MAX_JOURNAL", 10)
    with pytest.raises(JournalError, match="more than"):
        read_journal(tmp_path / "j.jsonl")


def test_what_is_no_regular_file_is_refused_unread(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # nobody writes: opening it would wait for ever
    for path in (Path("/dev/zero"), tmp_path / "pipe", tmp_path):
        with pytest.raises(JournalError, match="is no regular file"):
            read_journal(path)


def test_a_journal_that_grows_while_it_is_read_is_not_read_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.jsonl"
    Registry.start("run", ProtocolRules(), sink=Journal.create(path).append)
    line = path.read_bytes()
    monkeypatch.setattr(journal_module, "MAX_JOURNAL", 10 * len(line))

    really = Path.open

    def grown(self: Path, mode: str) -> Any:
        with really(self, "ab") as more:
            more.write(line * 20)
        return really(self, mode)

    monkeypatch.setattr(Path, "open", grown)
    with pytest.raises(JournalError, match="bytes, which no journal has"):
        read_journal(path)


def test_a_journal_is_never_written_over(tmp_path: Path) -> None:
    journaled(tmp_path / "j.jsonl")
    with pytest.raises(JournalError, match="cannot be made"):
        Journal.create(tmp_path / "j.jsonl")


def test_on_a_full_disk_nothing_is_accepted_and_the_file_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry, _ = journaled(tmp_path / "j.jsonl")
    registry.propose("a claim", 0.5, "x")
    before = list(registry.events)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full_disk(0, partial=30))
        with pytest.raises(JournalError, match="No space left"):
            registry.propose("another", 0.5, "x")
    assert registry.events == before
    assert list(registry.state.hypotheses) == ["H1"]
    read = read_journal(tmp_path / "j.jsonl")
    assert (read.events, read.torn) == (before, 0)
    registry.propose("another", 0.5, "x")
    assert read_journal(tmp_path / "j.jsonl").events == registry.events


def test_a_failed_fsync_accepts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry, _ = journaled(tmp_path / "j.jsonl")

    def broken(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", broken)
        with pytest.raises(JournalError, match="cannot be written"):
            registry.propose("a claim", 0.5, "x")
    assert not registry.state.hypotheses
    assert len(read_journal(tmp_path / "j.jsonl").events) == 1


CHILD = """
import sys
from pathlib import Path
from hepbench.harness.protocol.journal import Journal
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.rules import ProtocolRules

registry = Registry.start("run", ProtocolRules(), sink=Journal.create(Path(sys.argv[1])).append)
for i in range(100_000):
    registry.propose(f"claim {i}", 0.5, "x" * 2_000)
    print(registry.events[-1].seq, flush=True)
"""


def test_kill_dash_nine_loses_no_acknowledged_event(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    child.stdout.readline()
    time.sleep(0.2)
    child.send_signal(signal.SIGKILL)
    told = child.stdout.read().split("\n")
    child.wait()
    acknowledged = int(told[-2])
    read = read_journal(path)
    assert len(read.events) >= acknowledged > 1
    assert chain_faults(read.events) == []


@solver
def proposing(claims: int = 3) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        mode = state.metadata.get("journal", "auto")
        registry = start_registry("run", ProtocolRules(), {}, journal=mode)
        for i in range(claims):
            registry.propose(f"claim {i}", 0.5, "x")
        registry.end("done")
        return state

    return solve


def run(log_dir: Path | str, mode: str | None = None, samples: int = 1, epochs: int = 1) -> EvalLog:
    metadata = {} if mode is None else {"journal": mode}
    data = [Sample(id=f"s/{i}", input="?", metadata=metadata) for i in range(samples)]
    task = Task(dataset=data, solver=proposing(), name="tiny")
    settings = {"model": "mockllm/model", "display": "none", "log_dir": str(log_dir), "epochs": epochs}
    return inspect_eval(task, **settings)[0]


def events_of(log: EvalLog) -> list[list[Event]]:
    return [s.store_as(RegistryStore).run.events for s in log.samples or []]


def test_each_sample_has_its_journal_beside_the_log(tmp_path: Path) -> None:
    log = run(tmp_path / "logs", samples=2, epochs=2)
    folder = Path(log.location).with_suffix(".journal")
    found = {path.name.rsplit("_", 1)[0]: read_journal(path) for path in folder.iterdir()}
    assert sorted(found) == ["s_0_epoch_1", "s_0_epoch_2", "s_1_epoch_1", "s_1_epoch_2"]
    assert sorted(e[0].hash for e in events_of(log)) == sorted(r.events[0].hash for r in found.values())
    assert all(read.events in events_of(log) for read in found.values())
    assert all(read.events[-1].type == "RunEnded" for read in found.values())


def test_the_mode_names_a_folder(tmp_path: Path) -> None:
    log = run(tmp_path / "logs", str(tmp_path / "own"))
    assert log.status == "success"
    assert len(list((tmp_path / "own").iterdir())) == 1
    assert not Path(log.location).with_suffix(".journal").exists()


def test_off_writes_none(tmp_path: Path) -> None:
    log = run(tmp_path / "logs", "off")
    assert len(events_of(log)[0]) == 5
    assert list((tmp_path / "logs").iterdir()) == [Path(log.location)]


def test_a_log_folder_without_room_for_journals_lets_the_run_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(folder: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(journal_module, "_sync_folder", refused)
    log = run(tmp_path / "logs")
    assert log.status == "success"
    assert len(events_of(log)[0]) == 5
    assert said(log) == 1


def test_a_remote_log_lets_the_run_go_on(tmp_path: Path) -> None:
    log = run("memory://logs")
    assert log.status == "success"
    assert len(events_of(log)[0]) == 5
    assert said(log) == 1


def said(log: EvalLog) -> int:
    read = read_eval_log(log.location, resolve_attachments=True)
    assert read.samples
    notes = [e for e in read.samples[0].events if e.event == "info" and e.source == "hepbench journal"]
    return sum("the run goes on" in str(e.data) for e in notes)


def test_a_disk_that_fills_up_lets_the_run_go_on_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Journal.append

    def filled(self: Journal, events: list[Event]) -> None:
        if events[0].seq > 2:
            raise JournalError("the journal x cannot be written: No space left on device")
        real(self, events)

    monkeypatch.setattr(Journal, "append", filled)
    log = run(tmp_path / "logs")
    assert log.status == "success"
    assert said(log) == 1
    (path,) = Path(log.location).with_suffix(".journal").iterdir()
    assert read_journal(path).events == events_of(log)[0][:2]


def test_where_it_is_required_a_journal_that_cannot_be_made_ends_the_sample(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    log = run(tmp_path / "logs", str(tmp_path / "file"))
    assert log.status == "error"
    assert log.error
    assert "the journal" in log.error.message
    assert "cannot be made" in log.error.message


def test_without_a_sample_there_is_no_journal_and_no_complaint() -> None:
    from hepbench.harness.protocol.durable import journal_sink

    assert journal_sink("auto") is None
    with pytest.raises(JournalError, match="no sample is running"):
        journal_sink("require")
