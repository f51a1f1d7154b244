"""MACE for real: a small model trained here on CHGNet's energies, then used as a user's own model is."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from inspect_ai import eval as inspect_eval
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from typer.testing import CliRunner

from hepbench.benchmark.cli import app
from hepbench.harness.laboratory.mace import MODELS
from hepbench.harness.laboratory.potential import PotentialError
from hepbench.harness.laboratory.potentials import load_calculator, potential
from hepbench.harness.laboratory.reference import ReferenceSet
from hepbench.harness.laboratory.structures import start_atoms
from hepbench.harness.protocol.store import RegistryStore
from hepbench.tasks import families
from hepbench.tasks.ao2 import ao2
from hepbench.tasks.family import family as family_task

TRAIN = Path(__file__).parents[2] / "perf" / "mace" / "train.py"
SMALL = ["--elements", "Ti,Sn", "--prototypes", "rutile,fluorite,CdI2-type", "--frames", "6"]
FAST = ["--epochs", "40", "--channels", "8", "--r-max", "4.0"]
STEP = 1e-4

pytestmark = [
    pytest.mark.skipif(
        not (importlib.util.find_spec("mace") and importlib.util.find_spec("chgnet")),
        reason="mace-torch or chgnet is not installed: pip install 'hepbench[mace,chgnet]', or make test",
    ),
    pytest.mark.skipif(not TRAIN.exists(), reason="the trainer stands in the repository alone: perf/mace"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning"),
]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A MACE of Ti, Sn and O."""
    path = tmp_path_factory.mktemp("mace") / "student.model"
    command = [sys.executable, str(TRAIN), *SMALL, *FAST, "--output", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (found := re.search(r"energy ([\d.]+) meV/atom", done.stdout)), done.stdout[-2000:]
    assert float(found[1]) < 500, "it has learned nothing"
    return path


@pytest.fixture(scope="session")
def dioxides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """AO2 cut down to three prototypes and three compounds, of which the model knows two."""
    kept = ("rutile", "fluorite", "CdI2-type", "TiO2", "SnO2", "ZrO2")
    text = (families.DATA / "ao2" / "family.toml").read_text(encoding="utf-8")
    head, *blocks = re.split(r"(?m)^(?=\[\[)", text)
    names = (re.search(r'(?:name|formula) = "([^"]+)"', block) for block in blocks)
    chosen = [block for block, name in zip(blocks, names, strict=True) if name and name[1] in kept]
    folder = tmp_path_factory.mktemp("families") / "dioxides"
    folder.mkdir()
    (folder / "family.toml").write_text(head + "".join(chosen), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def built(dioxides: Path, model: Path) -> str:
    """The output of the command that built the reference set."""
    return hepbench("reference", "build", str(dioxides), "--potential", f"mace:{model}", "--workers", "1")


def hepbench(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def set_of(dioxides: Path, model: Path) -> ReferenceSet:
    return families.reference_set(str(dioxides), f"mace:{model}")


@pytest.fixture
def disturbed(model: Path) -> Iterator[Atoms]:
    family = families.load("ao2")
    prototype, compound = family.prototype("rutile"), family.compound("TiO2")
    assert prototype
    assert compound
    atoms = start_atoms(prototype, compound)
    atoms.rattle(0.05, seed=1)
    atoms.set_cell(atoms.cell[:] @ (np.eye(3) + 0.01 * np.arange(9).reshape(3, 3) / 8), scale_atoms=True)
    atoms.calc = load_calculator(f"mace:{model}")
    return atoms


def test_forces_are_the_slope_of_the_energy(disturbed: Atoms) -> None:
    slopes = np.empty((2, 3))
    for atom, axis in np.ndindex(slopes.shape):
        ends = []
        for step in (STEP, -STEP):
            moved = disturbed.copy()
            moved.calc = disturbed.calc
            moved.positions[atom, axis] += step
            ends.append(moved.get_potential_energy())
        slopes[atom, axis] = -(ends[0] - ends[1]) / (2 * STEP)
    assert np.abs(slopes).max() > 0.1
    assert disturbed.get_forces()[:2] == pytest.approx(slopes, abs=1e-4)


def test_the_stress_is_the_slope_of_the_energy_by_strain(disturbed: Atoms) -> None:
    slopes = np.empty((3, 3))
    for row, column in np.ndindex(slopes.shape):
        ends = []
        for step in (STEP, -STEP):
            strain = np.eye(3)
            strain[row, column] += step / 2
            strain[column, row] += step / 2
            strained = disturbed.copy()
            strained.calc = disturbed.calc
            strained.set_cell(disturbed.cell[:] @ strain, scale_atoms=True)
            ends.append(strained.get_potential_energy())
        slopes[row, column] = (ends[0] - ends[1]) / (2 * STEP) / disturbed.get_volume()
    assert np.abs(slopes).max() > 1e-3
    assert disturbed.get_stress(voigt=False) == pytest.approx(slopes, abs=1e-6)


def test_it_is_known_by_its_weights_and_not_by_its_place(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "renamed.model"
    shutil.copyfile(model, copy)
    here, there = potential(f"mace:{model}"), potential(f"mace:{copy}")
    assert here.id == there.id == f"mace:{here.weights_sha256()[:12]}"
    other = tmp_path / "elsewhere" / model.name
    other.parent.mkdir()
    other.write_bytes(model.read_bytes() + b"\0")
    assert potential(f"mace:{other}").id != here.id
    told = potential(here.id).why_not()
    assert told.endswith(f"in {MODELS} the folder that it is in")
    monkeypatch.setenv(MODELS, str(tmp_path))
    assert potential(here.id).weights_sha256() == here.weights_sha256()
    shown = hepbench("potentials", f"mace:{copy}")
    assert f"in records {here.id}" in shown


def test_a_file_that_is_no_model_is_one_line(dioxides: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    path.write_bytes(b"no model")
    with pytest.raises(PotentialError, match="is no MACE model that loads here") as told:
        load_calculator(f"mace:{path}")
    assert "\n" not in str(told.value)
    output = hepbench("reference", "build", str(dioxides), "--potential", f"mace:{path}", code=2)
    assert "is no MACE model that loads here" in output.strip().splitlines()[-1]
    assert "Traceback" not in output


def test_a_set_holds_what_the_model_knows_and_says_what_it_lacks(
    built: str, dioxides: Path, model: Path
) -> None:
    assert "ZrO2 is left out: no Zr in this potential" in built
    reference = set_of(dioxides, model)
    assert {formula for formula, _ in reference.relaxations} == {"TiO2", "SnO2"}
    assert reference.not_held == {"ZrO2": "no Zr in this potential"}
    assert reference.left_out["ZrO2"] == "no Zr in this potential"
    rutile = reference.relaxations["TiO2", "rutile"]
    assert rutile.converged, rutile.error
    assert rutile.fmax is not None
    assert rutile.fmax <= 0.01
    stated = (reference.path / "provenance.json").read_text(encoding="utf-8")
    assert str(model) not in stated
    assert reference.provenance.dtype == "float64"
    shown = hepbench("reference", "show", str(dioxides), "--potential", f"mace:{model}")
    assert "ZrO2 is left out: no Zr in this potential" in shown


def test_the_set_is_computed_again_alike(built: str, dioxides: Path, model: Path) -> None:
    again = hepbench(
        "reference",
        "verify",
        str(dioxides),
        "--potential",
        f"mace:{model}",
        "--sample",
        "2",
        "--workers",
        "1",
    )
    assert "2 of 2 agree" in again


def test_a_smaller_set_does_not_take_a_larger_ones_place(built: str, dioxides: Path, model: Path) -> None:
    build = ("reference", "build", str(dioxides), "--potential", f"mace:{model}")
    assert "has a set with SnO2" in hepbench(*build, "--compounds", "TiO2", code=2)
    assert "has no compound 'XeO2'" in hepbench(*build, "--compounds", "TiO2,XeO2", code=2)


def test_a_run_on_it_relaxes_and_simulates_by_the_model(
    built: str, dioxides: Path, model: Path, tmp_path: Path
) -> None:
    steps: list[tuple[str, dict[str, Any]]] = [
        ("relax_structure", {"compound": "TiO2", "prototype": "rutile", "pressure_GPa": 5}),
        ("run_md", {"compound": "TiO2", "prototype": "rutile", "temperature_K": 300, "steps": 100}),
        ("relax_structure", {"compound": "SnO2", "prototype": "rutile"}),
        ("relax_structure", {"compound": "ZrO2", "prototype": "rutile"}),
    ]
    outputs = [ModelOutput.for_tool_call("mock", *step) for step in steps]
    outputs += [ModelOutput.from_content("mock", "That is all.") for _ in range(20)]
    for output in outputs:  # else Inspect counts tokens, by a table that it fetches
        output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    task = family_task(str(dioxides), harness="react", potential=f"mace:{model}", turn_limit=5)
    log = run(task, get_model("mockllm/model", custom_outputs=outputs), tmp_path)
    answers = [m.error.message if m.error else m.text for m in messages(log) if m.role == "tool"]
    assert '"source": "live"' in answers[0], answers[0]
    assert f'"potential": "{potential(f"mace:{model}").id}"' in answers[0]
    assert '"survived"' in answers[1], answers[1]
    assert "SnO2 is sealed" in answers[2]
    assert "there is no compound 'ZrO2'" in answers[3]
    assert log.eval.metadata
    assert str(model) not in str(log.eval.metadata)


def test_the_scripted_scientist_ends_well_on_so_little(
    built: str, dioxides: Path, model: Path, tmp_path: Path
) -> None:
    log = run(family_task(str(dioxides), potential=f"mace:{model}"), "hepbench/scientist", tmp_path)
    assert log.results
    assert log.samples
    assert set(log.samples[0].store_as(RegistryStore).state().predictions) == {"SnO2"}
    assert [row["compound"] for row in log.samples[0].metadata["heldout"]] == ["SnO2"]


def test_without_a_set_one_line_says_how_to_make_one(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(families.REFERENCES, str(tmp_path))
    with pytest.raises(PrerequisiteError, match="no reference set of ao2") as told:
        ao2(potential=f"mace:{model}")
    assert f"hepbench reference build ao2 --potential mace:{model}" in str(told.value)
    assert "\n" not in str(told.value)


def run(task: Any, by: Any, folder: Path) -> EvalLog:
    log = inspect_eval(task, model=by, log_dir=str(folder), display="none")[0]
    assert log.status == "success", log.error
    return log


def messages(log: EvalLog) -> list[Any]:
    assert log.samples
    return log.samples[0].messages
