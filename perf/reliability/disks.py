"""A disk that is full, and a folder that cannot be written."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from unittest.mock import patch

from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.solver import Generate, Solver, TaskState, solver

from hepbench.harness.protocol import journal
from hepbench.harness.protocol.journal import Journal, JournalError, read_journal
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.store import RegistryStore, start_registry

SMALL = 256 * 1024


@contextmanager
def small_disk(*options: str) -> Iterator[Path | None]:
    """A file system of a quarter megabyte; None where mounting is not allowed."""
    folder = tempfile.mkdtemp()
    mounted = ["mount", "-t", "tmpfs", "-o", ",".join([f"size={SMALL}", *options]), "tmpfs", folder]
    if subprocess.run(mounted, capture_output=True, check=False).returncode:
        yield None
        return
    try:
        yield Path(folder)
    finally:
        subprocess.run(["umount", folder], check=True)


def measure(*, quick: bool) -> list[tuple[str, str]]:  # noqa: ARG001 - it takes seconds
    """Fill a disk under a journal, and run evals whose journals cannot be written."""
    with small_disk() as disk:
        full = _fill(disk) if disk else _fill_by_limit()
    return [("disk full", full), ("no place for the journal", _evals())]


def _fill(disk: Path) -> str:
    registry, accepted, refused = _until_full(disk / "ballast", disk / "run.jsonl")
    (disk / "ballast").unlink()
    registry.propose("there is room again", 0.5, "x")
    read = read_journal(disk / "run.jsonl")
    same = read.events == registry.events and not read.torn
    return (
        f"{accepted} operations accepted, the next {refused} refused with one line and nothing changed; "
        f"once there is room the run goes on, file and registry the same: **{'yes' if same else 'NO'}**"
    )


def _until_full(ballast: Path, path: Path) -> tuple[Registry, int, int]:
    ballast.write_bytes(b"x" * (SMALL // 4))
    registry = Registry.start("run", ProtocolRules(similar_statement="off"), sink=Journal.create(path).append)
    accepted = refused = 0
    while refused < 5:  # noqa: PLR2004 - five in a row
        try:
            registry.propose(f"claim {accepted}", 0.5, "x" * 3_000)
            accepted += 1
        except JournalError:
            refused += 1
    return registry, accepted, refused


def _fill_by_limit() -> str:
    """Without the right to mount: the kernel's limit on a file's size stands in for the disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, before[1]))
    try:
        with tempfile.TemporaryDirectory() as folder:
            _, accepted, refused = _until_full(Path(folder) / "ballast", Path(folder) / "run.jsonl")
            read = read_journal(Path(folder) / "run.jsonl")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    counts = f"{accepted} operations accepted, the next {refused} refused"
    return f"{counts}; {read.torn} torn bytes (by the limit on a file's size)"


@solver
def _proposing() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        registry = start_registry("run", ProtocolRules(), {}, journal=str(state.metadata["journal"]))
        for n in range(20):
            registry.propose(f"claim {n}", 0.5, "x")
        registry.end("done")
        return state

    return solve


def _evals() -> str:
    """A journal folder that is a file; a log folder that is read-only."""
    words: list[str] = []
    for mode in ("auto", "require"):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "file").write_text("in the way")
            status, events = _run(folder, mode if mode == "auto" else str(Path(folder) / "file"))
            words.append(f"`{mode}`: {status}, {events} events in the log")
    with small_disk("ro") as disk:
        if disk is not None:
            words.append(f"read-only log folder: {_inspect_on(disk)}")
    return "; ".join(words)


def _run(folder: str, mode: str) -> tuple[str, int]:
    task = Task(dataset=[Sample(input="?", metadata={"journal": mode})], solver=_proposing(), name="tiny")
    with patch.object(journal, "_sync_folder", _no_space) if mode == "auto" else nullcontext():
        log = inspect_eval(task, model="mockllm/model", log_dir=folder, display="none")[0]
    samples = read_eval_log(log.location).samples or []
    return log.status, sum(len(s.store_as(RegistryStore).run.events) for s in samples)


def _no_space(folder: Path) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


def _inspect_on(folder: Path) -> str:
    """Inspect itself needs its folder: what it says, in its last line."""
    inspect = str(Path(sys.executable).with_name("inspect"))
    command = [inspect, "eval", "hepbench/ao2", "--model", "hepbench/hasty", "--log-dir", str(folder)]
    done = subprocess.run([*command, "--display", "plain"], capture_output=True, text=True, check=False)
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return f"Inspect ends before the run (exit {done.returncode}): {said[-1].strip()[:120] if said else ''}"
