"""What a live measurement leaves in the process that asks for it, and what a lost identification becomes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from hepbench.harness.laboratory.arguments import LabRefusal
from hepbench.harness.laboratory.dynamics import DynamicsMaker
from hepbench.harness.laboratory.laboratory import Laboratory
from hepbench.harness.laboratory.live import Identification
from hepbench.harness.laboratory.simulations import EndIdentification
from hepbench.harness.laboratory.workers import LiveRelaxationError

MEASURING = """
import sys
import anyio
from hepbench.harness.laboratory.cache import Cache, cached
from hepbench.harness.laboratory.live import LiveRelaxations, shared_pool, shared_runner
from hepbench.harness.laboratory.potentials import potential
from hepbench.harness.laboratory.records import Provenance
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.tasks import families

EMT = "ase:ase.calculators.emt:EMT"

async def main(place):
    family = families.load("ao2")
    sha256 = potential(EMT).weights_sha256()
    stated = Provenance(potential=EMT, weights_sha256=sha256, settings=RelaxationMaker().settings(),
                        versions={}, dtype="", device="")
    live = LiveRelaxations(family, stated, cached(shared_runner(300.0), Cache(place)))
    for _ in range(2):
        found, lost = await live.relax(family.compound("NiO2"), [family.prototype("fluorite")], 5.0)
        live._notebook.clear()
    print(found["fluorite"].phase, lost, sorted({"pymatgen", "torch", "distributed"} & set(sys.modules)))

if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
    shared_pool(300.0).close()
"""


def test_the_process_of_an_eval_loads_neither_pymatgen_nor_torch_nor_dask(tmp_path: Any) -> None:
    script = tmp_path / "measuring.py"
    script.write_text(MEASURING)
    command = [sys.executable, str(script), str(tmp_path / "live.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.strip() == "fluorite {} []", done.stderr


class Interrupted:
    """Does as the worker that it is given, but loses the first identifications."""

    def __init__(self, worker: Any, losses: int) -> None:
        self.worker = worker
        self.losses = losses

    async def __call__(self, job: Any) -> Any:
        if isinstance(job, Identification | EndIdentification) and self.losses:
            self.losses -= 1
            raise LiveRelaxationError(f"{job.name}: the worker process died (exit code -9)")
        return await self.worker(job)


MakeLab = Callable[..., Laboratory]


def interrupted(make_lab: MakeLab, worker: Any, losses: int) -> Laboratory:
    laboratory = make_lab(budget=30)
    laboratory._live._run = Interrupted(worker, losses)
    return laboratory


def measured(laboratory: Laboratory, *names: str) -> list[Any]:
    compound = laboratory.family.compound("TiO2")
    prototypes = [laboratory.family.prototype(name) for name in names]
    found = anyio.run(laboratory.measure, compound, prototypes, 10.0)
    return [m.relaxation for m in found]


def test_an_identification_whose_worker_dies_is_done_again(make_lab: MakeLab, worker: Any) -> None:
    (record,) = measured(interrupted(make_lab, worker, 1), "rutile")
    assert record.phase == "rutile"


def test_a_lost_identification_is_no_result_and_only_it_is_repeated(make_lab: MakeLab, worker: Any) -> None:
    laboratory = interrupted(make_lab, worker, 0)
    assert [r.phase for r in measured(laboratory, "anatase")] == ["anatase"]
    laboratory._live._run = Interrupted(worker, 2)
    known, lost = measured(laboratory, "anatase", "rutile")
    assert known.phase == "anatase"
    assert lost.status == "failed"
    assert lost.error == "TiO2, phases: the worker process died (exit code -9)"
    assert [r.phase for r in measured(laboratory, "rutile")] == ["rutile"]
    assert [job.prototype.name for job in worker.jobs] == ["anatase", "rutile"]


def test_a_simulation_whose_end_cannot_be_identified_is_one_line(make_lab: MakeLab, worker: Any) -> None:
    laboratory = interrupted(make_lab, worker, 0)
    family = laboratory.family
    maker = DynamicsMaker(temperature=300, steps=100)

    async def simulate() -> None:
        laboratory._live._run = Interrupted(worker, 3)
        await laboratory.simulate(family.compound("TiO2"), family.prototype("rutile"), maker)

    with pytest.raises(LabRefusal, match="phase") as caught:
        anyio.run(simulate)
    assert "\n" not in str(caught.value)
