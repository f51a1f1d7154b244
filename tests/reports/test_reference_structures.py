"""The quick reader of a reference set's structures gives what ASE's own gives."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from ase.io import read

from hepbench.harness.laboratory.extxyz import read_extxyz
from hepbench.harness.laboratory.reference import ReferenceSet
from hepbench.tasks import families


@pytest.mark.parametrize("family", families.FAMILY_IDS)
def test_every_structure_is_the_one_that_ase_reads(family: str) -> None:
    reference = ReferenceSet.load(families.reference_path(family, "chgnet-0.3.0"))
    images = read(reference.path / "structures.extxyz", index=":", format="extxyz")
    assert len(images) > 50
    for image in images:
        mine = reference.structure(str(image.info["compound"]), str(image.info["prototype"]))
        assert str(mine.symbols) == str(image.symbols)
        assert np.array_equal(mine.cell[:], image.cell[:])
        assert np.array_equal(mine.positions, image.positions)
        assert mine.pbc.all()


@pytest.mark.parametrize(
    "text", ["2\nno lattice\nTi 0 0 0\nO 0 0 0\n", '2\nLattice="1 0 0 0 1 0 0 0 1"\nTi 0 0 0\n', "x\n"]
)
def test_a_damaged_structure_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):
        list(read_extxyz(text))


def test_looking_at_a_structure_does_not_load_every_format() -> None:
    code = (
        "import sys; from hepbench.harness.laboratory.reference import ReferenceSet; "
        "from hepbench.tasks import families; "
        "ReferenceSet.load(families.reference_path('ao2', 'chgnet-0.3.0')).structure('TiO2', 'rutile'); "
        "print('ase.io' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
