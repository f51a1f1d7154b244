"""The comparison as a document."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pandas as pd
from pydantic import Field

from hepbench.benchmark import statistics as st
from hepbench.benchmark.compare.sides import Side, SideError
from hepbench.benchmark.leaderboard.build import right
from hepbench.benchmark.leaderboard.collect import Collection
from hepbench.benchmark.leaderboard.plain import line
from hepbench.reports.board import Interval, LeftOut, Part
from hepbench.reports.records import Item, differing

_DECIMALS = 6


class Difference(Part):
    """B − A in held-out accuracy."""

    of: str = Field(description="'suite', a task, or what was held fixed")
    a: float
    b: float
    difference: Interval
    p: float = Field(description="two-sided, sign flips over chemical families")
    smallest_detectable: float | None = Field(description="found with 80 % power; null without an interval")


class DifferingItem(Part):
    """A held-out compound on which the sides differ."""

    task: str
    compound: str
    cluster: str
    part: str
    truth: tuple[str, ...]
    a: float = Field(description="share of A's runs that are right")
    b: float
    a_predicted: str = Field(description="most frequent label of A's runs")
    b_predicted: str


class Comparison(Part):
    """The whole comparison."""

    a: str
    b: str
    suite: Difference
    tasks: tuple[Difference, ...]
    within: tuple[Difference, ...] = Field(description="one for each model or harness held fixed")
    items: tuple[DifferingItem, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]


def compare_sides(a: Side, b: Side) -> Comparison:
    """Compare two sides, paired by compound; what is held fixed counts alike.

    Raises:
        SideError: they have no task in common, or ran it under different conditions.
    """
    pairs = {name: _common_tasks(a.strata[name], b.strata[name]) for name in a.strata}
    pairs = {name: pair for name, pair in pairs.items() if pair[0].runs}
    if not pairs:
        raise SideError(f"{line(a.name)} and {line(b.name)} have no task in common")
    table_a, table_b = (
        pd.concat([_means(pair[side], name) for name, pair in pairs.items()]) for side in (0, 1)
    )
    within = [
        _difference(name, _means(left, name), _means(right_, name))
        for name, (left, right_) in pairs.items()
        if name
    ]
    tasks = sorted(table_a["task"].unique())
    left_out = {(o.log, o.reason): o for pair in pairs.values() for side in pair for o in side.left_out}
    found = st.compare(table_a, table_b)
    return Comparison(
        a=a.name,
        b=b.name,
        suite=_stated("suite", found),
        tasks=tuple(
            _difference(t, table_a[table_a["task"] == t], table_b[table_b["task"] == t]) for t in tasks
        ),
        within=tuple(within),
        items=tuple(
            _items(
                found.differing, [pair[0] for pair in pairs.values()], [pair[1] for pair in pairs.values()]
            )
        ),
        left_out=tuple(left_out[key] for key in sorted(left_out)),
        notes=tuple(_notes(a, b, pairs)),
    )


def _common_tasks(a: Collection, b: Collection) -> tuple[Collection, Collection]:
    common = set(a.tasks) & set(b.tasks)
    for task in sorted(common):
        differences = differing(a.conditions[task], b.conditions[task], floor=_is_floor(a) or _is_floor(b))
        if differences:
            raise SideError(f"{task} was run under different conditions: {'; '.join(differences)}")
    return a.of_tasks(common), b.of_tasks(common)


def _is_floor(runs: Collection) -> bool:
    return all(run.kind == "floor" for run in runs.runs)


def _means(runs: Collection, stratum: str) -> pd.DataFrame:
    """Score table of one stratum with one value for each compound, so that strata weigh alike."""
    means = st.item_means(runs.table(right))
    return means.assign(epoch=stratum)[list(st.COLUMNS)]


def _difference(of: str, a: pd.DataFrame, b: pd.DataFrame) -> Difference:
    return _stated(of, st.compare(a, b))


def _stated(of: str, found: st.Comparison) -> Difference:
    by_task = found.items.groupby("task")[["a", "b"]].mean().mean()
    estimate = found.difference
    return Difference(
        of=of,
        a=round(float(by_task["a"]), _DECIMALS),
        b=round(float(by_task["b"]), _DECIMALS),
        difference=Interval(
            value=round(estimate.value, _DECIMALS),
            low=_finite(estimate.low),
            high=_finite(estimate.high),
            items=estimate.items,
            clusters=estimate.clusters,
            note=estimate.note,
        ),
        p=round(found.p, _DECIMALS),
        smallest_detectable=_finite(found.smallest_detectable),
    )


def _finite(value: float) -> float | None:
    return round(value, _DECIMALS) if math.isfinite(value) else None


def _items(rows: pd.DataFrame, a: Sequence[Collection], b: Sequence[Collection]) -> list[DifferingItem]:
    first, second = _by_compound(a), _by_compound(b)
    found = []
    for task, compound, share_a, share_b in rows[["task", "item", "a", "b"]].itertuples(index=False):
        item = first[task, compound][0]
        found.append(
            DifferingItem(
                task=task,
                compound=compound,
                cluster=item.cluster,
                part=item.part,
                truth=item.labels,
                a=round(share_a, _DECIMALS),
                b=round(share_b, _DECIMALS),
                a_predicted=_usual(first[task, compound]),
                b_predicted=_usual(second[task, compound]),
            )
        )
    return found


def _by_compound(collections: Sequence[Collection]) -> dict[tuple[str, str], list[Item]]:
    found: dict[tuple[str, str], list[Item]] = {}
    for collection in collections:
        for run in collection.runs:
            for item in run.items:
                found.setdefault((run.task, item.compound), []).append(item)
    return found


def _usual(items: Sequence[Item]) -> str:
    counts = Counter(item.predicted or "none" for item in items)
    return min(counts, key=lambda label: (-counts[label], label))


def _notes(a: Side, b: Side, pairs: dict[str, tuple[Collection, Collection]]) -> list[str]:
    lost = [name for name in a.strata if name not in pairs]
    notes = [f"no task in common within {line(name)}" for name in lost]
    for side, runs in ((a, [p[0] for p in pairs.values()]), (b, [p[1] for p in pairs.values()])):
        failed = sum(bool(run.error) for collection in runs for run in collection.runs)
        notes += [f"failed samples of {line(side.name)}, counted as wrong: {failed}"] if failed else []
    return notes
