"""Train a small MACE on CHGNet's energies: `python perf/mace/train.py --output x.model`. A developer's tool.

It gives `mace:/path/to/x.model` something real to load where no foundation model can be fetched. The frames
are dioxides of the shipped AO2 set, ideal and relaxed, strained and rattled, labelled by CHGNet; the trainer
is mace-torch's own. Everything is seeded. It is no potential for science: a student of CHGNet.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.io import write
from ase.stress import full_3x3_to_voigt_6_stress
from rich.progress import track

from hepbench.harness.laboratory.family import Compound, Prototype
from hepbench.harness.laboratory.potentials import DEFAULT_POTENTIAL, load_calculator
from hepbench.harness.laboratory.reference import ReferenceSet
from hepbench.harness.laboratory.structures import StructureError, start_atoms
from hepbench.tasks import families

STRAIN = 0.06
"""Largest entry of a frame's strain."""
SCALE = (-0.10, 0.16)
"""Isotropic strain of every other frame: the recipe scans volumes before it relaxes."""
RATTLES = (0.02, 0.05, 0.10)
VALIDATION = 5
"""One start in so many is kept out of the training, with all its frames."""
GPA = 160.21766


def main(arguments: Sequence[str] | None = None) -> None:
    """Label, train, say how good it is, and leave the model where it was asked for."""
    asked = _parser().parse_args(arguments)
    labelled = list(_labelled(_frames(asked), asked.frames))
    folder = Path(tempfile.mkdtemp(prefix="hepbench-mace-")) if asked.keep is None else asked.keep
    folder.mkdir(parents=True, exist_ok=True)
    training = [a for a in labelled if a.info["start"] % VALIDATION]
    validation = [a for a in labelled if not a.info["start"] % VALIDATION]
    for name, frames in (("training", training), ("validation", validation)):
        write(folder / f"{name}.extxyz", frames, format="extxyz")
    _train(folder, asked)
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / "models" / "student.model", asked.output)
    if asked.keep is None:
        shutil.rmtree(folder)
    print(f"{len(training)} frames for training, {len(validation)} of other starts for validation")
    print(_errors(asked.output, validation))
    print(f"{asked.output}: SHA-256 {hashlib.sha256(asked.output.read_bytes()).hexdigest()}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="The model file to write.")
    parser.add_argument("--elements", default="Ti,Si,Ge,Ru,Sn,Zr", help="Which dioxides.")
    parser.add_argument("--prototypes", default="", help="Which starts, by name; default: all twelve.")
    parser.add_argument("--frames", type=int, default=6, help="Frames of each start.")
    parser.add_argument("--epochs", type=int, default=80)
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--max-l", type=int, default=0, choices=(0, 1))
    parser.add_argument("--r-max", type=float, default=4.5, help="Å")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--keep", type=Path, help="Keep frames, checkpoints and the trainer's logs here.")
    return parser


def _frames(asked: argparse.Namespace) -> list[Atoms]:
    """The frames without labels, in the family's order; `info` says which start each belongs to."""
    ao2 = families.load("ao2")
    reference = ReferenceSet.load(families.reference_path("ao2", DEFAULT_POTENTIAL))
    metals, names = asked.elements.split(","), asked.prototypes.split(",") if asked.prototypes else None
    compounds = [c for c in ao2.compounds if c.elements["A"] in metals]
    prototypes = [p for p in ao2.prototypes if names is None or p.name in names]
    if not compounds or not prototypes:
        raise SystemExit("train.py: AO2 has no such compounds or prototypes")
    rng = np.random.default_rng(asked.seed)
    frames: list[Atoms] = []
    starts = [(c, p) for c in compounds for p in prototypes]
    for number, (compound, prototype) in enumerate(starts, start=1):
        for index in range(asked.frames):
            atoms = _base(reference, compound, prototype, relaxed=index > 0)
            if atoms is not None:
                atoms.info = {"start": number}
                frames.append(_disturbed(atoms, index, rng))
    return frames


def _base(
    reference: ReferenceSet, compound: Compound, prototype: Prototype, *, relaxed: bool
) -> Atoms | None:
    with contextlib.suppress(KeyError):
        if relaxed:
            return reference.structure(compound.formula, prototype.name)
    try:
        return start_atoms(prototype, compound)
    except StructureError:
        return None


def _disturbed(atoms: Atoms, index: int, rng: np.random.Generator) -> Atoms:
    """The first two frames of a start are whole: ideal, and relaxed."""
    if index < 2:  # noqa: PLR2004
        return atoms
    strain = rng.uniform(-STRAIN, STRAIN, (3, 3))
    if index % 2:
        strain = 0.3 * strain + np.eye(3) * rng.uniform(*SCALE)
    atoms.set_cell(atoms.cell[:] @ (np.eye(3) + (strain + strain.T) / 2), scale_atoms=True)
    atoms.positions += rng.normal(0.0, RATTLES[index % len(RATTLES)], atoms.positions.shape)
    return atoms


def _labelled(frames: Sequence[Atoms], per_start: int) -> Iterator[Atoms]:
    teacher = load_calculator(DEFAULT_POTENTIAL)
    print(f"{len(frames)} frames, up to {per_start} of each start", flush=True)
    for atoms in track(frames, description="CHGNet labels them"):
        atoms.calc = teacher
        atoms.info["REF_energy"] = float(atoms.get_potential_energy())
        atoms.info["REF_stress"] = atoms.get_stress(voigt=False)
        atoms.arrays["REF_forces"] = atoms.get_forces()
        atoms.calc = None
        yield atoms


def _train(folder: Path, asked: argparse.Namespace) -> None:
    from mace.cli.run_train import main as run_train

    options = {
        "name": "student",
        "seed": asked.seed,
        "device": "cpu",
        "default_dtype": "float32",
        "train_file": folder / "training.extxyz",
        "valid_file": folder / "validation.extxyz",
        "E0s": "average",
        "model": "ScaleShiftMACE",
        "num_channels": asked.channels,
        "max_L": asked.max_l,
        "max_ell": 2,
        "correlation": 2,
        "num_interactions": 2,
        "num_radial_basis": 6,
        "MLP_irreps": "16x0e",
        "r_max": asked.r_max,
        "loss": "stress",
        "energy_weight": 10,
        "forces_weight": 10,
        "stress_weight": 100,
        "compute_stress": True,
        "error_table": "PerAtomRMSEstressvirials",
        "batch_size": 8,
        "valid_batch_size": 16,
        "max_num_epochs": asked.epochs,
        "lr": 0.01,
        "scheduler": "ExponentialLR",
        "lr_scheduler_gamma": 0.01 ** (1 / asked.epochs),
        "ema": None,
        "ema_decay": 0.99,
        "eval_interval": max(1, asked.epochs // 20),
        "work_dir": folder,
        "model_dir": folder / "models",
        "plot": False,
        "save_cpu": None,
    }
    words = [f"--{name}" if value is None else f"--{name}={value}" for name, value in options.items()]
    before, sys.argv = sys.argv, ["mace_run_train", *words]
    try:
        run_train()
    finally:
        sys.argv = before


def _errors(model: Path, validation: Sequence[Atoms]) -> str:
    """Mean absolute errors on starts that were not trained on, by the calculator that a run would load."""
    calculator = load_calculator(f"mace:{model.absolute()}")
    gaps: dict[str, list[float]] = {"energy": [], "forces": [], "stress": []}
    for atoms in validation:
        energy, forces = atoms.info["REF_energy"], atoms.arrays["REF_forces"]
        stress = full_3x3_to_voigt_6_stress(atoms.info["REF_stress"])
        copy = atoms.copy()
        copy.calc = calculator
        gaps["energy"].append(1000 * abs(copy.get_potential_energy() - energy) / len(copy))
        gaps["forces"] += (1000 * np.abs(copy.get_forces() - forces)).ravel().tolist()
        gaps["stress"] += (GPA * np.abs(copy.get_stress() - stress)).tolist()
    energy, forces, stress = (float(np.mean(gaps[name])) for name in gaps)
    median = float(np.median(gaps["energy"]))
    return (
        f"validation: energy {energy:.1f} meV/atom (median {median:.1f}), forces {forces:.0f} meV/Å, "
        f"stress {stress:.2f} GPa, mean absolute errors"
    )


if __name__ == "__main__":
    main()
