"""Phase identity on real structures: relaxed by CHGNet where a test says so, or from the literature."""

import numpy as np
import pytest
from ase import Atoms
from ase.spacegroup import crystal

from hepbench.harness.laboratory.family import Compound, Family, Prototype
from hepbench.harness.laboratory.phases import Candidate, coordination, identify, same_structure
from hepbench.harness.laboratory.records import Relaxation
from hepbench.harness.laboratory.structures import start_atoms, symmetry, to_pymatgen
from hepbench.tasks import families

AO2 = families.load("ao2")


def prototype(name: str, family: Family = AO2) -> Prototype:
    found = family.prototype(name)
    assert found is not None
    return found


def compound(formula: str, family: Family = AO2) -> Compound:
    found = family.compound(formula)
    assert found is not None
    return found


def candidate(name: str, atoms: Atoms, formula: str = "TiO2", energy: float = -9.0) -> Candidate:
    record = Relaxation(
        compound=formula, prototype=name, energy=energy, enthalpy=energy, space_group=symmetry(atoms, 0.05)[0]
    )
    return Candidate(prototype(name), record, atoms)


def rutile(*, b_over_a: float = 1.0, x: float = 0.305, y: float = 0.305) -> Atoms:
    """TiO2 in Pnnm; with equal axes and x = y it is rutile."""
    cell = [4.594, 4.594 * b_over_a, 2.959, 90, 90, 90]
    return crystal(["Ti", "O"], [(0, 0, 0), (x, y, 0)], spacegroup=58, cellpar=cell)


@pytest.mark.parametrize("name", [p.name for p in AO2.prototypes])
def test_ideal_structures_are_themselves(name: str) -> None:
    atoms = start_atoms(prototype(name), compound("TiO2"))
    named = identify(AO2, compound("TiO2"), [candidate(name, atoms)])
    assert named[name].phase == name
    assert named[name].is_start


def test_cacl2_start_that_ends_in_rutile() -> None:
    named = identify(AO2, compound("TiO2"), [candidate("CaCl2-type", rutile())])
    assert named["CaCl2-type"].phase == "rutile"
    assert not named["CaCl2-type"].is_start


def test_cacl2_type_with_turned_octahedra_stays_cacl2_type() -> None:
    turned = rutile(b_over_a=1.06, x=0.27, y=0.33)
    named = identify(AO2, compound("TiO2"), [candidate("rutile", rutile()), candidate("CaCl2-type", turned)])
    assert named["rutile"].phase == "rutile"
    assert named["CaCl2-type"].phase == "CaCl2-type"


def nearly_rutile() -> Atoms:
    return rutile(b_over_a=1.015, x=0.301, y=0.309)


def test_nearly_the_same_structure_gets_the_label_of_higher_symmetry() -> None:
    atoms = nearly_rutile()
    assert symmetry(atoms, 0.05)[0] == 58
    pair = [candidate("rutile", rutile()), candidate("CaCl2-type", atoms, energy=-9.0005)]
    assert identify(AO2, compound("TiO2"), pair)["CaCl2-type"].phase == "rutile"


def test_same_shape_at_another_energy_is_another_structure() -> None:
    pair = [candidate("rutile", rutile()), candidate("CaCl2-type", nearly_rutile(), energy=-9.1)]
    assert identify(AO2, compound("TiO2"), pair)["CaCl2-type"].phase == "CaCl2-type"


def test_opened_layers_are_still_cdi2_type() -> None:
    atoms = start_atoms(prototype("CdI2-type"), compound("TiO2"))
    heights = atoms.positions[:, 2] - atoms.positions[atoms.numbers == 22, 2]
    layer = heights - np.round(heights / atoms.cell[2, 2]) * atoms.cell[2, 2]
    atoms.set_cell(atoms.cell[:] * [[1], [1], [1.8]])
    atoms.positions[:, 2] = layer
    assert identify(AO2, compound("TiO2"), [candidate("CdI2-type", atoms)])["CdI2-type"].phase == "CdI2-type"


def test_what_is_not_listed_has_no_phase() -> None:
    """Beta-quartz is no prototype of the list."""
    beta = crystal(
        ["Si", "O"],
        [(0.5, 0, 0), (0.416, 0.208, 2 / 3)],
        spacegroup=180,
        cellpar=[5.0, 5.0, 5.46, 90, 90, 120],
    )
    named = identify(AO2, compound("SiO2"), [candidate("alpha-quartz", beta, "SiO2")])
    assert named["alpha-quartz"].phase is None
    assert not named["alpha-quartz"].is_start


def test_seven_neighbours_tell_baddeleyite_from_a_monoclinic_rutile() -> None:
    """MoO2 (Brandt & Skapski 1967), a monoclinic distortion of rutile, in the space group of baddeleyite."""
    moo2 = crystal(
        ["Mo", "O", "O"],
        [(0.232, 0.0, 0.017), (0.11, 0.21, 0.24), (0.39, 0.70, 0.30)],
        spacegroup=14,
        cellpar=[5.584, 4.842, 5.608, 90, 120.94, 90],
    )
    assert set(coordination(to_pymatgen(moo2), {"O"})) == {6}
    named = identify(AO2, compound("MoO2"), [candidate("baddeleyite", moo2, "MoO2")])
    assert named["baddeleyite"].phase is None


def test_same_structure_sees_volume_and_not_setting() -> None:
    turned = rutile()
    turned.rotate(30, "z", rotate_cell=True)
    larger = rutile()
    larger.set_cell(larger.cell[:] * 1.1, scale_atoms=True)
    assert same_structure(rutile(), turned)
    assert same_structure(rutile(), rutile() * (2, 1, 1))
    assert not same_structure(rutile(), larger)


def test_order_of_a_double_perovskite_survives_a_tilt() -> None:
    family = families.load("a2bbo6")
    member = compound("Sr2MgWO6", family)
    found = []
    for start in family.prototypes:
        atoms = start_atoms(start, member)
        atoms.rattle(0.03, seed=3)
        record = Relaxation(compound=member.formula, prototype=start.name, enthalpy=-8.0, space_group=1)
        found.append(Candidate(start, record, atoms))
    named = identify(family, member, found)
    assert {name: record.phase for name, record in named.items()} == {
        p.name: p.label for p in family.prototypes
    }


@pytest.mark.parametrize(
    ("formula", "start", "ends"), [("TiO2", "CaCl2-type", "rutile"), ("GeO2", "baddeleyite", "alpha-PbO2")]
)
def test_relaxed_by_chgnet(formula: str, start: str, ends: str) -> None:
    pytest.importorskip("chgnet")
    from hepbench.harness.laboratory.potentials import load_calculator
    from hepbench.harness.laboratory.relaxation import RelaxationMaker

    member = compound(formula)
    found = []
    for name in (start, ends):
        record, atoms = RelaxationMaker().relax(
            start_atoms(prototype(name), member),
            load_calculator("chgnet-0.3.0"),
            compound=formula,
            prototype=name,
        )
        assert atoms is not None
        assert np.isfinite(atoms.positions).all()
        found.append(Candidate(prototype(name), record, atoms))
    named = identify(AO2, member, found)
    assert [named[start].phase, named[ends].phase] == [ends, ends]
