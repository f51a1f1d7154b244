"""Relaxations per hour beside CHGNet's own optimizer: `python perf/relaxation/run.py`. Prints rows.

The same candidates of the three families (a seeded sample), relaxed to the same criterion: as CHGNet's
documentation does it, with `StructOptimizer()` and its defaults on the prototype's conventional cell, and as
`hepbench reference build` does, on two workers. Both start at the same volume per atom. They take turns,
family by family. Wall times want a quiet machine; the processor times do not.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measures import sample

from hepbench.benchmark.reference import finished
from hepbench.harness.laboratory.potentials import DEFAULT_POTENTIAL
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.harness.laboratory.structures import start_atoms, to_pymatgen
from hepbench.harness.laboratory.workers import Job, WorkerPool
from hepbench.tasks import families

MAKER = RelaxationMaker()
MOST_STEPS = 500  # StructOptimizer's default
NEAR = 1.0  # meV/atom


@dataclass(frozen=True)
class Spent:
    """Wall and processor time, s, and energies, eV/atom, by the job's name; None where there is none."""

    wall: float
    processor: float
    energies: dict[str, float | None]


def main() -> None:
    """Relax the sample both ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=6, help="Candidates of each family.")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print("| family | candidates | StructOptimizer, s | hepbench, s | ratio | energies |")
    print("| --- | --- | --- | --- | --- | --- |")
    theirs = StructOptimizerWithDefaults()
    walls = [0.0, 0.0]
    for family_id in families.FAMILY_IDS:
        jobs = [Job(DEFAULT_POTENTIAL, MAKER, *c) for c in sample(family_id, asked.sample, asked.seed)]
        one, other = theirs.relax(jobs), built(jobs)
        walls = [walls[0] + one.wall, walls[1] + other.wall]
        print(row(family_id, one, other), flush=True)
    print(f"| all | | {walls[0]:.0f} | {walls[1]:.0f} | {walls[0] / walls[1]:.1f} | |")


class StructOptimizerWithDefaults:
    """CHGNet's own, with its defaults but for the criterion."""

    def __init__(self) -> None:
        from chgnet.model import StructOptimizer

        self._optimizer = StructOptimizer()

    def relax(self, jobs: list[Job]) -> Spent:
        """Relax one after the other in this process."""
        begin, used = time.perf_counter(), time.process_time()
        energies = {job.name: self._relax(job) for job in jobs}
        return Spent(time.perf_counter() - begin, time.process_time() - used, energies)

    def _relax(self, job: Job) -> float | None:
        from pymatgen.symmetry.analyzer import SpacegroupAnalyzer

        primitive = to_pymatgen(start_atoms(job.prototype, job.compound))
        start = SpacegroupAnalyzer(primitive).get_conventional_standard_structure()
        found: Any = self._optimizer.relax(start, fmax=MAKER.fmax, verbose=False)
        energies = found["trajectory"].energies
        return float(energies[-1]) / len(start) if len(energies) <= MOST_STEPS else None


def built(jobs: list[Job]) -> Spent:
    """Relax on two workers, whose start and loading of the potential do not count."""
    with WorkerPool(2) as pool:
        for future in [pool.submit(job) for job in jobs[:1] * 2]:
            future.result()
        before = _children()
        begin = time.perf_counter()
        outcomes = {job.name: outcome for job, outcome in finished(jobs, pool)}
        wall = time.perf_counter() - begin
        used = _children() - before
    return Spent(wall, used, {name: outcome.record.energy for name, outcome in outcomes.items()})


def row(family_id: str, one: Spent, other: Spent) -> str:
    """A line of the table, with what became of the energies."""
    gaps = [
        1000 * (ours - energy)
        for name, energy in one.energies.items()
        if energy is not None and (ours := other.energies[name]) is not None
    ]
    unconverged = sum(energy is None for energy in one.energies.values())
    told = (
        f"{sum(abs(g) <= NEAR for g in gaps)} within 1 meV/atom, {sum(g < -NEAR for g in gaps)} of hepbench "
        f"lower, {sum(g > NEAR for g in gaps)} higher, {unconverged} not converged by StructOptimizer"
    )
    return (
        f"| {family_id} | {len(one.energies)} | {one.wall:.0f} ({one.processor:.0f}) "
        f"| {other.wall:.0f} ({other.processor:.0f}) | {one.wall / other.wall:.1f} | {told} |"
    )


def _children() -> float:
    """Processor time of this process's living children, s, as Linux tells it."""
    ticks = 0
    for task in Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text(encoding="ascii").split():
            fields = Path(f"/proc/{child}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])  # user and system
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
