"""A baseline: what runs once gave, compound by compound, to be compared with later."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from hepbench.benchmark.leaderboard.collect import Collection
from hepbench.harness.text import clean, shorten
from hepbench.reports.board import Part
from hepbench.reports.records import Item, Kind, RunRecord

NOT_KEPT = frozenset({"money", "input_tokens", "output_tokens", "model_calls"})
"""Scores that say what a run cost, not how it came out; a price list or a provider may change them."""


class BaselineError(ValueError):
    """A baseline that cannot be used; the message is one line that names the file."""


class BaselineItem(Part):
    """One held-out compound of one run."""

    compound: str
    cluster: str
    part: str
    labels: tuple[str, ...]
    predicted: str | None
    confidence: float | None
    right: bool
    regret: float | None


class BaselineRun(Part):
    """One sample of one epoch."""

    sample: str
    epoch: int
    error: str
    scores: dict[str, float]
    items: tuple[BaselineItem, ...]


class BaselineEntry(Part):
    """One model with one harness on one task."""

    model: str
    harness: str
    kind: Kind
    task: str
    conditions: dict[str, Any]
    tools: dict[str, str] = Field(description="tool → hash of its definition")
    runs: tuple[BaselineRun, ...] = Field(min_length=1)

    @property
    def key(self) -> tuple[str, str]:
        """Model and harness."""
        return self.model, self.harness


class Baseline(Part):
    """The file."""

    schema_id: Literal["hepbench.baseline/1"] = Field(default="hepbench.baseline/1", alias="schema")
    entries: tuple[BaselineEntry, ...]

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    def collection(self) -> Collection:
        """The baseline's runs, as if they had been read from logs."""
        runs = [_record(entry, run) for entry in self.entries for run in entry.runs]
        return Collection(tuple(runs), {e.task: e.conditions for e in self.entries}, ())


def make_baseline(collection: Collection) -> Baseline:
    """A baseline of these runs; the same logs give the same file."""
    return Baseline(
        entries=tuple(
            BaselineEntry(
                model=key[0],
                harness=key[1],
                kind=runs[0].kind,
                task=task,
                conditions=dict(runs[0].conditions),
                tools=dict(runs[0].tools),
                runs=tuple(map(_kept, runs)),
            )
            for task in collection.tasks
            for key in collection.entries
            if (runs := [run for run in collection.runs if run.task == task and run.entry == key])
        )
    )


def exact_scores(scores: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The scores that a baseline keeps."""
    return {name: round(value, 9) for name, value in sorted(scores) if name not in NOT_KEPT}


def _kept(run: RunRecord) -> BaselineRun:
    return BaselineRun(
        sample=run.sample,
        epoch=run.epoch,
        error=run.error,
        scores=exact_scores(run.scores.items()),
        items=tuple(BaselineItem(**vars(item)) for item in run.items),
    )


def _record(entry: BaselineEntry, run: BaselineRun) -> RunRecord:
    return RunRecord(
        where="baseline",
        log_id="baseline",
        task_id="baseline",
        finished=True,
        created="",
        task=entry.task,
        model=entry.model,
        harness=entry.harness,
        sample=run.sample,
        epoch=run.epoch,
        conditions=entry.conditions,
        tools=entry.tools,
        items=tuple(Item(**item.model_dump()) for item in run.items),
        scores=run.scores,
        error=run.error,
    )


def to_json(baseline: Baseline) -> str:
    """The file's text: one line for each compound, so that a diff reads well."""
    document = baseline.model_dump(mode="json", by_alias=True)
    lines: list[str] = ['{"schema": ' + json.dumps(document["schema"]) + ', "entries": [']
    for n, entry in enumerate(document["entries"]):
        runs = entry.pop("runs")
        lines.append(("," if n else "") + json.dumps(entry, ensure_ascii=False)[:-1] + ', "runs": [')
        for m, run in enumerate(runs):
            items = run.pop("items")
            lines.append((" ," if m else " ") + json.dumps(run, ensure_ascii=False)[:-1] + ', "items": [')
            lines.append(",\n".join("  " + json.dumps(item, ensure_ascii=False) for item in items) + "]}")
        lines.append("]}")
    return "\n".join([*lines, "]}"]) + "\n"


def _check_kind(path: Path, entry: BaselineEntry) -> None:
    """A kind decides what is checked, and follows from the names."""
    kind = _record(entry, entry.runs[0]).kind
    if entry.kind != kind:
        told = f"{entry.model} with {entry.harness} is a {kind}, not a {entry.kind}"
        raise BaselineError(f"baseline {path}: {told}")


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        BaselineError: the file is missing, or is no baseline of this version.
    """
    try:
        found = Baseline.model_validate_json(path.read_bytes())
    except OSError as e:
        raise BaselineError(f"baseline {path}: {e.strerror or e}") from e
    except ValidationError as e:
        first = e.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "top level"
        raise BaselineError(f"baseline {path}, {where}: {shorten(clean(first['msg']), 120)}") from e
    for entry in found.entries:
        _check_kind(path, entry)
    return found
