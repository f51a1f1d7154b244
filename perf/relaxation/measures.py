"""What each measure of the recipe gains: `python perf/relaxation/measures.py`. Prints rows for README.md.

The same candidates, a seeded sample of the three families, relaxed in this one process with one torch thread:
by the recipe as it is, and by the recipe with one measure taken out. Processor time, so that a busy machine
does not count, and energy evaluations, which do not depend on the machine. `--profile` says where the
processor time of the recipe as it is goes.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported

import argparse
import cProfile
import pstats
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from ase import Atoms

from hepbench.harness.laboratory import relaxation
from hepbench.harness.laboratory.family import Compound, Prototype
from hepbench.harness.laboratory.potentials import DEFAULT_POTENTIAL, load_calculator
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.harness.laboratory.structures import start_atoms, to_pymatgen
from hepbench.tasks import families

PROFILED = {
    "model, forward": ("chgnet/model/model.py", "_compute"),
    "gradients, backward": ("torch/autograd/graph.py", "_engine_run_backward"),
    "neighbour graph": ("chgnet/graph/converter.py", "forward"),
    "structure from ASE to pymatgen": ("laboratory/structures.py", "to_pymatgen"),
    "cell filter, its matrix logarithm and exponentials": ("optimize/cellutil.py", "get_forces_frechet"),
    "the optimizer's step": ("ase/optimize/bfgs.py", "step"),
}


@dataclass(frozen=True)
class Way:
    """A recipe, or one with a measure taken out.

    Attributes:
        name: For the table.
        maker: The recipe's settings.
        calculator: What computes.
        start: Turns the start structure into the one that is relaxed.
    """

    name: str
    maker: RelaxationMaker = field(default_factory=RelaxationMaker)
    calculator: Callable[[], Any] = lambda: load_calculator(DEFAULT_POTENTIAL)
    start: Callable[[Atoms], Atoms] = lambda atoms: atoms
    patched: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Relaxed:
    """What a way took over all candidates, and where it ended."""

    seconds: float
    steps: int
    converged: int
    energies: tuple[float | None, ...]


def main() -> None:
    """Relax the sample in every way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=4, help="Candidates of each family.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    candidates = [c for name in families.FAMILY_IDS for c in sample(name, asked.sample, asked.seed)]
    load_calculator(DEFAULT_POTENTIAL)
    if asked.profile:
        profile(candidates)
        return
    print("| recipe | processor, s | gain | energy evaluations | converged | same energy |")
    print("| --- | --- | --- | --- | --- | --- |")
    whole = relaxed(WAYS[0], candidates)
    print(row(WAYS[0], whole, whole), flush=True)
    for way in WAYS[1:]:
        print(row(way, relaxed(way, candidates), whole), flush=True)


def sample(family_id: str, size: int, seed: int) -> list[tuple[Compound, Prototype]]:
    """A seeded sample of a family's candidates."""
    family = families.load(family_id)
    every = [(c, p) for c in family.compounds for p in family.prototypes]
    return random.Random(seed).sample(every, size)  # noqa: S311 - a sample, not a secret


def relaxed(way: Way, candidates: list[tuple[Compound, Prototype]]) -> Relaxed:
    """Relax all candidates in one way."""
    calculator = way.calculator()
    records = []
    with way.patched() if way.patched else _as_it_is():
        begin = time.process_time()
        for compound, prototype in candidates:
            start = way.start(start_atoms(prototype, compound))
            names = {"compound": compound.formula, "prototype": prototype.name}
            records.append(way.maker.relax(start, calculator, **names)[0])
        seconds = time.process_time() - begin
    energies = tuple(r.energy for r in records)
    return Relaxed(seconds, sum(r.steps for r in records), sum(r.converged for r in records), energies)


def row(way: Way, found: Relaxed, whole: Relaxed) -> str:
    """A line of the table; "same energy" counts those within 1 meV/atom of the whole recipe's."""
    pairs = zip(found.energies, whole.energies, strict=True)
    same = sum(a is not None and b is not None and abs(a - b) <= 0.001 for a, b in pairs)  # noqa: PLR2004
    size = len(found.energies)
    gain = found.seconds / whole.seconds
    return (
        f"| {way.name} | {found.seconds:.0f} | {gain:.1f} | {found.steps} "
        f"| {found.converged} of {size} | {same} of {size} |"
    )


def profile(candidates: list[tuple[Compound, Prototype]]) -> None:
    """Print the shares of the processor time that the parts of a relaxation take."""
    relaxed(WAYS[0], candidates[:1])  # what is imported and read once does not count
    profiler = cProfile.Profile(time.process_time)
    profiler.enable()
    relaxed(WAYS[0], candidates)
    profiler.disable()
    stats: Any = pstats.Stats(profiler)
    print("| part of a relaxation | share of the processor time |\n| --- | --- |")
    for part, (file, function) in PROFILED.items():
        taken = sum(
            cumulative
            for (path, _, name), (_, _, _, cumulative, _) in stats.stats.items()
            if path.endswith(file) and name == function
        )
        print(f"| {part} | {taken / stats.total_tt:.0%} |")


def conventional(atoms: Atoms) -> Atoms:
    """The conventional cell of the same crystal."""
    from pymatgen.io.ase import AseAtomsAdaptor
    from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

    cell = SpacegroupAnalyzer(to_pymatgen(atoms)).get_conventional_standard_structure()
    found = AseAtomsAdaptor.get_atoms(cell, msonable=False)
    return Atoms(found.numbers, cell=found.cell[:], positions=found.positions, pbc=True)


def chgnet_calculator() -> Any:
    """CHGNet's own ASE calculator with the same weights."""
    from chgnet.model.dynamics import CHGNetCalculator

    return CHGNetCalculator(use_device="cpu", on_isolated_atoms="ignore")


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield


def _without_scan() -> Any:
    return patch.object(RelaxationMaker, "_scan", lambda _self, start, _counted, _pressure: start.copy())


def _without_symmetry() -> Any:
    from ase.constraints import FixAtoms

    return patch("ase.constraints.FixSymmetry", lambda _atoms, **_: FixAtoms(indices=[]))


WAYS = (
    Way("as it is"),
    Way("without the volume scan", patched=_without_scan),
    Way("FIRE instead of CellBFGS", RelaxationMaker(optimizer="FIRE")),
    Way("ASE's BFGS instead of CellBFGS", RelaxationMaker(optimizer="BFGS")),
    Way("without kept symmetry", patched=_without_symmetry),
    Way("conventional instead of primitive cells", start=conventional),
    Way("CHGNet's own calculator", calculator=chgnet_calculator),
)

if __name__ == "__main__":
    assert relaxation.RECIPE == 1, "the ways above take measures out of recipe 1"  # noqa: S101
    main()
