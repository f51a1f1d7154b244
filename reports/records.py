"""A run as tables and pages see it: who ran what under which conditions, and how it came out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hepbench.harness.agents.harnesses import FLOORS

Kind = Literal["model", "scripted policy", "floor"]
"""What stands behind a row; scripted policies and floors are marked wherever they are shown."""

CONDITIONS: Mapping[str, str] = {
    "task_version": "task version",
    "potential": "potential",
    "weights_sha256": "potential's weights",
    "reference_sha256": "reference set",
    "database": "known structures",
    "lab_budget": "laboratory budget",
    "turn_limit": "turn limit",
    "token_limit": "token limit",
    "context_limit": "context limit",
    "live_time_limit": "time limit of a live call",
    "rules": "protocol rules",
    "auditor": "independent auditor",
    "sample_limits": "limits of the sample",
}
"""What must be equal before two runs of a task may be compared → what it is called."""

OF_THE_QUESTION = ("task_version", "potential", "weights_sha256", "reference_sha256")
"""The conditions that a floor shares too: it is told the truth, and has neither laboratory nor limits."""


@dataclass(frozen=True)
class Item:
    """One held-out compound of one run.

    Attributes:
        compound: Formula.
        cluster: Its chemical family.
        part: "interpolation" or "extrapolation".
        labels: The lowest phases, tied.
        predicted: The label that was predicted; None if none was.
        confidence: Stated with it.
        right: Whether it is one of the lowest phases.
        regret: Energy of the predicted phase above the lowest, meV/atom; None if it is not known.
    """

    compound: str
    cluster: str
    part: str
    labels: tuple[str, ...]
    predicted: str | None
    confidence: float | None
    right: bool
    regret: float | None


@dataclass(frozen=True)
class RunRecord:
    """One sample of one epoch of one log.

    Attributes:
        where: Path or URL of the log.
        log_id: The log's own id; the same log read twice has the same.
        task_id: Shared by a log and the logs that retried it.
        finished: The log ended without an error.
        created: UTC time at which the log was begun, ISO 8601.
        task: Such as "hepbench/ao2".
        model: As Inspect names it, with the options that were set (see `options`); "–" for a floor.
        harness: How the agent worked.
        sample: Id of the sample.
        epoch: From 1.
        conditions: `CONDITIONS` → value.
        items: The held-out compounds.
        scores: Every number that a scorer gave, by name; unscored ones are left out.
        tools: Tool that the agent was offered → hash of its definition. They belong to the harness, so that
            only runs of the same harness may be held against each other by them.
        flow: How often a step category (row) was followed by another (column).
        tokens: Of the agent's own generations, read and written.
        money: Their price in US dollars, or None where no prices were given.
        wall: Seconds by the clock.
        working: Seconds without waiting for rate limits and the like.
        error: What ended the sample before its time; empty if nothing did.
        limit: Type of the sample's limit that was reached; empty if none was.
    """

    where: str
    log_id: str
    task_id: str
    finished: bool
    created: str
    task: str
    model: str
    harness: str
    sample: str
    epoch: int
    conditions: Mapping[str, Any]
    items: tuple[Item, ...]
    scores: Mapping[str, float]
    tools: Mapping[str, str] = field(default_factory=dict)
    flow: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    tokens: int = 0
    money: float | None = None
    wall: float | None = None
    working: float | None = None
    error: str = ""
    limit: str = ""

    @property
    def kind(self) -> Kind:
        """What stands behind the run."""
        if self.harness in FLOORS:
            return "floor"
        return "scripted policy" if self.model.startswith("hepbench/") else "model"

    @property
    def entry(self) -> tuple[str, str]:
        """Model and harness: what a row of a leaderboard is about."""
        return self.model, self.harness


def values_of(run: RunRecord) -> dict[str, Any]:
    """A run's fields as JSON keeps them; `run_of` gives the run again."""
    return {**vars(run), "items": [vars(item) for item in run.items]}


def run_of(values: Mapping[str, Any]) -> RunRecord:
    """A run from its fields as JSON keeps them."""
    items = tuple(Item(**{**item, "labels": tuple(item["labels"])}) for item in values["items"])
    return RunRecord(**{**values, "items": items})


def entry_name(entry: tuple[str, str]) -> str:
    """A row's name, such as "openai/gpt-5.5 · hep"; a floor is its harness alone."""
    model, harness = entry
    return harness if harness in FLOORS else f"{model} · {harness}"


def differing(a: Mapping[str, Any], b: Mapping[str, Any], *, floor: bool = False) -> list[str]:
    """The conditions in which two runs differ, one line for each: "laboratory budget: 160 ≠ 80".

    Args:
        a: Conditions of the one.
        b: Conditions of the other.
        floor: One of them is a floor, for which only the question counts.
    """
    return [
        f"{name}: {difference}"
        for key, name in CONDITIONS.items()
        if a.get(key) != b.get(key) and (key in OF_THE_QUESTION or not floor)
        for difference in [_difference(a.get(key), b.get(key))]
    ]


def _difference(one: Any, other: Any) -> str:
    """Two values; of two objects, such as rules, only what differs."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return f"{_shown(one)} ≠ {_shown(other)}"
    names = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    return ", ".join(f"{name} {_shown(one.get(name))} ≠ {_shown(other.get(name))}" for name in names)


def differing_tools(a: Mapping[str, str], b: Mapping[str, str]) -> list[str]:
    """The tools in which two runs differ, one line for each kind of difference."""
    kinds = {
        "tools gone": [name for name in a if name not in b],
        "tools new": [name for name in b if name not in a],
        "tools defined otherwise": [name for name in a if name in b and a[name] != b[name]],
    }
    return [f"{kind}: {', '.join(sorted(names))}" for kind, names in kinds.items() if names]


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return f"{text[:12]}…" if len(text) == 64 else text  # noqa: PLR2004 - a SHA-256
