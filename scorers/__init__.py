"""How a run is judged."""

from __future__ import annotations

from inspect_ai.scorer import Scorer

from hepbench.scorers.costs import costs
from hepbench.scorers.heldout import heldout_accuracy
from hepbench.scorers.hypotheses import generation_depth, hypothesis_count, mechanism_mix
from hepbench.scorers.refusals import refusal_rate
from hepbench.scorers.steps import step_flow, step_mix
from hepbench.scorers.transfer import rule_transfer
from hepbench.scorers.verdicts import belief_flips, final_rule_belief, resolution_rate

__all__ = [
    "belief_flips",
    "costs",
    "final_rule_belief",
    "generation_depth",
    "heldout_accuracy",
    "hypothesis_count",
    "mechanism_mix",
    "refusal_rate",
    "resolution_rate",
    "rule_transfer",
    "step_flow",
    "step_mix",
    "suite_scorers",
]


def suite_scorers() -> list[Scorer]:
    """The scorers of every task, the headline first."""
    return [
        heldout_accuracy(),
        hypothesis_count(),
        generation_depth(),
        mechanism_mix(),
        resolution_rate(),
        belief_flips(),
        final_rule_belief(),
        refusal_rate(),
        step_mix(),
        step_flow(),
        rule_transfer(),
        costs(),
    ]
