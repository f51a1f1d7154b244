"""From runs to a leaderboard: means, intervals, ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import pandas as pd

from hepbench.benchmark import statistics as st
from hepbench.benchmark.leaderboard.collect import Collection
from hepbench.harness.steps import CATEGORIES
from hepbench.harness.text import shorten
from hepbench.reports.board import (
    MEASURES,
    PROCESS,
    Cost,
    Entry,
    Interval,
    Leaderboard,
    SuiteTask,
    TaskResult,
)
from hepbench.reports.records import Item, RunRecord, entry_name

DECIMALS = 6
"""Digits kept in the document: enough for any reader, few enough to be the same on every machine."""

Key = tuple[str, str]


def build_leaderboard(collection: Collection, suite: Sequence[str] = ()) -> Leaderboard:
    """The leaderboard of a collection.

    Args:
        collection: The runs that count.
        suite: Tasks that an entry must have to be ranked; default: every task in the collection.
    """
    tasks = sorted(suite) or collection.tasks
    kept = collection.of_tasks(tasks)
    groups = _tie_groups(kept, tasks)
    rows = [_entry(kept.of(key), key, tasks, groups) for key in kept.entries]
    rows.sort(key=lambda row: (row.rank is None, row.rank or 0, -row.accuracy.value, row.name))
    return Leaderboard(
        suite=tuple(_suite_task(kept, task) for task in tasks if task in kept.tasks),
        entries=tuple(rows),
        left_out=collection.left_out,
    )


def right(item: Item) -> float:
    """1 for a compound that is predicted rightly, else 0."""
    return float(item.right)


def right_in(part: str) -> Callable[[Item], float | None]:
    """As `right`, for the compounds of one part of the held-outs."""
    return lambda item: float(item.right) if item.part == part else None


def _tie_groups(collection: Collection, tasks: Sequence[str]) -> dict[str, int]:
    """Entries with a rank → tie group."""
    complete = [key for key in collection.entries if not _not_ranked(collection.of(key), tasks)]
    tables = {entry_name(key): collection.of(key).table(right) for key in complete}
    p_values = st.pairwise_p(tables) if tables else {}
    scores = {name: round(st.mean_estimate(table).value, DECIMALS) for name, table in tables.items()}
    return st.tie_groups(scores, p_values)


def _not_ranked(runs: Collection, tasks: Sequence[str]) -> str:
    """Why an entry has no rank; empty if it has one."""
    missing = [task for task in tasks if task not in runs.tasks]
    if missing:
        return f"no run of {', '.join(missing)}"
    if all(run.error for run in runs.runs):
        return f"every sample failed, the first with: {shorten(runs.runs[0].error.splitlines()[0], 160)}"
    return ""


def _entry(runs: Collection, key: Key, tasks: Sequence[str], groups: dict[str, int]) -> Entry:
    name = entry_name(key)
    group = groups.get(name)
    return Entry(
        name=name,
        model=key[0],
        harness=key[1],
        kind=runs.runs[0].kind,
        rank=None if group is None else 1 + sum(other < group for other in groups.values()),
        tie_group=group,
        not_ranked=_not_ranked(runs, tasks),
        accuracy=_interval(runs.table(right)),
        interpolation=_interval_or_none(runs.table(right_in("interpolation"))),
        extrapolation=_interval_or_none(runs.table(right_in("extrapolation"))),
        tasks=tuple(_task_result(runs, task) for task in runs.tasks),
        measures=_means(runs, MEASURES),
        process=_means(runs, PROCESS),
        step_mix=_means(runs, [f"step_{category}" for category in CATEGORIES]),
        cost=_cost(runs.runs),
        runs=len(runs.runs),
        errors=sum(bool(run.error) for run in runs.runs),
    )


def _task_result(runs: Collection, task: str) -> TaskResult:
    of_task = runs.of_tasks([task])
    return TaskResult(
        task=task,
        accuracy=_interval(of_task.table(right)),
        epochs=len(of_task.runs),
        errors=sum(bool(run.error) for run in of_task.runs),
    )


def _interval(table: pd.DataFrame) -> Interval:
    found = st.mean_estimate(table)
    return Interval(
        value=round(found.value, DECIMALS),
        low=_finite(found.low),
        high=_finite(found.high),
        items=found.items,
        clusters=found.clusters,
        note=found.note,
    )


def _interval_or_none(table: pd.DataFrame) -> Interval | None:
    return None if table.empty else _interval(table)


def _means(runs: Collection, names: Iterable[str]) -> dict[str, float]:
    """Means over epochs, then over tasks, of the scores that the runs have."""
    found: dict[str, float] = {}
    for name in names:
        by_task = [
            _mean([run.scores[name] for run in runs.runs if run.task == t and name in run.scores])
            for t in runs.tasks
        ]
        value = _mean([v for v in by_task if v is not None])
        if value is not None:
            found[name] = value
    return found


def _mean(values: Sequence[float]) -> float | None:
    return round(math.fsum(values) / len(values), DECIMALS) if values else None


def _finite(value: float) -> float | None:
    return round(value, DECIMALS) if math.isfinite(value) else None


def _cost(runs: Sequence[RunRecord]) -> Cost:
    def mean_score(name: str) -> float | None:
        return _mean([run.scores[name] for run in runs if name in run.scores])

    return Cost(
        lab_calls=mean_score("lab_calls"),
        model_calls=mean_score("model_calls"),
        tokens=_mean([float(run.tokens) for run in runs]) or 0.0,
        money=_mean([run.money for run in runs if run.money is not None]),
        wall_s=_mean([run.wall for run in runs if run.wall is not None]),
        working_s=_mean([run.working for run in runs if run.working is not None]),
    )


def _suite_task(collection: Collection, task: str) -> SuiteTask:
    items = {item.compound: item.cluster for run in collection.runs if run.task == task for item in run.items}
    return SuiteTask(
        task=task,
        items=len(items),
        clusters=len(set(items.values())),
        conditions=dict(collection.conditions[task]),
    )
