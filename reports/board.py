"""The leaderboard as a document: what the JSON file holds, and what every other form is made from."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hepbench.reports.records import Kind

SCHEMA = "hepbench.leaderboard/1"


class Part(BaseModel):
    """Base of everything in the document."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Interval(Part):
    """A mean over held-out compounds with its 95 % interval; bounds are null where none can be given."""

    value: float = Field(description="the mean")
    low: float | None = Field(description="lower bound of the 95 % interval")
    high: float | None = Field(description="upper bound")
    items: int = Field(description="held-out compounds")
    clusters: int = Field(description="chemical families, over all tasks")
    note: str = Field(default="", description="why the interval is missing or unusual; empty otherwise")


class TaskResult(Part):
    """How an entry did on one task."""

    task: str = Field(description="as Inspect names it")
    accuracy: Interval = Field(description="held-out accuracy on it")
    epochs: int = Field(description="runs of it")
    errors: int = Field(description="samples that ended with an error; all their compounds count as wrong")


class Cost(Part):
    """Means over the entry's runs; null where the logs do not say.

    Calls, tokens and money are the agent's own: a grader's, a reader's and an auditor's are not in them.
    """

    lab_calls: float | None = Field(description="of the laboratory")
    model_calls: float | None = Field(description="generations of the agent")
    tokens: float = Field(description="read and written")
    money: float | None = Field(description="US dollars")
    wall_s: float | None = Field(description="seconds by the clock")
    working_s: float | None = Field(description="seconds without waiting for rate limits and the like")


class Entry(Part):
    """One model with one harness over the suite.

    `measures` are the diagnostics of the held-out predictions, `process` those of the protocol; all are means
    over epochs, then over tasks with equal weight. A name that is missing was not scored for this entry.
    """

    name: str = Field(description="model and harness")
    model: str = Field(
        description="as Inspect names it, with the options that it was asked with; – for a floor"
    )
    harness: str = Field(description="how the agent worked, or which floor")
    kind: Kind = Field(description="what stands behind the row")
    rank: int | None = Field(description="place of the tie group's first entry; null where not ranked")
    tie_group: int | None = Field(description="entries of one group cannot be separated from its leader")
    not_ranked: str = Field(description="why there is no rank; empty otherwise")
    accuracy: Interval = Field(description="the headline: mean over tasks of held-out accuracy")
    interpolation: Interval | None = Field(
        description="accuracy on that part of the held-outs; null without such"
    )
    extrapolation: Interval | None = Field(description="likewise")
    tasks: tuple[TaskResult, ...] = Field(description="the tasks it was run on")
    measures: dict[str, float] = Field(description="name of a diagnostic of the predictions and its mean")
    process: dict[str, float] = Field(description="name of a diagnostic of the protocol and its mean")
    step_mix: dict[str, float] = Field(description="step category and its share of all steps")
    cost: Cost = Field(description="of a run")
    runs: int = Field(description="runs that count, over all tasks and epochs")
    errors: int = Field(description="of them, those that ended with an error")


class SuiteTask(Part):
    """A task of the suite, and the conditions that all of its runs share."""

    task: str = Field(description="as Inspect names it")
    items: int = Field(description="held-out compounds")
    clusters: int = Field(description="chemical families")
    conditions: dict[str, Any] = Field(description="name of a condition and its value")


class LeftOut(Part):
    """A log that is in no row."""

    log: str = Field(description="name of its file")
    reason: str = Field(description="why it does not count")


class Leaderboard(Part):
    """The whole document."""

    schema_id: Literal["hepbench.leaderboard/1"] = Field(default="hepbench.leaderboard/1", alias="schema")
    suite: tuple[SuiteTask, ...] = Field(description="the tasks")
    entries: tuple[Entry, ...] = Field(description="best first; those without a rank last")
    left_out: tuple[LeftOut, ...] = Field(description="logs that do not count")

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


PROCESS: dict[str, str] = {
    "hypothesis_count": "hypotheses",
    "tested_count": "tested",
    "generation_depth": "depth",
    "strict_generation_depth": "strict depth",
    "mix_de_novo": "de novo",
    "mix_inspired_by": "inspired by",
    "mix_refine": "refined",
    "mix_merge": "merged",
    "resolution_rate": "resolved",
    "verdict_rate": "decided",
    "belief_flips": "belief flips",
    "final_rule_belief": "final rule P(H)",
    "refusal_rate": "refused",
}
"""The protocol's diagnostics → what a column is called. No ranking rests on them."""

MEASURES: dict[str, str] = {
    "heldout_balanced_accuracy": "balanced accuracy",
    "heldout_skill": "skill over majority",
    "heldout_regret": "regret, meV/atom",
    "brier": "Brier",
    "ece": "ECE",
    "rule_transfer": "rule transfer",
}
"""Diagnostics of the held-out predictions → what a column is called."""
