import re
from pathlib import Path

import pytest
from ase.data import chemical_symbols

from hepbench.harness.laboratory.family import SYMBOLS, FamilyError, load_family
from hepbench.harness.laboratory.structures import start_atoms, symmetry
from hepbench.tasks import families

VALID = """
id = "x"
version = "1-A"
title = "X"
question = "?"
label_name = "phase"
anion_roles = ["O"]
split_seed = 1
extrapolation = []
[[prototypes]]
name = "B1"
label = "B1"
description = "d"
source = "s"
number = 225
aflow = "AB_cF8_225_a_b"
[[compounds]]
formula = "MgO"
elements = { A = "Mg", O = "O" }
chemical_family = "f"
part = "exploration"
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "family.toml"
    path.write_text(text)
    return path


def test_valid_family_loads(tmp_path: Path) -> None:
    family = load_family(write(tmp_path, VALID))
    assert family.labels == ("B1",)
    assert family.compound("MgO") is family.of_part("exploration")[0]
    assert family.compound("CaO") is None
    assert family.prototype("B2") is None


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('id = "x"', "id = ", "is not TOML"),
        ("number = 225", "number = 231", "prototypes.0.number"),
        ('part = "exploration"', 'part = "unseen"', "compounds.0.part"),
        ('aflow = "AB_cF8_225_a_b"', "", "give either `aflow` or `lattice`"),
        ('formula = "MgO"', "", "compounds.0.formula"),
        ("split_seed = 1", "split_seed = 1\nsurprise = 2", "surprise"),
        ('A = "Mg"', 'A = "Mq"', "'Mq' in role A is no element"),
        (
            'aflow = "AB_cF8_225_a_b"',
            'aflow = "AB_cF8_225_a_b"\nroles = { Na = "B" }',
            "no element for role B of B1",
        ),
    ],
)
def test_damaged_family_gives_one_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(FamilyError) as caught:
        load_family(write(tmp_path, VALID.replace(old, new)))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_compound_given_twice(tmp_path: Path) -> None:
    twice = VALID + VALID[VALID.index("[[compounds]]") :]
    with pytest.raises(FamilyError, match="compound given twice: MgO"):
        load_family(write(tmp_path, twice))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FamilyError, match="No such file"):
        load_family(tmp_path / "none.toml")


def test_unknown_family_names_the_known_ones() -> None:
    with pytest.raises(FamilyError, match="one of ao2, a2bbo6, mx"):
        families.load("ao3")


@pytest.mark.parametrize(
    ("family", "compounds", "prototypes"), [("ao2", 30, 12), ("a2bbo6", 60, 6), ("mx", 120, 16)]
)
def test_shipped_families(family: str, compounds: int, prototypes: int) -> None:
    loaded = families.load(family)
    assert len(loaded.compounds) >= compounds
    assert len(loaded.prototypes) == prototypes
    assert {c.chemical_family for c in loaded.compounds} >= set(loaded.extrapolation)
    for compound in loaded.compounds:
        charges = compound.charges
        if family == "ao2":
            assert charges["A"] + 2 * charges["O"] == 0
        if family == "a2bbo6":
            assert 2 * charges["A"] + charges["B"] + charges["B'"] + 6 * charges["O"] == 0


def test_reference_path_is_one_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert families.reference_path("ao2", "chgnet-0.3.0").parents[1] == families.DATA / "ao2"
    monkeypatch.setenv(families.REFERENCES, str(tmp_path))
    for name in ("mace:/a/b.model", "ase:../..:x", "a\0b"):
        assert families.reference_path("ao2", name).parent == tmp_path / "ao2"


def test_the_family_of_the_docs_is_whole_and_is_what_the_page_shows() -> None:
    docs = Path(__file__).parents[2] / "docs"
    text = (docs / "octets" / "family.toml").read_text(encoding="utf-8")
    family = load_family(docs / "octets" / "family.toml")
    assert {compound.part for compound in family.compounds} == {
        "exploration",
        "interpolation",
        "extrapolation",
    }
    assert {c.chemical_family for c in family.of_part("extrapolation")} == set(family.extrapolation)
    for prototype in family.prototypes:
        start = start_atoms(prototype, family.compounds[0])
        assert symmetry(start, 0.01)[0] == prototype.number
    page = (docs / "new_family.md").read_text(encoding="utf-8")
    for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL):
        lines = [line.partition("  #")[0].strip() for line in block.splitlines()]
        assert [line for line in lines if line and line not in text] == []


def test_the_symbols_are_those_of_ase() -> None:
    assert frozenset(chemical_symbols[1:]) == SYMBOLS
