"""A laboratory result in words: what was found stands in it, whatever a log's answer looks like."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hepbench.harness.protocol.events import LabResultRecorded
from hepbench.reports.pages.results import asked, outcome

LONG = st.sampled_from(["\n" * 500, "long " * 500])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10), LONG)
NAMES = st.sampled_from(["phase", "above_lowest_meV_per_atom", "prototype", "became", "reason", "x"])
ROWS = st.dictionaries(NAMES, SCALARS, max_size=3)
VALUES = st.one_of(SCALARS, ROWS, st.lists(st.one_of(SCALARS, ROWS), max_size=6))


def result(answer: dict[str, Any], *, measurement: bool = True, **arguments: Any) -> LabResultRecorded:
    return LabResultRecorded(
        result="R1", tool="x", arguments=arguments, answer=answer, checks={}, measurement=measurement
    )


def test_a_comparison_names_the_lowest_phase_the_heights_and_what_left() -> None:
    ranking = [{"phase": p, "above_lowest_meV_per_atom": e} for p, e in (("rutile", 0.0), ("anatase", 7.5))]
    answer = {
        "lowest": "rutile",
        "ranking": ranking,
        "changed": [{"prototype": "CaCl2-type", "became": "rutile"}],
        "failed": [{"prototype": "fluorite", "reason": "not converged"}],
    }
    assert outcome(result(answer)) == (
        "lowest rutile; anatase +7.5 meV/atom; became: CaCl2-type (rutile); failed: fluorite (not converged)"
    )


def test_a_relaxation_names_its_numbers_with_their_units() -> None:
    answer = {
        "result": "R1",
        "compound": "TiO2",
        "energy_eV_per_atom": -8.1,
        "phase": "anatase",
        "trusted": True,
    }
    assert outcome(result(answer, compound="TiO2")) == "energy (eV/atom) -8.1; phase anatase"


def test_tables_are_not_repeated() -> None:
    assert outcome(result({"elements": [1, 2]}, measurement=False)) == ""


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"compound": "TiO2", "pressure_GPa": 0.0}, "TiO2"),
        ({"compound": "TiO2", "pressure_GPa": 5.0}, "TiO2; pressure (GPa) 5.0"),
        ({"prototypes": list("abcdef")}, "a, b, c, d and 2 more"),
        ({}, ""),
    ],
)
def test_what_was_asked(arguments: dict[str, Any], text: str) -> None:
    assert asked(arguments) == text


@given(
    st.dictionaries(st.sampled_from(["ranking", "lowest", "changed", "failed", "x"]), VALUES), st.booleans()
)
def test_any_answer_is_one_bounded_line(answer: dict[str, Any], measurement: bool) -> None:
    told = outcome(result(answer, measurement=measurement))
    assert len(told) <= 400
    assert "\n" not in told
