"""A shared, content-addressed cache of live results: relaxations and simulations.

An entry's key is the SHA-256 of everything that the result depends on: the start structure, the weights of
the potential, the settings, the versions of the packages. So an entry never has to be invalidated, and a
cache can be shared by users, tasks and machines. It is an `ase.db` database, with the structure as a row that
`ase db` and `ase gui` open: SQLite by default, PostgreSQL by URL (`pip install 'hepbench[postgres]'`).

Many processes may use one cache: each reads and writes in single transactions, and two that write one key
write the same result. An entry whose checksum does not fit is deleted and computed again. A cache that cannot
be used (read-only, full, not a database) is left alone after one warning: the run goes on without it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from logging import getLogger
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import anyio

from hepbench.harness.laboratory.cache_entries import (
    DAMAGE,
    Keying,
    again,
    key_of,
    outcome_of,
    row_number,
    write,
)
from hepbench.harness.laboratory.live import RunJob
from hepbench.harness.laboratory.simulations import DynamicsJob, DynamicsOutcome
from hepbench.harness.laboratory.workers import Job, Outcome, T, Work
from hepbench.harness.text import without_login

logger = getLogger(__name__)

AUTO = "auto"
OFF = "off"
VARIABLE = "HEPBENCH_CACHE"
"""Environment variable: a folder, a file that ends in .db, a URL, or "off"."""

_TURN = 7_430_117  # the number of the lock, any
_REMEMBERED = 500
"""Entries that a process keeps at hand; some kB each."""


class CacheError(RuntimeError):
    """A cache that cannot be used; one line that names it."""


@dataclass(frozen=True)
class CacheInfo:
    """What stands in a cache. `place` is without a password; `bytes` is None for a server's."""

    place: str
    relaxations: int
    simulations: int
    bytes: int | None


def place_of(asked: str = AUTO) -> str | None:
    """Where the cache is.

    Args:
        asked: "auto" for `$HEPBENCH_CACHE`, or else the user's cache folder; "off"; a folder, a file that
            ends in .db, or the URL of a PostgreSQL database.

    Returns:
        A file or a URL; None for no cache.

    Raises:
        CacheError: it is a URL, and not of a PostgreSQL database.
    """
    named = os.environ.get(VARIABLE, "") if asked == AUTO else asked
    if named == OFF:
        return None
    if not named:
        from platformdirs import user_cache_path

        return str(user_cache_path("hepbench") / "live.db")
    if "://" in named:
        _require_postgres(named)
        return named
    if named.endswith(".db"):
        return named
    return str(Path(named).expanduser() / "live.db")


def has_password(place: str) -> bool:
    """Whether the URL of a database holds one."""
    found = urlsplit(place)
    return found.password is not None or "password" in parse_qs(found.query)


def _require_postgres(url: str) -> None:
    try:
        right = urlsplit(url).scheme in ("postgresql", "postgres") and urlsplit(url).port != 0
    except ValueError:  # a port or an address that is none
        right = False
    if not right:
        raise CacheError(
            f"cache {without_login(url)}: give a folder, a file that ends in .db, or postgresql://host/database"
        )


class Cache:
    """Live results in a database.

    Args:
        place: A file that ends in .db, or a URL.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._view: Any = None
        self._recent: dict[str, Outcome | DynamicsOutcome] = {}

    def get(self, work: Job | DynamicsJob, key: str = "") -> Outcome | DynamicsOutcome | None:
        """The result of a job, or None when there is none that is sound.

        Args:
            work: The job.
            key: Its key, where that is known already.

        Raises:
            CacheError: the cache cannot be used.
        """
        key = key or key_of(work)
        if key in self._recent:  # an entry never changes, so what was read once is good
            return again(work, self._recent[key])
        with self._database() as database:
            number = row_number(database, key)
            if number is None:
                return None
            try:
                found = outcome_of(work, database.get(number))
                while len(self._recent) >= _REMEMBERED:
                    self._recent.pop(next(iter(self._recent)), None)
                self._recent[key] = found
                return again(work, found)
            except DAMAGE as e:
                logger.warning("cache %s: entry %s is damaged (%s)", self.shown, key[:16], type(e).__name__)
                database.delete([number])
                return None

    def put(self, work: Job | DynamicsJob, outcome: Outcome | DynamicsOutcome, key: str = "") -> None:
        """Keep a result. Where another process was quicker, its result stays.

        Args:
            work: The job.
            outcome: Its result.
            key: Its key, where that is known already.

        Raises:
            CacheError: the cache cannot be used.
        """
        key = key or key_of(work)
        with self._database() as database, self._turn(database):
            if row_number(database, key) is None:
                write(database, key, work, outcome)

    def info(self) -> CacheInfo:
        """What stands in it; nothing, when it does not exist yet.

        Raises:
            CacheError: the cache cannot be used.
        """
        path = self._path()
        if path is not None and not path.is_file():
            return CacheInfo(self.shown, 0, 0, 0)
        with self._database() as database:
            counts = [int(database.count(kind=kind)) for kind in ("relaxation", "simulation")]
        return CacheInfo(self.shown, counts[0], counts[1], path.stat().st_size if path else None)

    def clear(self) -> None:
        """Take every entry away; a file is deleted, damaged or not.

        Raises:
            CacheError: the cache cannot be used.
        """
        self._recent.clear()
        path = self._path()
        if path is None:
            with self._database() as database:
                database.delete([row.id for row in database.select(include_data=False)])
            return
        try:
            for file in (path, Path(f"{path}-journal")):
                file.unlink(missing_ok=True)
        except OSError as e:
            raise CacheError(f"cache {self.place}: {e.strerror or e}") from e

    def _path(self) -> Path | None:
        return None if "://" in self.place else Path(self.place)

    @contextmanager
    def _turn(self, database: Any) -> Iterator[None]:
        """One writer at a time on a server: ASE takes the last id that anybody was given for its own."""
        if self._path() is not None:
            yield  # SQLite itself has one writer
            return
        with database.managed_connection() as connection:
            connection.cursor().execute(f"SELECT pg_advisory_xact_lock({_TURN})")
            yield

    @contextmanager
    def _database(self) -> Iterator[Any]:
        try:
            yield self._connected()
        except sqlite3.IntegrityError:
            return  # another process wrote the same key in between
        except ImportError as e:
            raise CacheError(f"cache {self.shown}: {e}: pip install 'hepbench[postgres]'") from e
        except (OSError, sqlite3.Error) as e:
            raise CacheError(f"cache {self.shown}: {str(e).strip() or type(e).__name__}") from e
        except _server_errors() as e:
            if type(e).__name__ == "UniqueViolation":
                return  # as above, on a server
            raise CacheError(f"cache {self.shown}: {str(e).strip().splitlines()[0]}") from e

    def _connected(self) -> Any:
        """ASE's view of the database, which opens a connection for each call, and so serves many threads."""
        from ase.db import connect

        path = self._path()
        if self._view is None or (path is not None and not path.exists()):  # cleared in between
            if path is not None and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                _create(path)
            # Without ASE's lock file, which a killed process leaves behind: the database locks by itself.
            self._view = connect(self.place, use_lock_file=False)
        return self._view

    @property
    def shown(self) -> str:
        """The place without a password."""
        return without_login(self.place)


def _create(path: Path) -> None:
    """An empty database, there all at once: of processes that make its tables in place, all but one fail."""
    from ase.db import connect

    with TemporaryDirectory(dir=path.parent, prefix=".new-") as scratch:
        made = Path(scratch) / "live.db"
        with connect(str(made), use_lock_file=False) as database:
            database.count()
        try:
            os.link(made, path)
        except FileExistsError:
            return  # another process was quicker
        except OSError:  # a file system without links
            if not path.exists():
                made.replace(path)


def open_cache(asked: str = AUTO) -> Cache | None:
    """The cache that `place_of` names."""
    place = place_of(asked)
    return None if place is None else Cache(place)


def cached(run: RunJob, cache: Cache | None) -> RunJob:
    """A runner that looks into the cache first, and keeps there what it had to run.

    Jobs without a result (too slow, a dead worker) are not kept.
    """
    if cache is None:
        return run
    usable = _Usable(cache)

    async def run_cached(job: Work[T]) -> T:
        if not isinstance(job, Job | DynamicsJob):
            return await run(job)
        key = await run(Keying(job))
        found = await anyio.to_thread.run_sync(usable.attempt, cache.get, job, key)
        if found is not None:
            return cast("T", found)
        outcome = await run(job)
        await anyio.to_thread.run_sync(usable.attempt, cache.put, job, outcome, key)
        return cast("T", outcome)

    return run_cached


class _Usable:
    """Calls a cache until it fails for the first time."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._gone = False

    def attempt(self, call: Callable[..., Any], *arguments: Any) -> Any:
        if self._gone:
            return None
        try:
            return call(*arguments)
        except CacheError as e:
            self._gone = True
            logger.warning("%s; the run goes on without it", e)
            return None


def _server_errors() -> tuple[type[Exception], ...]:
    """What PostgreSQL's driver raises, where it is installed."""
    try:
        import psycopg2
    except ImportError:
        return ()
    return (psycopg2.Error,)
