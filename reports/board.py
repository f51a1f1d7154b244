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

    value: float
    low: float | None
    high: float | None
    items: int
    clusters: int
    note: str = ""


class TaskResult(Part):
    """How an entry did on one task."""

    task: str
    accuracy: Interval
    epochs: int
    errors: int = Field(description="samples that ended with an error; all their compounds count as wrong")


class Cost(Part):
    """Means over the entry's runs; null where the logs do not say.

    Calls, tokens and money are the agent's own: a grader's, a reader's and an auditor's are not in them.
    """

    lab_calls: float | None
    model_calls: float | None
    tokens: float
    money: float | None = Field(description="US dollars")
    wall_s: float | None
    working_s: float | None


class Entry(Part):
    """One model with one harness over the suite.

    `measures` are the diagnostics of the held-out predictions, `process` those of the protocol; all are means
    over epochs, then over tasks with equal weight. A name that is missing was not scored for this entry.
    """

    name: str
    model: str
    harness: str
    kind: Kind
    rank: int | None = Field(description="place of the tie group's first entry; null where not ranked")
    tie_group: int | None = Field(description="entries of one group cannot be separated from its leader")
    not_ranked: str = Field(description="why there is no rank; empty otherwise")
    accuracy: Interval = Field(description="the headline: mean over tasks of held-out accuracy")
    interpolation: Interval | None
    extrapolation: Interval | None
    tasks: tuple[TaskResult, ...]
    measures: dict[str, float]
    process: dict[str, float]
    step_mix: dict[str, float]
    cost: Cost
    runs: int
    errors: int


class SuiteTask(Part):
    """A task of the suite, and the conditions that all of its runs share."""

    task: str
    items: int
    clusters: int
    conditions: dict[str, Any]


class LeftOut(Part):
    """A log that is in no row."""

    log: str
    reason: str


class Leaderboard(Part):
    """The whole document."""

    schema_id: Literal["hepbench.leaderboard/1"] = Field(default="hepbench.leaderboard/1", alias="schema")
    suite: tuple[SuiteTask, ...]
    entries: tuple[Entry, ...] = Field(description="best first; those without a rank last")
    left_out: tuple[LeftOut, ...]

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
