"""Formulas, charges, radii and descriptors, over families of different shape."""

from __future__ import annotations

from typing import Any

import pytest

from hepbench.harness.scientist.descriptors import describer
from hepbench.harness.scientist.elements import charges, electrons, radius
from hepbench.harness.scientist.formula import parts, pattern_of
from hepbench.harness.scientist.space import space


def row(common: tuple[int, ...], rare: tuple[int, ...] = (), **more: Any) -> dict[str, Any]:
    return {"common_oxidation_states": list(common), "oxidation_states": [*common, *rare], **more}


TABLE: dict[str, dict[str, Any]] = {
    "Ti": row((4,), (2, 3), electronegativity_pauling=1.54, period=4, group=4),
    "Zr": row((4,), electronegativity_pauling=1.33, period=5, group=4),
    "Sr": row((2,)),
    "La": row((3,)),
    "Mg": row((2,)),
    "W": row((4, 6)),
    "Fe": row((2, 3), (4, 6)),
    "Mo": row((4, 6), (5,)),
    "Sc": row((3,)),
    "Nb": row((5,), (4,)),
    "O": row((-2,)),
}


@pytest.mark.parametrize(
    ("formula", "read"),
    [
        ("TiO2", (("Ti", 1), ("O", 2))),
        ("Sr2FeMoO6", (("Sr", 2), ("Fe", 1), ("Mo", 1), ("O", 6))),
        ("NiS", (("Ni", 1), ("S", 1))),
        ("", ()),
        ("not a formula", ()),
        ("Ca(OH)2", ()),
    ],
)
def test_formulas_are_read(formula: str, read: tuple[Any, ...]) -> None:
    assert parts(formula) == read


@pytest.mark.parametrize(
    ("formulas", "sites", "varying"),
    [
        (("TiO2", "ZrO2", "odd"), ("A", "O"), (True, False)),
        (("Sr2FeMoO6", "Ca2MgWO6", "Sr2ScNbO6"), ("A", "B", "B'", "O"), (True, True, True, False)),
        (("NiS", "FeP", "CoAs"), ("M", "X"), (True, True)),
    ],
)
def test_roles_follow_from_what_varies(
    formulas: tuple[str, ...], sites: tuple[str, ...], varying: tuple[bool, ...]
) -> None:
    pattern = pattern_of(formulas)
    assert pattern is not None
    assert (pattern.sites, pattern.varying) == (sites, varying)


def test_there_is_no_pattern_without_formulas() -> None:
    assert pattern_of(["", "Fe", "?"]) is None


@pytest.mark.parametrize(
    ("elements", "counts", "balanced"),
    [
        (("Ti", "O"), (1, 2), (4, -2)),
        (("Sr", "Mg", "W", "O"), (2, 1, 1, 6), (2, 2, 6, -2)),
        (("Sr", "Sc", "Nb", "O"), (2, 1, 1, 6), (2, 3, 5, -2)),
        (("La", "Mg", "W", "O"), (2, 1, 1, 6), (3, 2, 4, -2)),
        (("Sr", "Mg", "Sc", "O"), (2, 1, 1, 6), None),
        (("Ti", "Xe"), (1, 2), None),
    ],
)
def test_charges_balance(
    elements: tuple[str, ...], counts: tuple[int, ...], balanced: tuple[int, ...] | None
) -> None:
    assert charges(elements, counts, TABLE) == balanced


def test_the_radius_nearest_to_charge_and_coordination_is_taken() -> None:
    entries = [
        (2, 6, "high", 0.83),
        (2, 6, "low", 0.67),
        (2, 4, "", 0.66),
        (3, 6, "high", 0.61),
        (-2, 6, "", 9.0),
    ]
    table = {
        "shannon_radii_A": [
            {"charge": q, "coordination": n, "spin": s, "radius": r} for q, n, s, r in entries
        ]
    }
    assert radius(table, 2) == 0.83
    assert radius(table, 4) == 0.61
    assert radius(table, 2, 4) == 0.66
    assert radius(table, -1) == 9.0
    assert radius({}, 2) is None


def test_electrons_come_by_charge_or_plain() -> None:
    assert electrons({"d_electrons": {"4": 2}}, "d", 4) == 2.0
    assert electrons({"d_electrons": 3}, "d", 4) == 3.0
    assert electrons({"d_electrons": {"4": None}}, "d", 4) is None
    assert electrons({}, "f", 4) is None


def test_descriptors_that_tell_nothing_apart_are_left_out() -> None:
    pattern = pattern_of(["TiO2", "ZrO2"])
    assert pattern is not None
    made = describer(pattern, TABLE, ["TiO2", "ZrO2"])
    words = [d.words for d in made.catalogue]
    assert "electronegativity of A" in words
    assert "group of A" not in words
    assert "electronegativity of O" not in words
    assert made.values("TiO2") == {"electronegativity of A": 1.54, "period of A": 4.0}
    assert made.values("Sr2FeMoO6") == {}


def test_typical_and_new_compounds() -> None:
    table = {f"{e}": row((4,), electronegativity_pauling=x) for e, x in zip("BCNFI", range(5), strict=True)}
    formulas = [f"{e}O2" for e in "BCNFI"]
    pattern = pattern_of(formulas)
    assert pattern is not None
    found = space(describer(pattern, table, formulas), formulas)
    assert found.distance("BO2", "IO2") == 1.0
    assert found.typical(1) == ["NO2"]
    assert len(found.typical(9)) == 5
    assert found.newest(["CO2", "FO2", "IO2"], ["BO2"])[0] == "IO2"
    assert found.novelty("CO2", ["BO2", "FO2"]) == 0.25
