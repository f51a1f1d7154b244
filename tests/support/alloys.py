"""A job that EMT does in a second: CuPd as CsCl; and who does it."""

from __future__ import annotations

from typing import Any

import anyio

from hepbench.harness.laboratory.family import Compound, Prototype, Site
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.harness.laboratory.simulations import DynamicsJob
from hepbench.harness.laboratory.workers import Job

EMT = "ase:ase.calculators.emt:EMT"
CUPD = Compound(formula="CuPd", elements={"M": "Cu", "X": "Pd"}, chemical_family="alloy", part="exploration")
B2 = Prototype(
    name="B2",
    label="B2",
    description="CsCl",
    source="textbook",
    number=221,
    lattice=(3.0, 3.0, 3.0, 90.0, 90.0, 90.0),
    sites=(Site(role="M", xyz=(0.0, 0.0, 0.0)), Site(role="X", xyz=(0.5, 0.5, 0.5))),
)


def alloy_job(*, potential: str = EMT, pressure: float = 0.0, maker: RelaxationMaker | None = None) -> Job:
    """Relax CuPd as CsCl."""
    return Job(potential, maker or RelaxationMaker(), CUPD, B2, pressure)


class Counted:
    """Does the work here, and counts what has a result worth keeping."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self, work: Any) -> Any:
        self.count += isinstance(work, Job | DynamicsJob)
        return work.do()


def run(runner: Any, work: Any) -> Any:
    return anyio.run(runner, work)
