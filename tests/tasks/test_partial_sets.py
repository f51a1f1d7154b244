"""A reference set that holds part of a family: what is asked, what is sealed, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from inspect_ai._util.error import PrerequisiteError

from hepbench.harness.laboratory.potentials import DEFAULT_POTENTIAL
from hepbench.harness.laboratory.reference import ReferenceError, ReferenceSet  # noqa: A004
from hepbench.tasks import families
from hepbench.tasks.ao2 import ao2

WHOLE = ReferenceSet.load(families.reference_path("ao2", DEFAULT_POTENTIAL))
FORMULAS = [c.formula for c in families.load("ao2").compounds]


def part_of(kept: Iterable[str]) -> ReferenceSet:
    there = set(kept)
    return replace(
        WHOLE,
        relaxations={key: record for key, record in WHOLE.relaxations.items() if key[0] in there},
        not_held={formula: "not built" for formula in FORMULAS if formula not in there},
    )


def test_a_family_that_was_not_split_says_so() -> None:
    family = families.load("ao2")
    explored = tuple(c.model_copy(update={"part": "exploration"}) for c in family.compounds)
    with pytest.raises(ReferenceError, match="no compound of ao2 is held out: `hepbench reference split`"):
        families.within(family.model_copy(update={"compounds": explored}), WHOLE)


def test_the_whole_set_asks_the_whole_family() -> None:
    assert families.within(families.load("ao2"), WHOLE) == families.load("ao2")


def test_a_run_asks_about_what_the_set_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    small = part_of(["TiO2", "SiO2", "SnO2", "ThO2"])
    monkeypatch.setattr(ReferenceSet, "load", lambda _: small)
    (sample,) = ao2().dataset
    assert sample.metadata
    assert [row["compound"] for row in sample.metadata["heldout"]] == ["SnO2", "ThO2"]
    assert sample.metadata["prediction"]["compounds"] == ["SnO2", "ThO2"]
    assert [row["compound"] for row in sample.metadata["exploration"]] == ["TiO2", "SiO2"]
    assert "TiO2, SiO2" in str(sample.input)
    assert "RuO2" not in str(sample.input)
    assert small.left_out["RuO2"] == "not built"


def test_a_held_out_compound_in_doubt_is_explored_and_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = {
        key: r.model_copy(update={"phase": None}) for key, r in WHOLE.relaxations.items() if key[0] == "SnO2"
    }
    doubtful = replace(WHOLE, relaxations={**WHOLE.relaxations, **lost})
    family = families.within(families.load("ao2"), doubtful)
    compound = family.compound("SnO2")
    assert compound
    assert compound.part == "exploration"
    monkeypatch.setattr(ReferenceSet, "load", lambda _: doubtful)
    (sample,) = ao2().dataset
    assert sample.metadata
    assert "SnO2" not in [
        row["compound"] for row in sample.metadata["heldout"] + sample.metadata["exploration"]
    ]
    assert "SnO2" in str(sample.input)


@pytest.mark.parametrize(
    ("kept", "told"), [(["TiO2", "SiO2"], "no held-out compound"), (["SnO2"], "no exploration compound")]
)
def test_a_set_that_leaves_no_question_is_one_line(
    kept: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReferenceSet, "load", lambda _: part_of(kept))
    with pytest.raises(PrerequisiteError, match=told) as raised:
        ao2()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("family_id", families.FAMILY_IDS)
def test_no_compound_of_an_extrapolation_family_can_be_explored(family_id: str) -> None:
    """Not even one that nobody is asked about: it would tell of the others."""
    family = families.load(family_id)
    asked = families.within(family, families.reference_set(family_id, families.DEFAULT_POTENTIAL))
    explored = {c.chemical_family for c in asked.of_part("exploration")}
    assert asked.of_part("extrapolation")
    assert not explored & set(family.extrapolation)
