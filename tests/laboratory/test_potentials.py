import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from hepbench.harness.laboratory import potentials
from hepbench.harness.laboratory.potentials import PotentialUnavailable, UnknownPotential, potential


def test_default_is_named_first() -> None:
    assert potentials.names()[0] == potentials.DEFAULT_POTENTIAL == "chgnet-0.3.0"


@pytest.mark.parametrize("name", ["chgnet", "", "ase:emt", "ase:a:b:c"])
def test_unknown_name_gives_one_line(name: str) -> None:
    with pytest.raises(UnknownPotential) as caught:
        potential(name)
    assert "\n" not in str(caught.value)


def test_missing_package_says_which_pip_command_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(PotentialUnavailable, match=r"pip install 'hepbench\[chgnet\]'$"):
        potential("chgnet-0.3.0").check()
    with pytest.raises(PotentialUnavailable, match=r"pip install 'hepbench\[chgnet\]'$"):
        potential("chgnet-r2scan").weights_sha256()


def test_mace_file(tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    with pytest.raises(PotentialUnavailable, match="there is no file"):
        potential(f"mace:{path}").weights_sha256()
    path.write_bytes(b"weights")
    assert len(potential(f"mace:{path}").weights_sha256()) == 64


def test_ase_factory() -> None:
    calculator = potentials.load_calculator("ase:ase.calculators.emt:EMT")
    assert calculator is potentials.load_calculator("ase:ase.calculators.emt:EMT")
    with pytest.raises(PotentialUnavailable, match="cannot import no_such_module"):
        potentials.load_calculator("ase:no_such_module:EMT")
    with pytest.raises(PotentialUnavailable, match="has no Nothing"):
        potentials.load_calculator("ase:ase.calculators.emt:Nothing")


def test_identification_imports_no_torch() -> None:
    pytest.importorskip("chgnet")
    code = (
        "import sys; from hepbench.harness.laboratory.potentials import potential;"
        "p = potential('chgnet-0.3.0'); p.check(); print(p.weights_sha256(), p.versions()['chgnet']);"
        "assert not {'torch', 'chgnet', 'pymatgen'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_env()
    )
    assert done.stdout.split()[1] == "0.4.2"


def test_fast_chgnet_gives_the_numbers_of_chgnets_own_calculator() -> None:
    pytest.importorskip("chgnet")
    from chgnet.model.dynamics import CHGNetCalculator

    from hepbench.harness.laboratory.structures import start_atoms
    from hepbench.tasks import families

    ao2 = families.load("ao2")
    prototype, compound = ao2.prototype("rutile"), ao2.compound("TiO2")
    assert prototype is not None
    assert compound is not None
    atoms = start_atoms(prototype, compound)
    atoms.rattle(0.05, seed=1)
    other = atoms.copy()
    atoms.calc, other.calc = potentials.load_calculator("chgnet-0.3.0"), CHGNetCalculator(use_device="cpu")
    assert atoms.get_potential_energy() == pytest.approx(other.get_potential_energy(), abs=1e-4)
    assert atoms.get_forces() == pytest.approx(other.get_forces(), abs=1e-3)
    assert atoms.get_stress() == pytest.approx(other.get_stress(), abs=1e-4)


def _env() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).parents[2])}
