"""The measures against independent, simple computations."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hepbench.harness.protocol.events import Prediction
from hepbench.scorers import calibration, outcomes
from hepbench.scorers.heldout import measures
from hepbench.scorers.outcomes import HeldOut, Outcome

LABELS = ("rutile", "anatase", "fluorite", "cotunnite")


@st.composite
def some_outcomes(draw: st.DrawFn, least: int = 1) -> list[Outcome]:
    found = []
    for n in range(draw(st.integers(least, 15))):
        energies: dict[str, float | None] = {
            label: draw(st.none() | st.floats(0, 1000, allow_subnormal=False)) for label in LABELS
        }
        lowest = draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=3, unique=True))
        truth = HeldOut(
            compound=f"X{n}",
            chemical_family="3d",
            part=draw(st.sampled_from(["interpolation", "extrapolation"])),
            labels=tuple(lowest),
            above_lowest={**energies, **dict.fromkeys(lowest, 0.0)},
        )
        prediction = Prediction(
            compound=f"X{n}", label=draw(st.sampled_from(LABELS)), confidence=draw(st.floats(0, 1))
        )
        found.append(Outcome(truth, draw(st.sampled_from([None, prediction]))))
    return found


@given(some_outcomes())
def test_accuracy_and_skill(given_outcomes: list[Outcome]) -> None:
    hits = sum(1 for o in given_outcomes if o.prediction and o.prediction.label in o.truth.labels)
    majority = sum(1 for o in given_outcomes if "rutile" in o.truth.labels)
    total = len(given_outcomes)
    found = measures(given_outcomes, "rutile")
    assert found["heldout_accuracy"] == pytest.approx(hits / total)
    if majority == total:
        assert math.isnan(found["heldout_skill"])
    else:
        assert found["heldout_skill"] == pytest.approx((hits - majority) / (total - majority))


@given(some_outcomes())
def test_the_parts_make_up_the_whole(given_outcomes: list[Outcome]) -> None:
    found = measures(given_outcomes, "rutile")
    size = {p: sum(o.truth.part == p for o in given_outcomes) for p in ("interpolation", "extrapolation")}
    hits = sum(n * found[f"heldout_{p}"] for p, n in size.items() if n)
    assert found["heldout_accuracy"] == pytest.approx(hits / len(given_outcomes))


@given(some_outcomes())
def test_balanced_accuracy_is_the_mean_recall(given_outcomes: list[Outcome]) -> None:
    """Each compound repeated for its labels, with exact weights, label by label."""
    recalls = []
    for label in LABELS:
        rows = [(Fraction(1, len(o.truth.labels)), o) for o in given_outcomes if label in o.truth.labels]
        if rows:
            recalls.append(sum((w for w, o in rows if o.right), Fraction()) / sum(w for w, _ in rows))
    assert outcomes.balanced_accuracy(given_outcomes) == pytest.approx(float(sum(recalls) / len(recalls)))


@given(some_outcomes())
def test_silence_never_pays(given_outcomes: list[Outcome]) -> None:
    """Leaving out a prediction lowers no regret and raises no accuracy."""
    for n, o in enumerate(given_outcomes):
        silent = [*given_outcomes[:n], Outcome(o.truth, None), *given_outcomes[n + 1 :]]
        assert outcomes.mean_regret(silent) >= outcomes.mean_regret(given_outcomes) - 1e-9
        assert outcomes.accuracy(silent) <= outcomes.accuracy(given_outcomes)


@given(some_outcomes())
def test_regret_of_right_predictions_is_that_of_their_phase(given_outcomes: list[Outcome]) -> None:
    for o in given_outcomes:
        known = [e for e in o.truth.above_lowest.values() if e is not None]
        assert 0 <= o.regret <= max(known)
        if o.right:
            assert o.regret == 0


def test_regret_without_any_energy_is_left_out() -> None:
    blank = HeldOut(
        compound="X",
        chemical_family="3d",
        part="interpolation",
        labels=("rutile",),
        above_lowest={"rutile": None},
    )
    known = blank.model_copy(update={"above_lowest": {"rutile": 0.0, "anatase": 12.0}})
    assert math.isnan(outcomes.mean_regret([Outcome(blank, None)]))
    assert outcomes.mean_regret([Outcome(blank, None), Outcome(known, None)]) == 12.0
    assert Outcome(blank, None).row()["regret_meV_per_atom"] is None


confidences = st.floats(0, 1) | st.integers(0, 10).map(lambda k: k / 10)
stated = st.lists(st.builds(calibration.Stated, confidences, st.booleans()), min_size=1, max_size=60)


@given(stated)
def test_brier_and_ece_against_numpy(predictions: list[calibration.Stated]) -> None:
    p = np.array([s.confidence for s in predictions])
    hit = np.array([s.right for s in predictions], dtype=float)
    assert calibration.brier(predictions) == pytest.approx(float(np.mean((p - hit) ** 2)))
    bin_of = np.minimum(np.floor(p * 10), 9)
    gaps: list[Any] = [
        abs(hit[bin_of == b].mean() - p[bin_of == b].mean()) * (bin_of == b).sum() for b in np.unique(bin_of)
    ]
    assert calibration.expected_calibration_error(predictions) == pytest.approx(sum(gaps) / len(p))


@pytest.mark.parametrize("tenth", range(10))
def test_a_bin_begins_at_its_tenth(tenth: int) -> None:
    """0.3 and 0.35 share a bin, 0.3 and 0.29 do not: opposite errors cancel inside a bin alone."""
    low = calibration.Stated(tenth / 10, right=False)
    high = calibration.Stated(tenth / 10 + 0.05, right=True)
    together = calibration.expected_calibration_error([low, high])
    assert together == pytest.approx(abs(1 - low.confidence - high.confidence) / 2)


def test_calibration_of_nothing() -> None:
    assert math.isnan(calibration.brier([]))
    assert math.isnan(calibration.expected_calibration_error([]))
