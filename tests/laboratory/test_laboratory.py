"""The laboratory of one run: checks, comparisons, budget, and where relaxations come from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from hepbench.harness.laboratory.arguments import LabRefusal, pressure_of, prototypes_of
from hepbench.harness.laboratory.family import Compound, Family, Prototype
from hepbench.harness.laboratory.laboratory import Laboratory, LabSettings
from hepbench.harness.laboratory.records import Relaxation
from hepbench.harness.laboratory.results import (
    Measured,
    Tolerances,
    compare,
    comparison_answer,
    numeric_checks,
    relaxation_answer,
    relaxation_checks,
)

MakeLab = Callable[..., Laboratory]
TOLERANCES = Tolerances()
RUTILE = Relaxation(
    compound="TiO2",
    prototype="rutile",
    energy=-8.98765,
    enthalpy=-8.98765,
    volume=10.41234,
    space_group=136,
    phase="rutile",
    is_start=True,
    fmax=0.01,
    smax=0.1,
    converged=True,
)


def measured(family: Family, record: Relaxation) -> Measured:
    return Measured(prototype(family, record.prototype), record, "reference set")


def prototype(family: Family, name: str) -> Prototype:
    found = family.prototype(name)
    assert found is not None
    return found


def compound(family: Family, formula: str) -> Compound:
    found = family.compound(formula)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("changes", "failed"),
    [
        ({}, set()),
        ({"converged": False}, {"converged"}),
        ({"fmax": 0.021}, {"forces"}),
        ({"fmax": None}, {"forces"}),
        ({"smax": 0.6}, {"stress"}),
        ({"energy": math.nan}, {"finite_energy"}),
        ({"enthalpy": None}, {"finite_energy"}),
        ({"volume": 2.0}, {"volume"}),
        ({"volume": 200.0}, {"volume"}),
        ({"fmax": math.nan, "smax": math.inf, "volume": math.nan}, {"forces", "stress", "volume"}),
    ],
)
def test_numeric_checks(changes: dict[str, Any], failed: set[str]) -> None:
    checks = numeric_checks(RUTILE.model_copy(update=changes), TOLERANCES)
    assert {name for name, passed in checks.items() if not passed} == failed


def test_a_start_that_became_something_else_is_not_trusted(family: Family) -> None:
    changed = RUTILE.model_copy(update={"prototype": "CaCl2-type", "is_start": False})
    checks = relaxation_checks(measured(family, changed), TOLERANCES)
    answer = relaxation_answer(measured(family, changed), checks)
    assert answer["trusted"] is answer["still_the_prototype"] is checks["still_the_prototype"] is False
    assert answer["phase"] == "rutile"


def test_a_relaxation_reads_well(family: Family) -> None:
    checks = relaxation_checks(measured(family, RUTILE), TOLERANCES)
    answer = relaxation_answer(measured(family, RUTILE), checks)
    assert answer["energy_eV_per_atom"] == -8.9877
    assert answer["volume_A3_per_atom"] == 10.412
    assert answer["trusted"] is True


def test_no_nan_reaches_an_answer(family: Family) -> None:
    broken = RUTILE.model_copy(update={"energy": math.nan, "enthalpy": math.inf, "volume": math.nan})
    answer = relaxation_answer(measured(family, broken), {"finite_energy": False})
    assert (
        answer["energy_eV_per_atom"] is answer["enthalpy_eV_per_atom"] is answer["volume_A3_per_atom"] is None
    )


def comparison(family: Family, records: list[Relaxation]) -> dict[str, Any]:
    return comparison_answer("TiO2", 0.0, compare([measured(family, r) for r in records], TOLERANCES))


def test_a_comparison_ranks_phases_and_drops_nothing(
    family: Family, tio2: dict[tuple[str, str], Relaxation]
) -> None:
    answer = comparison(family, list(tio2.values()))
    assert answer["lowest"] == "anatase"
    ranking = [(row["phase"], row["above_lowest_meV_per_atom"]) for row in answer["ranking"]]
    assert ranking == [("anatase", 0.0), ("brookite", 5.0), ("rutile", 12.3)]
    assert answer["changed"] == [
        {"prototype": "CaCl2-type", "became": "rutile"},
        {"prototype": "fluorite", "became": None},
    ]
    assert [row["prototype"] for row in answer["failed"]] == ["cotunnite", "baddeleyite"]
    assert answer["failed"][0]["reason"] == "it exploded"
    assert "forces" in answer["failed"][1]["reason"]
    assert answer["trusted"] is True


def test_a_changed_start_counts_under_the_phase_that_it_is(
    family: Family, tio2: dict[tuple[str, str], Relaxation]
) -> None:
    answer = comparison(family, [tio2["TiO2", "CaCl2-type"], tio2["TiO2", "anatase"]])
    assert [row["phase"] for row in answer["ranking"]] == ["anatase", "rutile"]
    assert answer["ranking"][1]["started_as"] == "CaCl2-type"
    assert answer["trusted"] is True


def test_one_phase_is_no_comparison(family: Family, tio2: dict[tuple[str, str], Relaxation]) -> None:
    answer = comparison(family, [tio2["TiO2", "rutile"], tio2["TiO2", "CaCl2-type"]])
    assert [row["phase"] for row in answer["ranking"]] == ["rutile"]
    assert answer["checks"]["two_phases_ranked"] is answer["trusted"] is False


def test_a_comparison_without_a_sound_candidate(
    family: Family, tio2: dict[tuple[str, str], Relaxation]
) -> None:
    answer = comparison(family, [tio2["TiO2", "cotunnite"], tio2["TiO2", "baddeleyite"]])
    assert answer["lowest"] is None
    assert answer["ranking"] == []
    assert answer["trusted"] is False


@pytest.mark.parametrize(
    "low",
    [
        {"energy": -8.998, "enthalpy": -8.998, "converged": False},  # stopped 2 meV/atom above the lowest
        {"energy": -9.1, "enthalpy": -9.1, "phase": None, "is_start": False},  # below it, outside the list
    ],
)
def test_doubt_about_the_lowest_phase(
    family: Family, tio2: dict[tuple[str, str], Relaxation], low: dict[str, Any]
) -> None:
    doubtful = tio2["TiO2", "fluorite"].model_copy(update=low)
    answer = comparison(family, [tio2["TiO2", "rutile"], tio2["TiO2", "anatase"], doubtful])
    assert answer["lowest"] == "anatase"
    assert answer["checks"]["lowest_beyond_doubt"] is answer["trusted"] is False


def measure(lab: Laboratory, formula: str, names: list[str], pressure: float = 0.0) -> list[Measured]:
    starts = [prototype(lab.family, name) for name in names]
    return anyio.run(lab.measure, compound(lab.family, formula), starts, pressure)


def test_standard_relaxations_come_from_the_reference_set(make_lab: MakeLab, worker: Any) -> None:
    lab = make_lab(budget=5)
    found = measure(lab, "TiO2", ["rutile", "anatase"])
    assert [(m.relaxation.prototype, m.source) for m in found] == [
        ("rutile", "reference set"),
        ("anatase", "reference set"),
    ]
    assert lab.provenance_of(found)["source"] == "reference set"
    assert worker.jobs == []
    assert lab.budget_left == 3


def test_what_the_reference_set_lacks_is_relaxed_live(make_lab: MakeLab, worker: Any) -> None:
    lab = make_lab()
    found = measure(lab, "TiO2", ["rutile", "alpha-quartz"])
    assert [m.source for m in found] == ["reference set", "live"]
    assert lab.provenance_of(found)["source"] == "live and reference set"
    assert [job.prototype.name for job in worker.jobs] == ["alpha-quartz"]


def test_a_repeat_costs_nothing(make_lab: MakeLab, worker: Any) -> None:
    lab = make_lab(budget=5)
    first = measure(lab, "TiO2", ["rutile", "fluorite"], 10.0)
    assert measure(lab, "TiO2", ["fluorite", "rutile"], 10.0) == first[::-1]
    assert len(worker.jobs) == 2
    assert lab.budget_left == 3
    measure(lab, "TiO2", ["rutile"], 20.0)
    assert lab.budget_left == 2


def test_live_relaxations_are_identified(make_lab: MakeLab) -> None:
    found = measure(make_lab(), "TiO2", ["rutile", "fluorite"], 10.0)
    assert [(m.relaxation.phase, m.relaxation.is_start) for m in found] == [
        ("rutile", True),
        ("fluorite", True),
    ]


def test_a_call_beyond_the_budget_is_refused_whole(make_lab: MakeLab) -> None:
    lab = make_lab(budget=2)
    with pytest.raises(LabRefusal, match=r"budget.* costs 3, and 2 structures are left"):
        measure(lab, "TiO2", ["rutile", "anatase", "brookite"])
    assert lab.budget_left == 2
    measure(lab, "TiO2", ["rutile", "anatase"])
    measure(lab, "TiO2", ["rutile", "anatase"])
    assert lab.budget_left == 0


def test_an_exploded_relaxation_is_paid_once_and_remembered(make_lab: MakeLab, worker: Any) -> None:
    worker.ends["rutile"] = "exploded"
    lab = make_lab(budget=9)
    for _ in range(2):
        (lost,) = measure(lab, "TiO2", ["rutile"], 10.0)
        assert lost.relaxation.status == "failed"
    assert len(worker.jobs) == 1
    assert lab.budget_left == 8


def test_one_without_a_result_is_tried_and_paid_again(make_lab: MakeLab, worker: Any) -> None:
    worker.ends["rutile"] = "slow"
    lab = make_lab(budget=9)
    found = measure(lab, "TiO2", ["rutile", "anatase"], 10.0)
    assert [m.relaxation.status for m in found] == ["failed", "ok"]
    worker.ends.clear()
    assert measure(lab, "TiO2", ["rutile"], 10.0)[0].relaxation.status == "ok"
    assert lab.budget_left == 6


def test_other_weights_than_those_of_the_reference_set_are_refused(make_lab: MakeLab) -> None:
    lab = make_lab(budget=9)
    other = lab.provenance.model_copy(update={"weights_sha256": "0" * 64})
    lab._live._provenance = other
    with pytest.raises(LabRefusal, match="not those of the reference set"):
        measure(lab, "TiO2", ["rutile"], 10.0)
    assert lab.budget_left == 9


@pytest.mark.parametrize("wrong", [{"budget": -1}, {"time_limit": 0.0}, {"max_pressure": math.nan}])
def test_settings_are_validated(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        replace(LabSettings(), **wrong)


@pytest.mark.parametrize(
    ("given", "pressure"), [(10, 10.0), (-0.0, 0.0), ("5", 5.0), ("5 GPa", 5.0), (1e-9, 0.0), (50, 50.0)]
)
def test_pressures(given: Any, pressure: float) -> None:
    taken = pressure_of(given, 50.0, "")
    assert taken == pressure
    assert math.copysign(1, taken) == 1


ABSURD = [math.nan, math.inf, "much", "", 51, 10**400, 10**5000, True, None, [1], "1" * 10**5]


@pytest.mark.parametrize("given", ABSURD, ids=range(len(ABSURD)))
def test_absurd_pressures(given: Any) -> None:
    with pytest.raises(LabRefusal, match="from -50 to 50") as caught:
        pressure_of(given, 50.0, "")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "given",
    [["rutile", "anatase"], "rutile, anatase", '["rutile", "anatase"]', ["Rutile", " ANATASE "]],
)
def test_lists_are_taken_as_models_write_them(family: Family, given: Any) -> None:
    assert [p.name for p in prototypes_of(family, given, "")] == ["rutile", "anatase"]


def test_greek_and_spaces_in_names(family: Family) -> None:
    assert [p.name for p in prototypes_of(family, ["α-quartz", "alpha cristobalite"], "")] == [
        "alpha-quartz",
        "alpha-cristobalite",
    ]
