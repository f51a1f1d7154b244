import math
from pathlib import Path

import pytest
from ase import Atoms

from hepbench.harness.laboratory.records import Provenance, Relaxation
from hepbench.harness.laboratory.reference import ReferenceError, ReferenceSet, judge, write_reference  # noqa: A004

PROVENANCE = Provenance(
    potential="p",
    weights_sha256="0" * 64,
    settings={"fmax": 0.01},
    versions={"ase": "1"},
    dtype="float32",
    device="cpu",
)


def record(prototype: str, energy: float, **changes: object) -> Relaxation:
    fields = {
        "compound": "TiO2", "prototype": prototype, "energy": energy, "enthalpy": energy, "volume": 10.0,
        "space_group": 136, "phase": prototype, "is_start": True, "steps": 12, "fmax": 0.001, "smax": 0.01,
        "volume_ratio": 1.0, "converged": True,
    }  # fmt: skip
    return Relaxation.model_validate(fields | changes)


FAILED = Relaxation(compound="TiO2", prototype="D", status="failed", error="exploded, they say")


def write(path: Path, seconds: float = 1.0) -> Path:
    records = [record("A", -9.0), record("B", -8.95, phase=None), FAILED]
    structures = []
    for name in "AB":
        atoms = Atoms("TiO2", positions=[(0, 0, 0), (1, 1, 1), (2, 2, 2)], cell=[4, 4, 4], pbc=True)
        atoms.info = {"compound": "TiO2", "prototype": name}
        structures.append(atoms)
    write_reference(path, PROVENANCE, records, structures, {("TiO2", "A"): seconds})
    return path


def test_there_and_back(tmp_path: Path) -> None:
    loaded = ReferenceSet.load(write(tmp_path))
    assert loaded.provenance == PROVENANCE
    assert loaded.relaxation("TiO2", "A") == record("A", -9.0)
    assert loaded.relaxation("TiO2", "B") == record("B", -8.95, phase=None)
    assert loaded.relaxation("TiO2", "D") == FAILED
    assert loaded.relaxation("TiO2", "E") is None
    assert loaded.structure("TiO2", "A").get_chemical_formula() == "O2Ti"
    assert loaded.truth("TiO2").labels == ("A",)
    assert loaded.left_out == {}
    with pytest.raises(KeyError):
        loaded.truth("ZrO2")
    with pytest.raises(KeyError):
        loaded.structure("TiO2", "D")


def test_same_content_same_identity_whatever_the_wall_times(tmp_path: Path) -> None:
    one, other = write(tmp_path / "1", 1.0), write(tmp_path / "2", 2.0)
    for name in ("energies.csv", "structures.extxyz", "provenance.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes()
    assert ReferenceSet.load(one).sha256 == ReferenceSet.load(other).sha256


def seal(path: Path) -> None:
    """Make the hashes fit what the files say now, so that the next check is reached."""
    import hashlib
    import json

    stated = json.loads((path / "provenance.json").read_text())
    for name in stated["sha256"]:
        stated["sha256"][name] = hashlib.sha256((path / name).read_bytes()).hexdigest()
    (path / "provenance.json").write_text(json.dumps(stated))


@pytest.mark.parametrize(
    ("file", "old", "new", "sealed", "told"),
    [
        ("energies.csv", "-9.000000", "-9.100000", False, "was changed"),
        ("structures.extxyz", "O", "N", False, "was changed"),
        ("energies.csv", "-9.000000", "nan", True, "not finite"),
        ("energies.csv", "-9.000000", "", True, "missing or not finite"),
        ("energies.csv", "-9.000000", "low", True, "line 2, energy"),
        ("energies.csv", "compound", "composed", True, "line 2"),
        ("provenance.json", "{", "", False, "is damaged"),
        ("provenance.json", '"potential"', '"potent"', False, "is damaged"),
        ("provenance.json", '"sha256"', '"sha"', False, "is damaged"),
    ],
)
def test_damaged_file_is_one_line(
    tmp_path: Path, file: str, old: str, new: str, sealed: bool, told: str
) -> None:
    path = write(tmp_path)
    target = path / file
    target.write_text(target.read_text().replace(old, new))
    if sealed:
        seal(path)
    with pytest.raises(ReferenceError) as caught:
        ReferenceSet.load(path)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("file", ["energies.csv", "structures.extxyz", "provenance.json"])
def test_missing_file_is_one_line(tmp_path: Path, file: str) -> None:
    path = write(tmp_path)
    (path / file).unlink()
    with pytest.raises(ReferenceError, match=f"{file}: No such file"):
        ReferenceSet.load(path)


def test_binary_and_empty_table(tmp_path: Path) -> None:
    path = write(tmp_path)
    for content in (b"\xff\xfe\x00", b""):
        (path / "energies.csv").write_bytes(content)
        seal(path)
        with pytest.raises(ReferenceError, match="is damaged"):
            ReferenceSet.load(path)


def test_ties_are_within_two_mev() -> None:
    truth = judge("TiO2", [record("A", -9.0), record("B", -8.9981), record("C", -8.997)])
    assert truth.labels == ("A", "B")
    assert truth.above_lowest == pytest.approx({"A": 0.0, "B": 1.9, "C": 3.0}, abs=1e-6)
    assert truth.gap == pytest.approx(3.0, abs=1e-6)
    assert truth.left_out == ""


def test_a_phase_counts_with_its_lowest_candidate() -> None:
    truth = judge("TiO2", [record("A", -8.9), record("B", -9.0), record("C", -9.1, phase="A")])
    assert truth.above_lowest == pytest.approx({"A": 0.0, "B": 100.0})


def test_more_than_three_in_a_tie_are_left_out() -> None:
    records = [record(name, -9.0 + index * 0.0005) for index, name in enumerate("ABCD")]
    assert judge("TiO2", records[:3]).left_out == ""
    assert judge("TiO2", records).left_out == "4 phases tie within 2 meV/atom"


def test_unconverged_near_the_lowest_is_left_out() -> None:
    near = [record("A", -9.0), record("B", -8.996, converged=False)]
    far = [record("A", -9.0), record("B", -8.99, converged=False)]
    assert judge("TiO2", near).left_out == "unconverged B start at +4.0 meV/atom of the lowest phase"
    assert judge("TiO2", far).left_out == ""
    assert "B" not in judge("TiO2", far).above_lowest


def test_lowest_outside_the_list_is_left_out_unless_tied_with_a_listed_phase() -> None:
    below = [record("A", -9.0), record("B", -9.01, phase=None)]
    tied = [record("A", -9.0), record("B", -9.001, phase=None)]
    assert judge("TiO2", below).left_out == "B start ends 10.0 meV/atom lower, in none of the listed phases"
    assert judge("TiO2", tied).labels == ("A",)
    assert judge("TiO2", tied).left_out == ""


def test_nothing_competes() -> None:
    truth = judge("TiO2", [FAILED, record("A", -9.0, phase=None)])
    assert truth.labels == ()
    assert truth.left_out == "no candidate converged to a listed phase"
    assert truth.gap is None


def test_infinite_energy_is_damage(tmp_path: Path) -> None:
    write_reference(tmp_path, PROVENANCE, [record("A", math.inf)], [], {})
    with pytest.raises(ReferenceError, match="not finite"):
        ReferenceSet.load(tmp_path)
