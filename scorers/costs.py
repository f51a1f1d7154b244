"""What a run cost: laboratory, generations, tokens, money. Times are in the log (`run_times`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from inspect_ai.log import EvalSample
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from hepbench.harness.agents.usage import AgentUsage
from hepbench.scorers.run import mean_of_runs, run_of

UNKNOWN = math.nan
"""Stands for money that nobody counted: Inspect leaves it out of the mean."""


@scorer(metrics=mean_of_runs("lab_calls", "model_calls", "input_tokens", "output_tokens", "money"))
def costs() -> Scorer:
    """What the agent used, both phases together; a grader's, a reader's or an auditor's part is not in it.

    * `lab_calls`: laboratory results on record, look-ups included.
    * `model_calls`: generations; `input_tokens` (cached ones included) and `output_tokens` of them.
    * `money`: US dollars, unscored unless the run was given prices (`--model-cost-config costs.yaml`).

    The values come from the sample's store, so a log that is scored again says the same. Times would differ
    between two runs of one policy, so they are no scores: see `run_times`.
    """

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (not a matter of truth)
        used = state.store_as(AgentUsage)
        run = run_of(state)
        measured = sum(result.measurement for result in run.results.values())
        return Score(
            value={
                "lab_calls": len(run.results),
                "model_calls": used.model_calls,
                "input_tokens": used.input_tokens,
                "output_tokens": used.output_tokens,
                "money": UNKNOWN if used.cost is None else used.cost,
            },
            explanation=f"{len(run.results)} laboratory results, {measured} of them measurements; "
            f"{used.model_calls} generations.",
        )

    return score


@dataclass(frozen=True)
class RunTimes:
    """Seconds of a sample: by the clock, and without waiting for rate limits and the like."""

    wall: float | None
    working: float | None


def run_times(sample: EvalSample) -> RunTimes:
    """The times that Inspect measured."""
    return RunTimes(sample.total_time, sample.working_time)
