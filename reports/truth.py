"""The held-out compounds of a run, scored or not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from inspect_ai.log import EvalSample
from pydantic import TypeAdapter, ValidationError

from hepbench.harness.text import clean, shorten
from hepbench.reports.opening import LogError
from hepbench.reports.records import Item
from hepbench.scorers.heldout import measures
from hepbench.scorers.outcomes import HeldOut, Outcome

_TRUTH = TypeAdapter(tuple[HeldOut, ...])


def silent_outcomes(sample: EvalSample) -> list[Outcome]:
    """The held-out compounds of a run without the score: none is predicted, as the scorer would see it.

    Raises:
        LogError: the sample's metadata does not hold the truth as the scorer wants it.
    """
    try:
        truth = _TRUTH.validate_python(sample.metadata["heldout"])
    except ValidationError as e:
        raise LogError(f"its held-out compounds cannot be read: {shorten(clean(str(e)), 120)}") from e
    return [Outcome(item, None) for item in truth]


def measures_of(outcomes: Sequence[Outcome], sample: EvalSample) -> dict[str, float]:
    """Their scores, as far as they are known: nobody can say how well a prediction would have been stated."""
    found = measures(outcomes, str(sample.metadata.get("exploration_majority")))
    return {name: value for name, value in found.items() if math.isfinite(value)}


def item_of(row: Mapping[str, Any]) -> Item:
    """A compound from the row that the scorer kept of it."""
    return Item(
        compound=str(row["compound"]),
        cluster=str(row["chemical_family"]),
        part=str(row["part"]),
        labels=tuple(str(label) for label in row["labels"]),
        predicted=row.get("predicted"),
        confidence=row.get("confidence"),
        right=bool(row["right"]),
        regret=row.get("regret_meV_per_atom"),
    )
