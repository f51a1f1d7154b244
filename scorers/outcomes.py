"""Held-out compounds: the truth, what was predicted, and how far apart they are."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hepbench.harness.protocol.events import Prediction

UNSCORED = math.nan
"""A measure without a value: Inspect leaves it out of the mean over epochs."""


class HeldOut(BaseModel):
    """The truth about one held-out compound, as a task puts it into its sample's metadata."""

    model_config = ConfigDict(frozen=True)

    compound: str
    chemical_family: str = Field(description="the cluster for statistics")
    part: Literal["interpolation", "extrapolation"]
    labels: tuple[str, ...] = Field(min_length=1, description="the lowest phases, tied within the tolerance")
    above_lowest: dict[str, float | None] = Field(
        description="label → energy above the lowest phase in meV/atom; None where no structure is that phase"
    )


@dataclass(frozen=True)
class Outcome:
    """A held-out compound and what was predicted for it, if anything was."""

    truth: HeldOut
    prediction: Prediction | None

    @property
    def right(self) -> bool:
        """Whether the predicted label is one of the lowest phases; a missing prediction is wrong."""
        return self.prediction is not None and self.prediction.label in self.truth.labels

    @property
    def regret(self) -> float:
        """Energy of the predicted phase above the lowest, meV/atom.

        A missing prediction, and a label without an energy for this compound, is charged the highest
        energy known for it, so that silence never pays. NaN if no energy is known at all.
        """
        energies = self.truth.above_lowest
        named = None if self.prediction is None else energies.get(self.prediction.label)
        return (
            max((e for e in energies.values() if e is not None), default=UNSCORED) if named is None else named
        )

    def row(self) -> dict[str, Any]:
        """The outcome as JSON, for the score's metadata."""
        return {
            "compound": self.truth.compound,
            "chemical_family": self.truth.chemical_family,
            "part": self.truth.part,
            "labels": list(self.truth.labels),
            "predicted": self.prediction.label if self.prediction else None,
            "confidence": self.prediction.confidence if self.prediction else None,
            "right": self.right,
            "regret_meV_per_atom": None if math.isnan(self.regret) else self.regret,
        }


def accuracy(outcomes: Sequence[Outcome], part: str | None = None) -> float:
    """Share predicted rightly, of all or of one part; NaN if that is empty."""
    return mean_of([o.right for o in outcomes if part in (None, o.truth.part)])


def naming(outcomes: Sequence[Outcome], label: str) -> float:
    """Accuracy of naming this label for every compound; NaN without compounds."""
    return mean_of([label in o.truth.labels for o in outcomes])


def skill(outcomes: Sequence[Outcome], majority: str) -> float:
    """(accuracy − majority) / (1 − majority), where majority is the accuracy of always naming that label.

    1 is perfect, 0 no better than the majority label. NaN if that label is always right.
    """
    always = naming(outcomes, majority)
    return UNSCORED if always == 1 else (accuracy(outcomes) - always) / (1 - always)


def balanced_accuracy(outcomes: Sequence[Outcome]) -> float:
    """Mean recall over the labels that are true of some held-out compound; NaN without compounds.

    A label's recall is the weighted share of its compounds that are predicted rightly; a compound with k
    tied labels belongs to each of them with weight 1/k.
    """
    weight: defaultdict[str, float] = defaultdict(float)
    hit: defaultdict[str, float] = defaultdict(float)
    for o in outcomes:
        for label in o.truth.labels:
            weight[label] += 1 / len(o.truth.labels)
            hit[label] += o.right / len(o.truth.labels)
    return mean_of([hit[label] / weight[label] for label in weight])


def mean_regret(outcomes: Sequence[Outcome]) -> float:
    """Mean regret in meV/atom over the compounds with a known energy; NaN if there is none."""
    return mean_of([o.regret for o in outcomes if not math.isnan(o.regret)])


def mean_of(values: Sequence[float]) -> float:
    """Arithmetic mean; NaN of nothing."""
    return sum(values) / len(values) if values else UNSCORED
