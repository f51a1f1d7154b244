"""Element data: counts of d and f electrons, Shannon radii, and what a repeated look-up costs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from hepbench.harness.laboratory.elements import UnknownElementError, element_row, require_elements, symbols
from hepbench.tasks import families


@pytest.mark.parametrize(
    ("symbol", "charge", "d", "f"),
    [
        ("Ti", 4, 0, 0),
        ("Ti", 3, 1, 0),
        ("Mn", 4, 3, 0),
        ("Fe", 2, 6, 0),
        ("Co", 3, 6, 0),
        ("Cu", 1, 10, 0),
        ("Cu", 2, 9, 0),
        ("Zn", 2, 10, 0),
        ("Sc", 3, 0, 0),
        ("Zr", 4, 0, 0),
        ("Ru", 4, 4, 0),
        ("Hf", 4, 0, 14),
        ("Re", 4, 3, 14),
        ("Pt", 4, 6, 14),
        ("Ge", 4, 10, 0),
        ("Sn", 2, 10, 0),
        ("Pb", 4, 10, 14),
        ("Te", -2, 10, 0),
        ("Si", 4, 0, 0),
        ("O", -2, 0, 0),
        ("Ba", 2, 0, 0),
        ("La", 3, 0, 0),
        ("Ce", 3, 0, 1),
        ("Ce", 4, 0, 0),
        ("Pr", 4, 0, 1),
        ("Tb", 4, 0, 7),
        ("Eu", 2, 0, 7),
        ("Lu", 3, 0, 14),
        ("Th", 4, 0, 0),
        ("Pa", 4, 0, 1),
        ("U", 4, 0, 2),
        ("U", 6, 0, 0),
        ("Pu", 4, 0, 4),
    ],
)
def test_electron_counts_of_ions(symbol: str, charge: int, d: int, f: int) -> None:
    row = element_row(symbol)
    assert row["d_electrons"][str(charge)] == d
    assert row["f_electrons"][str(charge)] == f


def test_ions_that_the_rule_does_not_cover_are_left_out() -> None:
    assert "2" not in element_row("Gd")["f_electrons"]  # 4f7 5d1
    assert "2" not in element_row("La")["d_electrons"]
    assert "-1" not in element_row("Ti")["d_electrons"]


def test_a_row_against_the_textbook() -> None:
    row = element_row("Ti")
    assert (row["atomic_number"], row["group"], row["period"], row["block"]) == (22, 4, 4, "d")
    assert row["electronegativity_pauling"] == 1.54
    assert row["electron_configuration"] == "[Ar].3d2.4s2"
    assert row["ionization_energies_eV"][0] == pytest.approx(6.828, abs=1e-3)
    assert len(row["ionization_energies_eV"]) == 6
    assert {"charge": 4, "coordination": 6, "spin": "", "radius": 0.605} in row["shannon_radii_A"]


def test_spin_and_geometry_are_told_apart() -> None:
    iron = [r for r in element_row("Fe")["shannon_radii_A"] if (r["charge"], r["coordination"]) == (2, 6)]
    assert {r["spin"]: r["radius"] for r in iron} == {"high": 0.78, "low": 0.61}
    copper = [r for r in element_row("Cu")["shannon_radii_A"] if (r["charge"], r["coordination"]) == (2, 4)]
    assert [r.get("geometry") for r in copper] == [None, "square planar"]


def test_every_element_gives_a_row_that_json_takes() -> None:
    assert len(symbols()) == 118
    sizes = sorted(len(json.dumps(element_row(symbol), allow_nan=False)) for symbol in symbols())
    assert sum(sizes[-40:]) < 50_000  # the largest answer that the tool can give


@pytest.mark.parametrize("family", families.FAMILY_IDS)
def test_every_ion_of_the_families_has_its_numbers(family: str) -> None:
    for compound in families.load(family).compounds:
        for role, element in compound.elements.items():
            row = element_row(element)
            assert row["electronegativity_pauling"] is not None, element
            assert len(row["ionization_energies_eV"]) == 6 or element == "Li"  # which has three electrons
            assert None not in row["ionization_energies_eV"], element
            charge = compound.charges.get(role)
            if charge is not None:
                assert any(r["charge"] == charge for r in row["shannon_radii_A"]), (element, charge)
                assert str(charge) in row["d_electrons"] or charge > row["group"], (element, charge)


def test_missing_numbers_are_null() -> None:
    assert element_row("He")["electronegativity_pauling"] is None
    assert element_row("Og")["electron_configuration"] is None


@pytest.mark.parametrize(
    ("name", "hint"),
    [("titanium", "'Ti'"), ("Ti4+", "'Ti'"), ("fe", "'Fe'"), ("Xx", ""), ("", ""), ("D", "")],
)
def test_unknown_symbols_are_named_with_a_hint(name: str, hint: str) -> None:
    with pytest.raises(UnknownElementError) as caught:
        require_elements(["O", name])
    assert ("did you mean" in str(caught.value)) == bool(hint)
    assert hint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_element_is_looked_up_once() -> None:
    assert element_row("Mn") is element_row("Mn")


def test_pymatgen_is_loaded_at_the_first_look_up_and_torch_never() -> None:
    program = (
        "import sys; from hepbench.harness.laboratory import elements\n"
        "assert 'pymatgen' not in sys.modules\n"
        "elements.element_row('Ti')\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
