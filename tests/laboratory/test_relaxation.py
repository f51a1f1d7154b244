import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT
from ase.spacegroup import crystal

from hepbench.harness.laboratory.relaxation import GPA, RelaxationError, RelaxationMaker
from hepbench.harness.laboratory.structures import start_atoms, symmetry
from hepbench.tasks import families

NAMES = {"compound": "CuPd", "prototype": "L1_0"}


def tetragonal() -> Atoms:
    return crystal(
        ["Cu", "Pd"], [(0, 0, 0), (0.5, 0.5, 0.5)], spacegroup=123, cellpar=[3.1, 3.1, 3.6, 90, 90, 90]
    )


def test_reaches_the_minimum_that_fire_reaches() -> None:
    quick, _ = RelaxationMaker().relax(tetragonal(), EMT(), **NAMES)
    safe, _ = RelaxationMaker(optimizer="FIRE").relax(tetragonal(), EMT(), **NAMES)
    assert quick.converged
    assert quick.energy == pytest.approx(safe.energy, abs=1e-3)
    assert quick.steps < safe.steps
    assert quick.fmax is not None
    assert quick.fmax <= 0.02


def test_start_volume_does_not_matter() -> None:
    small, large = bulk("Cu", a=3.2), bulk("Cu", a=4.1)
    one, _ = RelaxationMaker().relax(small, EMT(), **NAMES)
    other, _ = RelaxationMaker().relax(large, EMT(), **NAMES)
    assert one.volume == pytest.approx(other.volume, rel=0.01)
    assert one.energy == pytest.approx(other.energy, abs=1e-3)


def test_start_is_not_changed() -> None:
    start = tetragonal()
    before = start.copy()
    RelaxationMaker().relax(start, EMT(), **NAMES)
    assert start == before
    assert not start.constraints


def test_pressure_compresses_and_counts_in_the_enthalpy() -> None:
    free, _ = RelaxationMaker().relax(bulk("Cu"), EMT(), **NAMES)
    pressed, atoms = RelaxationMaker().relax(bulk("Cu"), EMT(), **NAMES, pressure=20.0)
    assert pressed.converged
    assert atoms is not None
    assert free.volume is not None
    assert pressed.volume is not None
    assert pressed.energy is not None
    # EMT copper: bulk modulus about 134 GPa and rising with pressure, so 20 GPa take 10 to 15 %.
    assert 0.85 < pressed.volume / free.volume < 0.92
    assert pressed.enthalpy == pytest.approx(pressed.energy + 20.0 * GPA * pressed.volume)
    atoms.calc = EMT()
    assert -atoms.get_stress()[:3].mean() / GPA == pytest.approx(20.0, abs=0.15)


def test_symmetry_is_kept() -> None:
    _, atoms = RelaxationMaker().relax(tetragonal(), EMT(), **NAMES)
    assert atoms is not None
    assert symmetry(atoms, 0.01)[1] >= 16


class Broken(Calculator):  # type: ignore[misc]
    """A potential with a flaw of the test's choice."""

    implemented_properties = ("energy", "forces", "stress")

    def __init__(self, flaw: str) -> None:
        super().__init__()
        self.flaw = flaw

    def calculate(self, atoms: Atoms, properties: object, system_changes: object = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        energy = {"nan": np.nan, "repulsive": -atoms.get_volume(), "sticky": atoms.get_volume()}[self.flaw]
        self.results = {"energy": energy, "forces": np.zeros((len(atoms), 3)), "stress": np.zeros(6)}


@pytest.mark.parametrize(
    ("flaw", "told"), [("nan", "not a finite number"), ("repulsive", "no minimum"), ("sticky", "no minimum")]
)
def test_relaxation_that_explodes_is_a_failed_record(flaw: str, told: str) -> None:
    record, atoms = RelaxationMaker().relax(bulk("Cu"), Broken(flaw), **NAMES)
    assert atoms is None
    assert record.status == "failed"
    assert told in record.error
    assert "\n" not in record.error


def test_too_few_steps_is_not_converged_and_still_a_record() -> None:
    record, atoms = RelaxationMaker(max_steps=1).relax(tetragonal(), EMT(), **NAMES)
    assert record.status == "ok"
    assert not record.converged
    assert atoms is not None


def test_volume_out_of_bounds() -> None:
    record, _ = RelaxationMaker(volume_bounds=(3.0, 5.0)).relax(tetragonal(), EMT(), **NAMES)
    assert record.status == "failed"
    assert "exploded" in record.error


def test_settings_there_and_back() -> None:
    maker = RelaxationMaker(fmax=0.005)
    assert RelaxationMaker.from_settings(maker.settings()) == maker
    with pytest.raises(RelaxationError, match="another version"):
        RelaxationMaker.from_settings(maker.settings() | {"recipe": 0})
    with pytest.raises(RelaxationError, match="unusable"):
        RelaxationMaker.from_settings(maker.settings() | {"surprise": 1})


@pytest.mark.parametrize(("formula", "name"), [("TiO2", "anatase"), ("ZrO2", "baddeleyite")])
def test_chgnet_relaxation_agrees_with_fire(formula: str, name: str) -> None:
    pytest.importorskip("chgnet")
    from hepbench.harness.laboratory.potentials import load_calculator

    calculator = load_calculator("chgnet-0.3.0")
    ao2 = families.load("ao2")
    prototype, compound = ao2.prototype(name), ao2.compound(formula)
    assert prototype is not None
    assert compound is not None
    start = start_atoms(prototype, compound)
    quick, _ = RelaxationMaker().relax(start, calculator, compound=formula, prototype=name)
    safe, _ = RelaxationMaker(optimizer="FIRE").relax(start, calculator, compound=formula, prototype=name)
    assert quick.converged
    assert quick.energy == pytest.approx(safe.energy, abs=1e-3)
    assert quick.steps < 0.8 * safe.steps
