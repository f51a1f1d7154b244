"""Workers, most without torch: EMT is the potential, the standard library gives what can go wrong."""

import time
from concurrent.futures import CancelledError

import anyio
import pytest

from hepbench.harness.laboratory import workers
from hepbench.harness.laboratory.family import Compound, Prototype, Site
from hepbench.harness.laboratory.reference import ReferenceSet
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.harness.laboratory.workers import Job, LiveRelaxationError, WorkerPool, run_job, run_live
from hepbench.tasks import families

EMT = "ase:ase.calculators.emt:EMT"
DIES = "ase:os:abort"
HANGS = "ase:signal:pause"
LIMIT = 10.0
"""Seconds; the other jobs only fail, and need the imports for it on a busy machine."""

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


def job(potential: str = EMT, pressure: float = 0.0) -> Job:
    return Job(potential, RelaxationMaker(), CUPD, B2, pressure)


def test_pool_gives_what_a_direct_call_gives() -> None:
    with WorkerPool(1) as pool:
        future = pool.submit(job())
        outcome = pool.outcome(job(), future)
    direct = run_job(job())
    assert outcome.record == direct.record
    assert outcome.record.converged
    assert outcome.seconds > 0


@pytest.mark.parametrize(
    ("potential", "told"),
    [
        (DIES, "the worker process died"),
        (HANGS, f"stopped after {LIMIT:g} s"),
        ("ase:no_such_module:X", "cannot import no_such_module"),
        ("nothing", "unknown potential 'nothing'"),
    ],
)
def test_job_without_result_is_one_line_and_the_pool_goes_on(potential: str, told: str) -> None:
    with WorkerPool(1) as pool:
        with pytest.raises(LiveRelaxationError) as caught:
            pool.outcome(job(potential), pool.submit(job(potential), time_limit=LIMIT))
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)
        assert pool.outcome(job(), pool.submit(job())).record.converged


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_live_job_does_not_block_the_event_loop(backend: str) -> None:
    ticks = []

    async def tick() -> None:
        while True:
            ticks.append(time.monotonic())
            await anyio.sleep(0.05)

    async def main(pool: WorkerPool) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(tick)
            outcome = await run_live(pool, job(pressure=5.0))
            assert outcome.record.pressure == 5.0
            group.cancel_scope.cancel()

    with WorkerPool(1) as pool:
        anyio.run(main, pool, backend=backend)
    assert len(ticks) > 3


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelling_kills_the_worker_and_the_pool_goes_on(backend: str) -> None:
    async def main(pool: WorkerPool) -> None:
        with anyio.move_on_after(4) as scope:
            await run_live(pool, job(HANGS))
        assert scope.cancelled_caught
        with anyio.fail_after(60):
            assert (await run_live(pool, job())).record.converged

    with WorkerPool(1) as pool:
        anyio.run(main, pool, backend=backend)


def test_a_cancelled_future_is_one_line() -> None:
    with WorkerPool(1) as pool:
        pool.submit(job(HANGS))
        waiting = pool.submit(job())
        assert waiting.cancel()
        with pytest.raises(CancelledError):
            waiting.result()
        with pytest.raises(LiveRelaxationError, match="cancelled"):
            pool.outcome(job(), waiting)


def test_closing_twice_and_unused() -> None:
    pool = WorkerPool(2)
    pool.close()
    pool.close()


@pytest.mark.skipif(not workers._has_avx2(), reason="the sets were built with AVX2")
def test_a_start_on_a_ridge_ends_where_the_reference_set_has_it() -> None:
    """By the kernels of AVX-512 it would end 64 meV/atom higher."""
    pytest.importorskip("chgnet")
    family = families.load("ao2")
    reference = ReferenceSet.load(families.reference_path("ao2", "chgnet-0.3.0"))
    compound, prototype = family.compound("CrO2"), family.prototype("baddeleyite")
    assert compound is not None
    assert prototype is not None
    asked = Job("chgnet-0.3.0", RelaxationMaker(), compound, prototype, 0.0)
    with WorkerPool(1) as pool:
        found = pool.outcome(asked, pool.submit(asked)).record
    stored = reference.relaxation("CrO2", "baddeleyite")
    assert stored is not None
    assert found.energy == pytest.approx(stored.energy, abs=1e-4)
    assert found.space_group == stored.space_group
