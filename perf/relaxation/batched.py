"""Batched relaxations by torch-sim beside ours: `python perf/relaxation/batched.py x.model`. Prints rows.

The same candidates of AO2 by one MACE model, to the same end: forces below 0.01 eV/Å, stress below 0.1 GPa.
torch-sim relaxes many at once (FIRE with its Fréchet cell filter, converged ones swapped for new ones) from
the prototypes' starts, on two torch threads; hepbench relaxes them one by one on two workers with one thread
each, as `hepbench reference build` does. Needs `pip install torch-sim-atomistic` beside the extra `mace`.
"""

from __future__ import annotations

import argparse
import random
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from ase import Atoms

from hepbench.harness.laboratory.family import Compound
from hepbench.harness.laboratory.potentials import Coverage, load_calculator
from hepbench.harness.laboratory.relaxation import GPA, RelaxationMaker
from hepbench.harness.laboratory.structures import start_atoms
from hepbench.harness.laboratory.workers import Job, Outcome, WorkerPool
from hepbench.tasks import families

MAKER = RelaxationMaker()
SAME = 1.0
"""meV/atom."""


@dataclass(frozen=True)
class Relaxed:
    """What became of a candidate: eV/atom and whether it met the criterion."""

    energy: float
    converged: bool


@dataclass(frozen=True)
class TimedJob:
    """A job, and the processor time that it took without loading the potential."""

    job: Job

    @property
    def name(self) -> str:
        """For messages."""
        return self.job.name

    def do(self) -> tuple[Outcome, float]:
        """Relax it in this process."""
        load_calculator(self.job.potential)
        begin = time.process_time()
        outcome = self.job.do()
        return outcome, time.process_time() - begin


def main() -> None:
    """Relax a seeded sample both ways and lay the ends beside each other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="A MACE model file.")
    parser.add_argument("--sample", type=int, default=24, help="Candidates, of the elements the model knows.")
    parser.add_argument(
        "--atoms", type=int, nargs="+", default=[1000], help="Atoms in a batch; several: rows."
    )
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    jobs = _sample(f"mace:{asked.model.absolute()}", asked.sample, asked.seed)
    print(f"{len(jobs)} candidates, {sum(len(_start(job)) for job in jobs)} atoms")
    print("| how | converged | wall, s | processor, s | candidates in an hour | in an hour of processor |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    ours = _ours(jobs)
    for atoms in asked.atoms:
        theirs = _theirs(asked.model, jobs, atoms)
        _compare(jobs, ours, theirs)


def _sample(potential: str, size: int, seed: int) -> list[Job]:
    known = Coverage(potential).do()
    family = families.load("ao2")
    every = [(c, p) for c in family.compounds if _covered(c, known) for p in family.prototypes]
    picked = random.Random(seed).sample(every, min(size, len(every)))  # noqa: S311 - a sample, not a secret
    return [Job(potential, MAKER, compound, prototype) for compound, prototype in picked]


def _covered(compound: Compound, known: frozenset[str] | None) -> bool:
    return known is None or set(compound.elements.values()) <= known


def _start(job: Job) -> Atoms:
    return start_atoms(job.prototype, job.compound)


def _ours(jobs: Sequence[Job]) -> list[Relaxed]:
    with WorkerPool(2) as pool:
        warm = [pool.submit(Coverage(jobs[0].potential)) for _ in range(2)]
        [future.result() for future in warm]
        begin = time.perf_counter()
        futures = [pool.submit(TimedJob(job)) for job in jobs]
        done = [pool.outcome(TimedJob(job), future) for job, future in zip(jobs, futures, strict=True)]
        wall = time.perf_counter() - begin
    found = [_of(outcome) for outcome, _ in done]
    _row("hepbench, 2 workers", found, wall, sum(spent for _, spent in done))
    return found


def _of(outcome: Outcome) -> Relaxed:
    energy = outcome.record.energy
    return Relaxed(float("nan") if energy is None else energy, outcome.record.converged)


def _theirs(model: Path, jobs: Sequence[Job], atoms: int) -> list[Relaxed]:
    import torch_sim
    from torch_sim.autobatching import InFlightAutoBatcher
    from torch_sim.models.mace import MaceModel
    from torch_sim.optimizers import frechet_cell_fire

    torch.set_num_threads(2)
    raw = torch.load(model, map_location="cpu", weights_only=False)
    wrapped = MaceModel(raw, device=torch.device("cpu"), dtype=torch.float64)
    starts = [_start(job) for job in jobs]
    torch_sim.static(starts[:2], wrapped)  # what is compiled at first is not measured
    batcher = InFlightAutoBatcher(wrapped, memory_scales_with="n_atoms", max_memory_scaler=atoms)
    wall, spent = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = torch_sim.optimize(
            starts,
            wrapped,
            optimizer=frechet_cell_fire,
            convergence_fn=_is_relaxed,
            autobatcher=batcher,
            max_steps=2 * MAKER.max_steps,
            steps_between_swaps=1,
        )
    wall, spent = time.perf_counter() - wall, time.process_time() - spent
    sizes = torch.bincount(state.system_idx)
    energies, ended = (state.energy / sizes).tolist(), _is_relaxed(state).tolist()
    found = [Relaxed(energy, converged) for energy, converged in zip(energies, ended, strict=True)]
    _row(f"torch-sim, batches of {atoms} atoms", found, wall, spent)
    return found


def _is_relaxed(state: Any, _: Any = None) -> torch.Tensor:
    """Our criterion, system by system."""
    forces = state.forces.norm(dim=-1)
    largest = torch.zeros_like(state.energy).scatter_reduce(0, state.system_idx, forces, "amax")
    stress = state.stress.abs().amax(dim=(1, 2)) / GPA
    return (largest <= MAKER.fmax) & (stress <= MAKER.smax)


def _row(how: str, found: Sequence[Relaxed], wall: float, spent: float) -> None:
    hours = (f"{3600 * len(found) / seconds:.0f}" for seconds in (wall, spent))
    converged = sum(one.converged for one in found)
    print(f"| {how} | {converged} | {wall:.0f} | {spent:.0f} | {' | '.join(hours)} |", flush=True)


def _compare(jobs: Sequence[Job], ours: Sequence[Relaxed], theirs: Sequence[Relaxed]) -> None:
    both = [(j, a, b) for j, a, b in zip(jobs, ours, theirs, strict=True) if a.converged and b.converged]
    gaps = [(1000 * (b.energy - a.energy), job.name) for job, a, b in both]
    same = sum(abs(gap) <= SAME for gap, _ in gaps)
    lower = sum(gap < -SAME for gap, _ in gaps)
    print(
        f"both converged: {len(both)}; within {SAME:g} meV/atom: {same}; torch-sim lower: {lower}", end="; "
    )
    print(f"hepbench lower: {len(both) - same - lower}")
    for gap, name in sorted(gaps):
        if abs(gap) > SAME:
            print(f"    {name}: torch-sim {gap:+.1f} meV/atom")


if __name__ == "__main__":
    main()
