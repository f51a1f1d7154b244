import numpy as np
import pytest

from hepbench.harness.laboratory.family import Compound, Prototype
from hepbench.harness.laboratory.phases import coordination
from hepbench.harness.laboratory.structures import StructureError, ideal_structure, start_atoms, symmetry
from hepbench.tasks import families

CASES = [(f, p) for f in families.FAMILY_IDS for p in families.load(f).prototypes]
# Textbook coordination numbers of the cation (Wells, Structural Inorganic Chemistry).
COORDINATION = {
    "rutile": 6, "anatase": 6, "brookite": 6, "CaCl2-type": 6, "alpha-PbO2": 6, "pyrite-type": 6,
    "fluorite": 8, "cotunnite": 9, "baddeleyite": 7, "CdI2-type": 6, "alpha-quartz": 4,
    "alpha-cristobalite": 4, "rock salt": 6, "NiAs": 6, "zincblende": 4, "wurtzite": 4, "CsCl": 8,
    "WC": 6, "FeSi": 7, "PbO-type": 4, "PtS": 4, "millerite": 5, "TiAs": 6, "FeB": 7, "MnP": 6,
}  # fmt: skip


@pytest.mark.parametrize(("family", "prototype"), CASES, ids=lambda v: getattr(v, "name", v))
def test_start_has_its_space_group_and_a_small_cell(family: str, prototype: Prototype) -> None:
    compound = families.load(family).compounds[0]
    atoms = start_atoms(prototype, compound)
    assert symmetry(atoms, 0.01)[0] == prototype.number
    assert len(atoms) <= 24
    assert 4.0 < atoms.get_volume() / len(atoms) < 60.0
    distances = atoms.get_all_distances(mic=True)[np.triu_indices(len(atoms), 1)]
    assert distances.min() > 1.3


@pytest.mark.parametrize("name", COORDINATION)
def test_coordination_of_ideal_structures(name: str) -> None:
    family = next(f for f in (families.load("ao2"), families.load("mx")) if f.prototype(name))
    prototype = family.prototype(name)
    assert prototype is not None
    compound = family.compounds[0]
    structure = ideal_structure(prototype, compound)
    anions = {compound.elements[role] for role in family.anion_roles}
    assert set(coordination(structure, anions)) == {COORDINATION[name]}


def test_aflow_data_that_is_wrong_in_pymatgen_is_given_by_hand() -> None:
    """b of brookite, the origin of anatase's O, a of PtS and x(B) of FeB: the distances caught each."""
    ao2, mx = families.load("ao2"), families.load("mx")
    for family, names in ((ao2, ("brookite", "anatase")), (mx, ("PtS", "FeB"))):
        for name in names:
            prototype = family.prototype(name)
            assert prototype is not None
            assert prototype.aflow is None


def test_compound_without_the_role() -> None:
    rutile = families.load("ao2").prototype("rutile")
    assert rutile is not None
    compound = Compound(formula="Ti", elements={"A": "Ti"}, chemical_family="3d", part="exploration")
    with pytest.raises(StructureError, match="no element for role 'O' of rutile"):
        start_atoms(rutile, compound)


def test_unknown_aflow_label() -> None:
    prototype = Prototype(name="x", label="x", description="", source="", number=1, aflow="AB_none")
    compound = families.load("ao2").compounds[0]
    with pytest.raises(StructureError, match="has no AB_none for x"):
        ideal_structure(prototype, compound)


def test_ideal_structure_is_a_fresh_copy() -> None:
    ao2 = families.load("ao2")
    rutile, tio2 = ao2.prototype("rutile"), ao2.compound("TiO2")
    assert rutile is not None
    assert tio2 is not None
    ideal_structure(rutile, tio2).scale_lattice(1.0)
    assert ideal_structure(rutile, tio2).volume > 10.0
