import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from alloys import alloy_job
from typer.testing import CliRunner

from hepbench.benchmark.cli import app
from hepbench.harness.laboratory import mace as mace_models
from hepbench.harness.laboratory import potentials
from hepbench.harness.laboratory.potential import PotentialUnavailable, UnknownPotential
from hepbench.harness.laboratory.potentials import potential
from hepbench.harness.laboratory.workers import run_job


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
    chosen = potential(f"mace:{path}")
    assert chosen.id == f"mace:{chosen.weights_sha256()[:12]}"
    with pytest.raises(PotentialUnavailable, match="there is no file"):
        potential("mace:0123456789a").weights_sha256()
    with pytest.raises(PotentialUnavailable, match="named by its weights' hash"):
        potential("mace:0123456789ab").weights_sha256()


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


# MACE and SevenNet, by packages that look like them

MACE_SOURCE = """
import torch_is_not_imported_to_read_this
mace_mp_urls = {
    "small": "https://example.org/2023-12-10-mace-128-L0_energy_epoch-249.model",
    "medium-mpa-0": "https://example.org/mace-mpa-0-medium.model",
}
"""


@pytest.fixture
def mace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package `mace`; the folder where it keeps its models."""
    package = tmp_path / "site" / "mace"
    (package / "calculators").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "calculators" / "__init__.py").write_text("")
    (package / "calculators" / "foundations_models.py").write_text(MACE_SOURCE)
    monkeypatch.syspath_prepend(tmp_path / "site")
    for loaded in [name for name in sys.modules if name.partition(".")[0] == "mace"]:
        monkeypatch.delitem(sys.modules, loaded)  # the real one, where another test has imported it
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    mace_models._urls.cache_clear()
    return tmp_path / "cache" / "mace"


def test_a_named_mace_model_is_found_where_mace_torch_keeps_it(mace: Path) -> None:
    chosen = potential("mace-mp-0-small")
    assert "fetches them on first use" in chosen.why_not()
    mace.mkdir(parents=True)
    (mace / "20231210mace128L0_energy_epoch249model").write_bytes(b"weights")
    assert len(chosen.weights_sha256()) == 64
    assert chosen.dtype == "float64"
    assert "has no model 'large'" in potential("mace-mp-0-large").why_not()


def test_a_named_mace_model_is_fetched_on_first_use(mace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []

    class Fetching:
        @staticmethod
        def download_mace_mp_checkpoint(model: str) -> None:
            fetched.append(model)
            if len(fetched) == 1:
                raise OSError("<urlopen error [Errno -3] Temporary failure in name resolution>\nmore")
            mace.mkdir(parents=True)
            (mace / "macempa0mediummodel").write_bytes(b"weights")

    monkeypatch.setitem(sys.modules, "mace.calculators.foundations_models", Fetching)
    with pytest.raises(PotentialUnavailable, match=r"could not fetch .*name resolution") as caught:
        potential("mace-mpa-0-medium").check()
    assert "\n" not in str(caught.value)
    potential("mace-mpa-0-medium").check()
    potential("mace-mpa-0-medium").check()
    assert fetched == ["medium-mpa-0"] * 2


def test_sevennet_weights_come_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "sevenn"
    (package / "pretrained_potentials" / "SevenNet_l3i5").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "pretrained_potentials" / "SevenNet_l3i5" / "checkpoint_l3i5.pth").write_bytes(b"weights")
    assert "pip install 'hepbench[sevennet]'" in potential("sevennet-l3i5").why_not()
    monkeypatch.syspath_prepend(tmp_path)
    assert len(potential("sevennet-l3i5").weights_sha256()) == 64
    assert "has no file" in potential("sevennet-0").why_not()


def test_a_factory_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_potential.py").write_text(
        "from ase.calculators.lj import LennardJones\n"
        "def soft():\n    return LennardJones(epsilon=0.3, sigma=2.3, rc=9.0)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    outcome = run_job(alloy_job(potential="ase:my_potential:soft"))
    assert outcome.record.converged, outcome.record.error
    assert outcome.record.energy is not None
    assert outcome.record.energy < 0
    assert potential("ase:not_there:soft").why_not().endswith("cannot import not_there: it is not installed")


def test_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = CliRunner().invoke(app, ["potentials"])
    assert listed.exit_code == 0
    assert "mace-mpa-0-medium" in listed.output
    assert "mace:/path/to/file.model; ase:module:factory" in listed.output
    one = CliRunner().invoke(app, ["potentials", "ase:ase.calculators.emt:EMT"])
    assert one.exit_code == 0
    assert one.output.startswith("✓ ase:ase.calculators.emt:EMT")
    for wrong in (
        "nothing",
        "mace:/no/such.model",
        "ase:os:getcwd",
        "ase:ase.nosuch:Foo",
        "ase:ase.calculators.emt:Foo",
        "ase:ase:Atom",
        "ase:builtins:iter",
        "ase::x",
    ):
        asked = CliRunner().invoke(app, ["potentials", wrong])
        assert asked.exit_code == 2
        assert "Traceback" not in asked.output
        assert "runs here" not in asked.output


def _env() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).parents[2])}
