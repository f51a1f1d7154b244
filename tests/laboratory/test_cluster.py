"""Work on a real Dask cluster of two worker processes, with EMT for a potential."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import deadly
import pytest
from alloys import B2, CUPD, EMT, alloy_job
from distributed import LocalCluster
from inspect_ai._util.error import PrerequisiteError
from typer.testing import CliRunner

from hepbench.benchmark.cli import app
from hepbench.benchmark.reference import Build, read_journal
from hepbench.harness.laboratory import cluster as clusters
from hepbench.harness.laboratory.cluster import ClusterError, DaskPool, open_pool
from hepbench.harness.laboratory.dynamics import DynamicsMaker
from hepbench.harness.laboratory.family import Compound, Family, Prototype, Site
from hepbench.harness.laboratory.laboratory import Laboratory, LabSettings
from hepbench.harness.laboratory.live import shared_pool, shared_runner
from hepbench.harness.laboratory.potential import PotentialError
from hepbench.harness.laboratory.potentials import potential
from hepbench.harness.laboratory.records import Provenance, Relaxation
from hepbench.harness.laboratory.reference import ReferenceSet
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.harness.laboratory.workers import LiveRelaxationError, WorkerPool, run_live
from hepbench.tasks.ao2 import ao2

DEADLY = "ase:deadly:Deadly"
MURDER = "ase:deadly:murder"
DIES = "ase:os:abort"
HANGS = "ase:signal:pause"
NOTHING = "ase:math:no_such_factory"
FILES = ("energies.csv", "structures.extxyz", "provenance.json")

B1 = Prototype(
    name="B1",
    label="B1",
    description="NaCl",
    source="textbook",
    number=225,
    lattice=(5.5, 5.5, 5.5, 90.0, 90.0, 90.0),
    sites=(Site(role="M", xyz=(0.0, 0.0, 0.0)), Site(role="X", xyz=(0.5, 0.5, 0.5))),
)
AGAU = Compound(formula="AgAu", elements={"M": "Ag", "X": "Au"}, chemical_family="alloy", part="exploration")
ALLOYS = Family(
    id="ao2",
    version="1-A",
    title="alloys",
    question="?",
    label_name="prototype",
    anion_roles=("X",),
    split_seed=1,
    extrapolation=(),
    prototypes=(B2, B1),
    compounds=(CUPD, AGAU),
)
ONE = ALLOYS.model_copy(update={"compounds": (CUPD,), "prototypes": (B2,)})


def local_cluster(workers: int) -> LocalCluster:
    return LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    )


@pytest.fixture(scope="module")
def to_kill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Each file here kills a worker that calculates with `deadly`."""
    folder = tmp_path_factory.mktemp("to_kill")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(deadly.FOLDER, str(folder))
        yield folder


@pytest.fixture(scope="module")
def scheduler(to_kill: Path) -> Iterator[str]:
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def by_local_pool(to_kill: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with WorkerPool(1) as pool:
        return Build(ALLOYS, DEADLY, tmp_path_factory.mktemp("local")).run(pool)


def assert_same_set(one: Path, other: Path) -> None:
    for name in FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_build_whose_worker_is_killed_gives_the_bytes_of_the_local_pool(
    scheduler: str, to_kill: Path, by_local_pool: Path, tmp_path: Path
) -> None:
    (to_kill / "one").touch()
    with open_pool(scheduler) as pool:
        Build(ALLOYS, DEADLY, tmp_path).run(pool)
    assert not list(to_kill.iterdir()), "none was killed"
    assert_same_set(tmp_path, by_local_pool)


def test_killed_build_resumes_without_repeating(scheduler: str, by_local_pool: Path, tmp_path: Path) -> None:
    class Killed(RuntimeError):
        pass

    def die_at_the_third(record: Relaxation) -> None:
        seen.append(record)
        if len(seen) == 3:
            raise Killed

    seen: list[Relaxation] = []
    build = Build(ALLOYS, DEADLY, tmp_path, done=die_at_the_third)
    with pytest.raises(Killed), open_pool(scheduler) as pool:
        build.run(pool)
    assert len(read_journal(build.journal)) == 3
    sent: list[str] = []

    class Watching(DaskPool):
        def submit(self, job: Any) -> Any:
            sent.append(job.name)
            return super().submit(job)

    with Watching(scheduler) as watched:
        Build(ALLOYS, DEADLY, tmp_path).run(watched)
    assert len(sent) == 1
    assert_same_set(tmp_path, by_local_pool)


def test_job_that_kills_three_dask_workers_is_recorded_as_failed(scheduler: str, tmp_path: Path) -> None:
    with open_pool(scheduler) as pool:
        Build(ONE, MURDER, tmp_path).run(pool)
    record = ReferenceSet.load(tmp_path).relaxation("CuPd", "B2")
    assert record is not None
    assert record.error == "CuPd as B2: the Dask worker died, 3 times"


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (DIES, "CuPd as B2: the worker process died (exit code -6)"),
        (HANGS, "CuPd as B2: stopped after 6 s"),
        (NOTHING, f"CuPd as B2: potential {NOTHING}: math has no no_such_factory"),
        ("nothing", "CuPd as B2: unknown potential 'nothing': use one of "),
    ],
)
def test_job_without_result_is_one_line_and_the_pool_goes_on(scheduler: str, named: str, told: str) -> None:
    with open_pool(scheduler, time_limit=6.0) as pool:
        lost = alloy_job(potential=named)
        with pytest.raises(LiveRelaxationError) as caught:
            pool.outcome(lost, pool.submit(lost))
        assert str(caught.value).startswith(told)
        assert "\n" not in str(caught.value)
    with open_pool(scheduler) as pool:
        assert pool.outcome(alloy_job(), pool.submit(alloy_job())).record.converged


def test_cancelled_jobs_leave_the_cluster(scheduler: str) -> None:
    async def main(pool: DaskPool) -> None:
        with anyio.move_on_after(3) as scope:
            async with anyio.create_task_group() as group:
                for _ in range(3):  # more than there are workers
                    group.start_soon(run_live, pool, alloy_job(potential=HANGS))
        assert scope.cancelled_caught
        with anyio.fail_after(90):
            assert (await run_live(pool, alloy_job())).record.converged

    with DaskPool(scheduler) as pool:
        anyio.run(main, pool)


def test_live_results_of_a_laboratory_come_from_the_cluster(scheduler: str) -> None:
    class Nothing:
        provenance = Provenance(
            potential=EMT,
            weights_sha256=potential(EMT).weights_sha256(),
            settings=RelaxationMaker().settings(),
            versions={},
            dtype="",
            device="",
        )

        def relaxation(self, compound: str, prototype: str) -> Relaxation | None:
            return None

    async def measure() -> None:
        laboratory = Laboratory(ALLOYS, Nothing(), LabSettings(), shared_runner(300.0, scheduler))
        found = await laboratory.measure(CUPD, ALLOYS.prototypes, 5.0)
        assert [m.relaxation.phase for m in found] == ["B2", "B1"]
        maker = DynamicsMaker(temperature=100, steps=10, nve_steps=3, quench_steps=5)
        assert (await laboratory.simulate(CUPD, B2, maker)).record.phase == "B2"

    anyio.run(measure)
    shared_pool(300.0, scheduler).close()


def test_potential_that_no_worker_can_load_ends_the_build(scheduler: str, tmp_path: Path) -> None:
    with open_pool(scheduler) as pool, pytest.raises(PotentialError, match="math has no no_such_factory"):
        Build(ONE, NOTHING, tmp_path).run(pool)


def test_worker_with_other_versions_is_refused_by_name(
    scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = clusters.identity
    its = dict(here(""))["ase"]
    monkeypatch.setattr(clusters, "identity", lambda p: tuple((dict(here(p)) | {"ase": "1.2.3"}).items()))
    line = refusal("--scheduler", scheduler, "--output", str(tmp_path))
    assert "hepbench reference: worker " in line
    assert "tcp://" in line
    assert f"has ase {its}, and this machine has 1.2.3" in line


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("tcp://127.0.0.1:1", "cannot reach a Dask scheduler at tcp://127.0.0.1:1"),
        ("127.0.0.1:8786", "is no address of a Dask scheduler"),
        ("tcp://host:many", "is no address of a Dask scheduler"),
        ("https://host:8786", "is no address of a Dask scheduler"),
    ],
)
def test_unusable_scheduler_is_one_line_and_nothing_starts(
    address: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "CONNECT", 0.5)
    assert told in refusal("--scheduler", address, "--output", str(tmp_path))
    with pytest.raises(PrerequisiteError) as caught:
        ao2(scheduler=address)
    assert told in str(caught.value.message)


def refusal(*options: str) -> str:
    """The one line that a refused build says."""
    result = CliRunner().invoke(app, ["reference", "build", "ao2", "--potential", EMT, *options])
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2
    (line,) = result.output.strip().splitlines()
    return str(line)


def test_cluster_without_workers_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with (
        local_cluster(0) as empty,
        DaskPool(empty.scheduler_address) as pool,
    ):
        waiting = pool.submit(alloy_job())
        assert f"{empty.scheduler_address} has no workers; waiting" in caplog.text
        assert waiting.cancel()


def test_scheduler_that_goes_away_ends_the_build(tmp_path: Path) -> None:
    empty = local_cluster(0)
    with DaskPool(empty.scheduler_address) as pool:
        future = pool.submit(alloy_job())
        empty.close()
        with pytest.raises(LiveRelaxationError, match="lost the Dask scheduler") as caught:
            pool.outcome(alloy_job(), future)
        assert isinstance(caught.value.__cause__, ClusterError)
