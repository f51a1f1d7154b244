"""The cache of live results: what it keeps, what it notices, and many processes at once."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alloys import CUPD, EMT, Counted, alloy_job, run
from ase.build import bulk
from inspect_ai._util.error import PrerequisiteError
from typer.testing import CliRunner

from hepbench.benchmark.cli import app
from hepbench.harness.laboratory.cache import Cache, CacheError, _create, cached, place_of
from hepbench.harness.laboratory.cache_entries import key_of
from hepbench.harness.laboratory.dynamics import DynamicsMaker
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.harness.laboratory.simulations import DynamicsJob
from hepbench.harness.laboratory.workers import LiveRelaxationError, Outcome
from hepbench.tasks.parameters import parameters


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(str(tmp_path / "deep" / "live.db"))


def test_a_second_run_takes_the_first_ones_result(cache: Cache) -> None:
    worker = Counted()
    first = run(cached(worker, cache), alloy_job())
    again = run(cached(worker, Cache(cache.place)), alloy_job())
    assert worker.count == 1
    assert again.record == first.record
    assert np.array_equal(again.atoms.positions, first.atoms.positions)
    assert np.array_equal(again.atoms.cell[:], first.atoms.cell[:])
    assert again.atoms.info == {}
    assert again.atoms.calc is None


def test_simulations_and_failures_are_kept(cache: Cache) -> None:
    worker = Counted()
    runner = cached(worker, cache)
    maker = DynamicsMaker(temperature=300, steps=10, nve_steps=3, quench_steps=1)
    simulation = DynamicsJob(EMT, maker, bulk("Cu", cubic=True), "Cu")
    assert run(runner, simulation).record == run(runner, simulation).record
    lost = alloy_job(maker=RelaxationMaker(volume_bounds=(100.0, 150.0)))
    assert run(runner, lost).record.status == "failed"
    assert run(runner, lost) == run(runner, lost)
    assert worker.count == 2
    info = cache.info()
    assert (info.relaxations, info.simulations) == (1, 1)


def test_the_key_holds_all_that_matters() -> None:
    named = replace(alloy_job(), compound=CUPD.model_copy(update={"formula": "PdCu"}))
    assert key_of(named) == key_of(alloy_job())
    others = [
        alloy_job(pressure=1.0),
        alloy_job(maker=RelaxationMaker(fmax=0.02)),
        alloy_job(potential="ase:ase.calculators.lj:LennardJones"),
        replace(alloy_job(), compound=CUPD.model_copy(update={"elements": {"M": "Cu", "X": "Au"}})),
    ]
    assert len({key_of(job) for job in [alloy_job(), *others]}) == 5


def test_jobs_without_a_result_are_not_kept(cache: Cache) -> None:
    async def slow(work: Any) -> Any:
        raise LiveRelaxationError("stopped")

    with pytest.raises(LiveRelaxationError):
        run(cached(slow, cache), alloy_job())
    assert cache.info().relaxations == 0


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE systems SET positions = zeroblob(length(positions))",
        "UPDATE systems SET data = zeroblob(40)",
        "UPDATE systems SET data = NULL",
        "UPDATE systems SET numbers = zeroblob(3)",
    ],
)
def test_a_damaged_entry_is_noticed_and_computed_again(cache: Cache, damage: str) -> None:
    worker = Counted()
    runner = cached(worker, cache)
    first = run(runner, alloy_job())
    with sqlite3.connect(cache.place) as database:
        assert database.execute(damage).rowcount == 1
    assert run(runner, alloy_job()).record == first.record
    assert worker.count == 2
    assert run(runner, alloy_job()).record == first.record
    assert worker.count == 2


@pytest.mark.parametrize("content", [b"not a database" * 1000, b""])
def test_a_file_that_is_no_database(cache: Cache, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    path = Path(cache.place)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    worker = Counted()
    runner = cached(worker, cache)
    for _ in range(2):
        assert run(runner, alloy_job()).record.converged
    assert worker.count == (2 if content else 1)
    assert sum("goes on without it" in r.getMessage() for r in caplog.records) == bool(content)
    cache.clear()
    assert cache.info().bytes == 0


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    blocked = Cache(str(tmp_path / "file" / "live.db"))
    assert run(cached(Counted(), blocked), alloy_job()).record.converged
    with pytest.raises(CacheError, match=r"live\.db"):
        blocked.put(alloy_job(), alloy_job().do())


def test_a_server_that_is_not_there_is_one_line_without_the_password() -> None:
    with pytest.raises(CacheError) as caught:
        Cache("postgresql://me:secret@127.0.0.1:9/hep").info()
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


WRITER = """
import sys
from alloys import alloy_job
from hepbench.harness.laboratory.cache import Cache
cache, number = Cache(sys.argv[1]), int(sys.argv[2])
outcome = alloy_job().do()
for pressure in range(12):
    cache.put(alloy_job(pressure=float(pressure)), outcome)
    cache.put(alloy_job(pressure=100.0 * (number + 1) + pressure), outcome)
    assert cache.get(alloy_job(pressure=float(pressure))) is not None
"""


def test_many_processes_write_at_once(cache: Cache) -> None:
    support = str(Path(__file__).parents[1] / "support")
    program = f"import sys; sys.path.insert(0, {support!r})\n{WRITER}"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", program, cache.place, str(n)], stderr=subprocess.PIPE, text=True
        )
        for n in range(4)
    ]
    assert [writer.communicate()[1] for writer in writers] == [""] * 4
    assert cache.info().relaxations == 12 + 4 * 12
    with sqlite3.connect(cache.place) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HEPBENCH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert place_of() == str(tmp_path / "hepbench" / "live.db")
    monkeypatch.setenv("HEPBENCH_CACHE", "off")
    assert place_of() is None
    assert place_of("/some/folder") == "/some/folder/live.db"
    assert place_of("a.db") == "a.db"
    assert place_of("postgresql://host/db") == "postgresql://host/db"


def test_a_place_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = ["ftp://x/y", "mysql://me:secret@x/y", "postgresql://me:secret/@h:x/y", "postgresql://[::1"]
    for place in wrong:
        for command in ("info", "clear"):
            done = CliRunner().invoke(app, ["cache", command, "--cache", place])
            assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
            assert "give a folder, a file that ends in .db, or postgresql://" in done.stderr
            assert "secret" not in done.output
        with pytest.raises(PrerequisiteError, match="-T cache=") as told:
            parameters("ao2", {"cache": place})
        assert "secret" not in str(told.value.message)
    monkeypatch.setenv("HEPBENCH_CACHE", "ftp://x/y")
    with pytest.raises(PrerequisiteError, match="ftp://x/y: give a folder"):
        parameters("ao2", {})


def test_a_password_is_neither_shown_nor_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "postgresql://me:secret@127.0.0.1:9/hep"
    asked = CliRunner().invoke(app, ["cache", "clear", "--cache", place], input="n\n")
    assert "Clear postgresql://127.0.0.1:9/hep?" in asked.output
    assert "secret" not in asked.output
    for url in (place, "postgresql://h/hep?user=me&password=secret"):
        with pytest.raises(
            PrerequisiteError, match=r": logs keep it, so it may hold no password: use PGPASSWORD"
        ) as told:
            parameters("ao2", {"cache": url})
        assert "secret" not in str(told.value.message)
    assert parameters("ao2", {"cache": "postgresql://me@h/hep"}).cache == "postgresql://me@h/hep"
    monkeypatch.setenv("HEPBENCH_CACHE", place)  # stands in no log
    assert parameters("ao2", {}).cache == "auto"


def test_the_command(cache: Cache, tmp_path: Path) -> None:
    def command(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["cache", *arguments, "--cache", cache.place])

    assert "0 relaxations, 0 simulations, 0.0 MB" in command("info").output
    outcome = alloy_job().do()
    assert isinstance(outcome, Outcome)
    cache.put(alloy_job(), outcome)
    assert "1 relaxations" in command("info").output
    assert command("clear").exit_code == 1  # not confirmed
    assert "cleared" in command("clear", "--yes").output
    assert "0 relaxations" in command("info").output
    Path(cache.place).write_bytes(b"rubbish" * 500)
    failed = command("info")
    assert failed.exit_code == 2
    assert len(failed.output.splitlines()) == 1


def test_what_was_read_once_is_given_again_as_a_copy(cache: Cache) -> None:
    job = alloy_job()
    cache.put(job, job.do())
    reader = Cache(cache.place)
    first = reader.get(job)
    assert isinstance(first, Outcome)
    assert first.atoms is not None
    kept = first.atoms.positions.copy()
    first.atoms.positions += 1.0
    Path(cache.place).unlink()
    again = reader.get(job)
    assert isinstance(again, Outcome)
    assert again.atoms is not None
    assert np.array_equal(again.atoms.positions, kept)
    assert again.record == first.record
    reader.clear()
    assert reader.get(job) is None


def test_a_database_that_another_process_made_first_is_left_alone(cache: Cache) -> None:
    job = alloy_job()
    cache.put(job, job.do())
    _create(Path(cache.place))
    assert Cache(cache.place).info().relaxations == 1
    assert [path.name for path in Path(cache.place).parent.iterdir()] == ["live.db"]
