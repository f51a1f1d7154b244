"""The cache on a real PostgreSQL server, started by the test on loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from alloys import Counted, alloy_job, run

from hepbench.harness.laboratory.cache import Cache, CacheError, cached

psycopg2 = pytest.importorskip("psycopg2", reason="pip install 'hepbench[postgres]'")


def programs() -> Path | None:
    """Where Debian or the PATH has the server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    where = programs()
    if where is None:
        if os.environ.get("CI"):
            pytest.fail("no PostgreSQL server, which .ci/run installs")
        pytest.skip("no PostgreSQL server: apt-get install postgresql")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Not under pytest's own folder: the server's user must be able to enter all that is above.
    folder = Path(tempfile.mkdtemp(prefix="hepbench-pg-"))
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    control = [*as_user, str(where / "pg_ctl"), "-D", str(folder / "data"), "-w", "-l", str(folder / "log")]
    initdb = [*as_user, str(where / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "postgres"]
    try:
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder)
        subprocess.run([*control, "-o", options, "start"], check=True, capture_output=True, cwd=folder)
        yield f"postgresql://postgres:secret@127.0.0.1:{port}/postgres"
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, capture_output=True, cwd=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def cache(server: str) -> Cache:
    cache = Cache(server)
    cache.clear()
    return cache


def test_a_second_run_takes_the_first_ones_result(cache: Cache) -> None:
    worker = Counted()
    first = run(cached(worker, cache), alloy_job())
    again = run(cached(worker, Cache(cache.place)), alloy_job())
    assert worker.count == 1
    assert again.record == first.record
    assert np.array_equal(again.atoms.positions, first.atoms.positions)
    info = cache.info()
    assert (info.relaxations, info.bytes) == (1, None)
    cache.clear()
    assert cache.info().relaxations == 0


def test_a_damaged_entry_is_noticed_and_computed_again(cache: Cache) -> None:
    worker = Counted()
    runner = cached(worker, cache)
    first = run(runner, alloy_job())
    with psycopg2.connect(cache.place) as connection, connection.cursor() as cursor:
        cursor.execute("UPDATE systems SET positions = (SELECT array_agg(x + 0.01) FROM unnest(positions) x)")
        assert cursor.rowcount == 1
    connection.close()
    assert run(runner, alloy_job()).record == first.record
    assert run(runner, alloy_job()).record == first.record
    assert worker.count == 2


WRITER = """
import sys
from alloys import alloy_job
from hepbench.harness.laboratory.cache import Cache
cache = Cache(sys.argv[1])
for pressure in range(8):
    job = alloy_job(pressure=float(pressure))
    outcome = job.do()
    cache.put(job, outcome)
    assert cache.get(job).record == outcome.record
"""


def test_many_processes_write_the_same_entries_at_once(cache: Cache) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", WRITER, cache.place]
    writers = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(3)]
    for writer in writers:
        assert writer.communicate()[1].decode().count("Traceback") == 0
        assert writer.returncode == 0
    assert cache.info().relaxations == 8


FAST_WRITER = """
import sys
from alloys import alloy_job
from hepbench.harness.laboratory.cache import Cache
outcome = alloy_job().do()
print(flush=True)
sys.stdin.readline()
for pressure in range(25):
    Cache(sys.argv[1]).put(alloy_job(pressure=100.0 * int(sys.argv[2]) + pressure), outcome)
"""


def test_many_processes_write_different_entries_at_once(cache: Cache) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", FAST_WRITER, cache.place, str(n)], env=environment, text=True, **pipes
        )
        for n in range(4)
    ]
    for writer in writers:
        assert writer.stdout
        writer.stdout.readline()  # it is ready
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("\n")
        writer.stdin.flush()
    assert [writer.communicate()[1].count("Traceback") for writer in writers] == [0] * 4
    assert cache.info().relaxations == 100


def test_two_who_write_one_key_at_the_same_moment(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both looked and found nothing; the second write meets the first one's entry and leaves it."""
    job = alloy_job()
    outcome = job.do()
    cache.put(job, outcome)
    monkeypatch.setattr("hepbench.harness.laboratory.cache.row_number", lambda _database, _key: None)
    cache.put(job, outcome)
    monkeypatch.undo()
    assert cache.info().relaxations == 1


def test_a_refused_login_is_one_line_without_the_password(server: str) -> None:
    with pytest.raises(CacheError) as told:
        Cache(server.rpartition("/")[0] + "/nosuch").info()
    assert "secret" not in str(told.value)
    assert "\n" not in str(told.value)
    assert "nosuch" in str(told.value)
