"""Rule transfer: how much of what was found stands in the record, rather than in the conversation?

A fresh model in the role `reader` (`--model-role reader=…`) sees the supported hypotheses' text and the
sealed compounds' element descriptors, and nothing else. What it predicts rightly, anybody could have
predicted from the record.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from inspect_ai.model import get_model, model_roles
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from hepbench.harness.agents.prompts import prompt
from hepbench.harness.descriptors import Site, describe
from hepbench.harness.protocol.state import Hypothesis, RunState
from hepbench.scorers.run import HARNESSES_WITH_REGISTRY, mean_of_runs, run_of, unscored

READER = "reader"
"""The model role that reads the record."""


@scorer(metrics=mean_of_runs("rule_transfer", "rule_transfer_gain"))
def rule_transfer() -> Scorer:
    """Share of held-out compounds that a fresh reader of the supported hypotheses predicts rightly.

    `rule_transfer_gain` is that share minus the agent's own. Unscored without a reader, for a run without
    a registry, and when nothing was supported.
    """

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (the truth is metadata)
        run = run_of(state)
        kept = [h for h in run.hypotheses.values() if h.state == "supported"]
        why_not = _no_ground(run, kept)
        if why_not is not None:
            return unscored(*why_not)
        reader = get_model(role=READER)
        answer = (await reader.generate(_question(state, kept))).completion
        labels = state.metadata["prediction"]["labels"]
        truth = {row["compound"]: row["labels"] for row in state.metadata["heldout"]}
        said = predictions_in(answer, list(truth), labels)
        right = sum(said.get(c) in found for c, found in truth.items()) / len(truth)
        return Score(
            value={"rule_transfer": right, "rule_transfer_gain": right - _own(run, truth)},
            answer=answer,
            explanation=f"{reader} read {', '.join(h.id for h in kept)} and answered for {len(said)} of "
            f"{len(truth)} compounds.",
            metadata={"reader": str(reader), "predictions": said},
        )

    return score


def _no_ground(run: RunState, kept: Sequence[Hypothesis]) -> tuple[str, str] | None:
    if READER not in model_roles():
        return "no_reader", "no model was given the role `reader`"
    if run.about.get("harness") not in HARNESSES_WITH_REGISTRY:
        return "no_registry", "the harness keeps no registry"
    return None if kept else ("nothing_supported", "no hypothesis was supported")


def _own(run: RunState, truth: Mapping[str, Sequence[str]]) -> float:
    hits = [c in run.predictions and run.predictions[c].label in found for c, found in truth.items()]
    return sum(hits) / len(hits)


def _question(state: TaskState, kept: Sequence[Hypothesis]) -> str:
    compositions: Mapping[str, Any] = state.metadata["compositions"]
    asked = state.metadata["prediction"]
    return prompt(
        "reader",
        hypotheses="\n".join(f"* {h.id} (P = {h.belief:g}): {h.statement}" for h in kept),
        labels=", ".join(asked["labels"]),
        compounds="\n".join(f"* {c}: {_descriptors(compositions[c])}" for c in asked["compounds"]),
    )


def _descriptors(sites: Sequence[Mapping[str, Any]]) -> str:
    elements = ", ".join(f"{s['role']} = {s['element']}" for s in sites)
    values = describe([Site(**s) for s in sites])
    return "; ".join([elements, *(f"{name} {value:.4g}" for name, value in values.items())])


def predictions_in(answer: str, compounds: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """The labels that an answer's lines name, such as "ThO2: fluorite"; the last word on a compound counts.

    A label is taken as it is written in the question, whatever its case; anything else is no prediction.
    """
    known = {label.casefold(): label for label in labels}
    found: dict[str, str] = {}
    for line in answer.splitlines():
        compound, _, rest = line.partition(":")
        name = re.sub(r"[\s*`|-]", "", compound)
        label = known.get(rest.strip(" \t*`|.").casefold())
        if name in compounds and label is not None:
            found[name] = label
    return found
