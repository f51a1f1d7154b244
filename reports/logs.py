"""Eval logs as reports read them: found, opened, and refused with one clear line when they cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, EvalSample

from hepbench.harness.protocol.state import RunState
from hepbench.harness.protocol.store import RegistryStore
from hepbench.reports.opening import LogError, listed_logs, one_line, open_log, shown

__all__ = ["LogError", "LoggedRun", "RunLog", "newest_log", "read_log"]


@dataclass(frozen=True)
class LoggedRun:
    """One sample of one epoch: as Inspect logged it, and as its registry's events make it."""

    sample: EvalSample
    run: RunState


@dataclass(frozen=True)
class RunLog:
    """A log's header with its runs; transcripts are left out.

    Attributes:
        where: Path or URL that opens it.
        header: Everything but the samples.
        runs: The samples that were finished, over all epochs.
    """

    where: str
    header: EvalLog
    runs: tuple[LoggedRun, ...]

    def about(self, name: str) -> Any:
        """What the runs say they are about, such as their harness; else the task's metadata; else None."""
        for run in self.runs:
            if name in run.run.about:
                return run.run.about[name]
        return (self.header.eval.metadata or {}).get(name)


def newest_log(where: str) -> str:
    """The log itself, or a folder's newest (of any depth) by time of change.

    Raises:
        LogError: there is nothing of that name, or no log in the folder.
    """
    if not _is_remote(where) and not Path(where).exists():
        raise LogError(f"There is no log or folder {shown(where)}. Run a task first, or name a log.")
    if where.endswith((".eval", ".json")) and not Path(where).is_dir():
        return where
    if Path(where).is_file():
        raise LogError(f"{shown(where)} is not an eval log: its name ends neither in .eval nor in .json.")
    found = listed_logs(where)
    if not found:
        raise LogError(f"There is no eval log in {shown(where)}.")
    return _from_here(found[0])


def read_log(where: str) -> RunLog:
    """Read a log without its transcripts.

    Raises:
        LogError: it cannot be read as an eval log.
    """
    with one_line(where), open_log(where) as log:
        samples = [logged.light for logged in log.samples()]
        try:
            runs = [LoggedRun(s, s.store_as(RegistryStore).state()) for s in samples]
        except (ValueError, KeyError, TypeError) as e:
            raise LogError(f"{shown(where)} has a record that cannot be read ({type(e).__name__}).") from e
        header = log.header
    return RunLog(where, header, tuple(runs))


def _is_remote(where: str) -> bool:
    return "://" in where and not where.startswith("file://")


def _from_here(name: str) -> str:
    """A path below the working folder from there; URLs and other paths as they are."""
    if "://" in name:
        return name
    path = Path(name)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
