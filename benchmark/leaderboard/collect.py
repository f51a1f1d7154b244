"""Which logs count: finished, audited, of one suite, and run under the same conditions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from hepbench.benchmark.leaderboard.reading import Readings
from hepbench.reports.board import LeftOut
from hepbench.reports.gather import find_logs
from hepbench.reports.records import Item, RunRecord, differing

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Collection:
    """The runs that count, in an order that does not depend on how their logs were named or found.

    Attributes:
        runs: Runs of one task share their conditions.
        conditions: Task → the conditions of its runs.
        left_out: Logs that do not count, with the reason.
    """

    runs: tuple[RunRecord, ...]
    conditions: Mapping[str, Mapping[str, Any]]
    left_out: tuple[LeftOut, ...]

    def of(self, entry: tuple[str, str]) -> Collection:
        """The runs of one model with one harness."""
        return self.where(lambda run: run.entry == entry)

    def where(self, wanted: Callable[[RunRecord], bool]) -> Collection:
        """Those runs alone."""
        return Collection(tuple(filter(wanted, self.runs)), self.conditions, self.left_out)

    def of_tasks(self, tasks: Iterable[str]) -> Collection:
        """The runs of these tasks."""
        wanted = frozenset(tasks)
        return self.where(lambda run: run.task in wanted)

    @property
    def entries(self) -> list[tuple[str, str]]:
        """Every model and harness, sorted."""
        return sorted({run.entry for run in self.runs})

    @property
    def tasks(self) -> list[str]:
        """Every task, sorted."""
        return sorted({run.task for run in self.runs})

    def table(self, value: Callable[[Item], float | None]) -> pd.DataFrame:
        """A score table: a value for each held-out compound of each run; None leaves the compound out."""
        import pandas as pd

        rows = [
            (run.task, item.compound, item.cluster, number, float(found))
            for number, run in enumerate(self.runs)
            for item in run.items
            if (found := value(item)) is not None
        ]
        return pd.DataFrame(rows, columns=["task", "item", "cluster", "epoch", "value"])


def collect(wheres: Iterable[str], read: Readings, *, comparable: bool = True) -> Collection:
    """Read all logs, leave out those that do not count, and say why.

    Args:
        wheres: Files, folders and URLs.
        read: Reads and audits them.
        comparable: Leave out runs whose conditions are not the usual ones of their task.

    Raises:
        LogError: a file or folder does not exist, or a folder holds no log.
    """
    runs: dict[tuple[str, str, int], RunRecord] = {}
    left_out: list[LeftOut] = []
    for found in read(find_logs(wheres)):
        reason = found.unreadable or (_audit_reason(found.findings) if found.findings else "")
        if reason:
            left_out.append(LeftOut(log=log_name(found.where), reason=reason))
        else:
            runs.update({(run.log_id, run.sample, run.epoch): run for run in found.runs})
    kept = _without_retried(runs.values())
    return _comparable(kept, left_out) if comparable else _sorted(kept, {}, left_out)


def log_name(where: str) -> str:
    """A log's file name: what is said of it does not depend on the folder that it was read from."""
    return PurePosixPath(where.replace("\\", "/")).name


def _audit_reason(findings: Sequence[str]) -> str:
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return f"the audit finds: {findings[0]}{more}"


def _without_retried(runs: Iterable[RunRecord]) -> list[RunRecord]:
    """Leave failed logs out that were run again with success."""
    every = list(runs)
    finished = {run.task_id for run in every if run.finished}
    return [run for run in every if run.finished or run.task_id not in finished]


def _comparable(runs: Sequence[RunRecord], left_out: Sequence[LeftOut]) -> Collection:
    """Keep for each task the runs under its most frequent conditions, and the floors of the same question."""
    conditions = {task: _usual_conditions(runs, task) for task in sorted({run.task for run in runs})}
    kept: list[RunRecord] = []
    odd: dict[str, str] = {}
    for run in runs:
        differences = differing(conditions[run.task], run.conditions, floor=run.kind == "floor")
        if differences:
            odd[log_name(run.where)] = (
                f"not comparable with the other runs of {run.task} (theirs ≠ this): {'; '.join(differences)}"
            )
        else:
            kept.append(run)
    others = [LeftOut(log=log, reason=reason) for log, reason in odd.items()]
    return _sorted(kept, conditions, [*left_out, *others])


def _sorted(
    runs: Iterable[RunRecord], conditions: Mapping[str, Mapping[str, Any]], left_out: Iterable[LeftOut]
) -> Collection:
    """A collection in an order that does not depend on where its logs lie."""

    def place(run: RunRecord) -> tuple[Any, ...]:
        return run.task, run.entry, run.created, run.log_id, run.sample, run.epoch

    left = sorted(left_out, key=lambda out: (out.log, out.reason))
    return Collection(tuple(sorted(runs, key=place)), conditions, tuple(left))


def _usual_conditions(runs: Sequence[RunRecord], task: str) -> Mapping[str, Any]:
    """The conditions of most logs of the task; of equals, the first in their canonical order.

    Floors have no vote, unless nothing else is there.
    """
    logs = {run.log_id: run for run in runs if run.task == task and run.kind != "floor"}
    logs = logs or {run.log_id: run for run in runs if run.task == task}
    counts = Counter(json.dumps(run.conditions, sort_keys=True) for run in logs.values())
    usual = min(counts, key=lambda text: (-counts[text], text))
    found: Mapping[str, Any] = json.loads(usual)
    return found
