"""How a run is judged."""

from __future__ import annotations

from inspect_ai.scorer import Scorer

from hepbench.scorers.heldout import heldout_accuracy
from hepbench.scorers.hypotheses import generation_depth, hypothesis_count, mechanism_mix
from hepbench.scorers.refusals import refusal_rate
from hepbench.scorers.verdicts import belief_flips, final_rule_belief, resolution_rate

__all__ = [
    "belief_flips",
    "final_rule_belief",
    "generation_depth",
    "heldout_accuracy",
    "hypothesis_count",
    "mechanism_mix",
    "refusal_rate",
    "resolution_rate",
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
    ]
