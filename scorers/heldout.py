"""The headline: are the held-out compounds predicted rightly?

The truth stands in the sample's metadata, so a log can be scored again on its own:
`metadata["heldout"]`, a list of `outcomes.HeldOut`, and `metadata["exploration_majority"]`, the label that
is most frequent among the exploration compounds.
"""

from __future__ import annotations

from collections.abc import Sequence

from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState
from pydantic import TypeAdapter

from hepbench.scorers.calibration import Stated, brier, expected_calibration_error
from hepbench.scorers.outcomes import (
    HeldOut,
    Outcome,
    accuracy,
    balanced_accuracy,
    mean_regret,
    skill,
)
from hepbench.scorers.run import mean_of_runs, run_of

_TRUTH = TypeAdapter(tuple[HeldOut, ...])


@scorer(
    metrics=mean_of_runs(
        "heldout_accuracy",
        "heldout_interpolation",
        "heldout_extrapolation",
        "heldout_balanced_accuracy",
        "heldout_skill",
        "heldout_regret",
        "brier",
        "ece",
    )
)
def heldout_accuracy() -> Scorer:
    """Share of held-out compounds whose predicted label is right, and what goes with it.

    * `heldout_accuracy` (the headline), `heldout_interpolation`, `heldout_extrapolation`: share predicted
      rightly, of all and of each part. Any of several tied lowest phases is right; a missing prediction is
      wrong.
    * `heldout_balanced_accuracy`, `heldout_skill`, `heldout_regret` (meV/atom): see `outcomes`.
    * `brier`, `ece`: see `calibration`; of the predictions made.

    A key without a ground (an empty part, a majority label that is always right, no prediction to
    calibrate) is unscored. The metadata keeps every compound's outcome.

    Raises:
        KeyError: the task put no truth into the sample's metadata.
        pydantic.ValidationError: what it put there is not as `HeldOut` asks.
    """

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (the truth is metadata)
        truth = _TRUTH.validate_python(state.metadata["heldout"])
        majority: str = state.metadata["exploration_majority"]
        run = run_of(state)
        outcomes = [Outcome(item, run.predictions.get(item.compound)) for item in truth]
        return Score(
            value=measures(outcomes, majority),
            answer=run.rule or None,
            explanation=_explanation(outcomes, majority),
            metadata={"compounds": [o.row() for o in outcomes], "exploration_majority": majority},
        )

    return score


def measures(outcomes: Sequence[Outcome], majority: str) -> dict[str, float]:
    """The score's keys and values; NaN where a key has no ground."""
    stated = [Stated(o.prediction.confidence, o.right) for o in outcomes if o.prediction]
    return {
        "heldout_accuracy": accuracy(outcomes),
        "heldout_interpolation": accuracy(outcomes, "interpolation"),
        "heldout_extrapolation": accuracy(outcomes, "extrapolation"),
        "heldout_balanced_accuracy": balanced_accuracy(outcomes),
        "heldout_skill": skill(outcomes, majority),
        "heldout_regret": mean_regret(outcomes),
        "brier": brier(stated),
        "ece": expected_calibration_error(stated),
    }


def _explanation(outcomes: Sequence[Outcome], majority: str) -> str:
    wrong = [o.truth.compound for o in outcomes if not o.right]
    missing = sum(o.prediction is None for o in outcomes)
    always = sum(majority in o.truth.labels for o in outcomes)
    return (
        f"{len(outcomes) - len(wrong)} of {len(outcomes)} held-out compounds right, {missing} without a "
        f"prediction; always naming {majority} would get {always}. Wrong: {', '.join(wrong) or 'none'}."
    )
