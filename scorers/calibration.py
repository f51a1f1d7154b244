"""Do stated confidences mean what they say?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from hepbench.scorers.outcomes import UNSCORED, mean_of

BINS = 10
"""Equal bins of confidence: [0, 0.1), [0.1, 0.2), …, [0.9, 1]."""


@dataclass(frozen=True)
class Stated:
    """A prediction's confidence in [0, 1], and whether it was right."""

    confidence: float
    right: bool


def brier(predictions: Sequence[Stated]) -> float:
    """Mean of (confidence − right)²: 0 is perfect, 0.25 is what an even 0.5 gets; NaN of no prediction.

    The form of Brier, Mon. Weather Rev. 78, 1 (1950) for the one event "the predicted label is right".
    """
    return mean_of([(p.confidence - p.right) ** 2 for p in predictions])


def expected_calibration_error(predictions: Sequence[Stated]) -> float:
    """Mean over bins, weighted by the predictions in them, of |share right − mean confidence|.

    Naeini, Cooper & Hauskrecht, AAAI 2015, with `BINS` equal bins. Over a dozen predictions it is a rough
    figure and biased upwards. NaN of no prediction.
    """
    bins: defaultdict[int, list[float]] = defaultdict(list)
    for p in predictions:
        bins[min(int(p.confidence * BINS), BINS - 1)].append(p.right - p.confidence)
    gaps = [abs(sum(differences)) for differences in bins.values()]
    return sum(gaps) / len(predictions) if predictions else UNSCORED
