"""What was once read out of a log is remembered by the log's content: a table over many logs is quick.

An audit, and the parsing of a long transcript, depend on nothing but the log, the journals beside it, and
this installation. Their outcome is kept under the hash of all three in the user's cache folder.
`HEPBENCH_CACHE` names another folder; `HEPBENCH_CACHE=off` forgets and remembers nothing. What was not asked
for longest leaves when there is too much of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import hepbench
from hepbench.harness.protocol.journal import JournalError
from hepbench.harness.protocol.places import is_local, journals_beside, local_path

VARIABLE = "HEPBENCH_CACHE"
READING = "reading"
"""What tables need of a log, among the kinds of things that are remembered."""
MOST_ENTRIES = 20_000
MOST_BYTES = 200_000_000
_CHUNK = 1 << 20
_BETWEEN = 256  # entries that a process adds before it looks again for too many: 20,000 take a while to list
_added = 0
_NAME = re.compile(r"[0-9a-f]{64}\.")


@dataclass(frozen=True)
class MemoryInfo:
    """What is remembered: where, of how many logs' parts, in how many bytes."""

    place: Path
    entries: int
    bytes: int


def info(cache: str | None = None) -> MemoryInfo | None:
    """What is remembered; None where nothing is.

    Args:
        cache: As `HEPBENCH_CACHE`; its value if None.
    """
    folder = _folder(cache)
    if folder is None:
        return None
    files = _files(folder)
    return MemoryInfo(folder, len(files), sum(size for _, size, _ in files))


def clear(cache: str | None = None) -> None:
    """Forget everything.

    Args:
        cache: As `HEPBENCH_CACHE`; its value if None.

    Raises:
        OSError: a file cannot be deleted.
    """
    folder = _folder(cache)
    for _, _, path in [] if folder is None else _files(folder):
        path.unlink(missing_ok=True)


def recalled(where: str, kind: str) -> Any:
    """What is remembered of a log; None if nothing is.

    Args:
        where: The log.
        kind: Name of what was made from it.
    """
    place = place_of(where, kind)
    if place is not None and place.is_file():
        with suppress(OSError, ValueError):
            value = json.loads(place.read_bytes())
            os.utime(place)  # it was asked for
            return value
    return None


def remember(where: str, kind: str, value: Any, place: Path | None) -> None:
    """Keep a JSON value that follows from a log; without a cache, or on a full disk, nothing is kept.

    Args:
        where: The log.
        kind: Name of what was made from it.
        value: What was made.
        place: `place_of` before the log was read. A log that was changed since is not remembered.
    """
    if place is not None and place_of(where, kind) == place:
        with suppress(OSError):
            _keep(place, value)


def _keep(place: Path, value: Any) -> None:
    """Write beside and rename, so that no other process reads half a value."""
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = place.with_suffix(f".{os.getpid()}")
    try:
        unfinished.write_text(json.dumps(value), encoding="utf-8")
        unfinished.replace(place)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    global _added  # noqa: PLW0603 - a count of this process
    if _added % _BETWEEN == 0:
        _forget_the_oldest(place.parent)
    _added += 1


def _forget_the_oldest(folder: Path) -> None:
    """Down to nine tenths of the bounds where one is passed, so that it is not passed again at once."""
    files = sorted(_files(folder), reverse=True)
    if len(files) <= MOST_ENTRIES and sum(size for _, size, _ in files) <= MOST_BYTES:
        return
    kept = 0
    for number, (_, size, path) in enumerate(files, start=1):
        kept += size
        if number > 0.9 * MOST_ENTRIES or kept > 0.9 * MOST_BYTES:
            path.unlink(missing_ok=True)


def _files(folder: Path) -> list[tuple[float, int, Path]]:
    """Time of last use, size and path of all that is remembered; other people's files are not looked at."""
    found = []
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.match(entry.name):
                with suppress(FileNotFoundError):  # another process was quicker
                    stat = entry.stat(follow_symlinks=False)
                    found.append((stat.st_mtime, stat.st_size, Path(entry.path)))
    return found


def place_of(where: str, kind: str) -> Path | None:
    """The file for this very content of a log; None without a cache, or where the log is no local file."""
    folder, path = _folder(), Path(local_path(where))
    if folder is None or not is_local(where) or not path.is_file():
        return None
    try:
        files = [path, *_journals(where)]
        digest = _digest(tuple((str(f), f.stat().st_mtime_ns, f.stat().st_size) for f in files))
    except OSError:  # who has to read it will say why it cannot be read
        return None
    return folder / f"{digest}.{kind}"


@lru_cache(maxsize=4_096)
def _digest(files: tuple[tuple[str, int, int], ...]) -> str:
    """Hash over the installation and these files' content; of the log's name only the ending counts."""
    found = hashlib.sha256(f"{_installation()} {Path(files[0][0]).suffix}".encode())
    for number, (name, _, _) in enumerate(files):
        found.update(f"\n{Path(name).name if number else ''}\n".encode())
        with Path(name).open("rb") as source:
            while chunk := source.read(_CHUNK):
                found.update(chunk)
    return found.hexdigest()


def _folder(cache: str | None = None) -> Path | None:
    asked = os.environ.get(VARIABLE, "") if cache is None else cache
    if asked == "off":
        return None
    if asked and "://" not in asked and not asked.endswith(".db"):
        return Path(asked).expanduser() / "logs"
    from platformdirs import user_cache_path

    return user_cache_path("hepbench") / "logs"


def _journals(where: str) -> Iterator[Path]:
    with suppress(JournalError):
        folder = journals_beside(where)
        yield from sorted(folder.glob("*.jsonl")) if folder.is_dir() else ()


@lru_cache(maxsize=1)
def _installation() -> str:
    """A hash that changes with any file of this installation: its code, families and reference sets."""
    root = Path(hepbench.__file__).parent
    stats = [
        f"{path.relative_to(root)} {path.stat().st_size} {path.stat().st_mtime_ns}"
        for folder in ("benchmark", "reports", "tasks", "scorers", "harness")
        for path in sorted((root / folder).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    ]
    return hashlib.sha256("\n".join([hepbench.__version__, *stats]).encode()).hexdigest()
