"""The audit as the tables ask it: what is wrong with a log, one line for each finding.

An audit takes longer than all the rest of a table, and its outcome depends on nothing but the log, the
journals beside it, and this installation. So the outcome is remembered under the hash of all three, in the
user's cache folder; `HEPBENCH_CACHE=off` forgets and remembers nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import hepbench
from hepbench.harness.protocol.durable import journals_beside
from hepbench.harness.protocol.journal import JournalError
from hepbench.reports.audit.audit import audit
from hepbench.reports.opening import local_path

VARIABLE = "HEPBENCH_CACHE"
_CHUNK = 1 << 20


def audit_check(where: str) -> Sequence[str]:
    """The findings of the audit of one log; none for a clean one.

    Raises:
        LogError: it cannot be read.
    """
    memory = _memory(where)
    if memory is not None and memory.is_file():
        with suppress(OSError, ValueError):
            return [str(line) for line in json.loads(memory.read_text(encoding="utf-8"))]
    findings = [str(finding) for finding in audit(where).findings]
    if memory is not None:
        with suppress(OSError):  # a full or read-only disk costs time, not the answer
            _remember(memory, findings)
    return findings


def _remember(memory: Path, findings: Sequence[str]) -> None:
    """Write beside and rename, so that no other process reads half a list."""
    memory.parent.mkdir(parents=True, exist_ok=True)
    unfinished = memory.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(findings), encoding="utf-8")
    unfinished.replace(memory)


def _memory(where: str) -> Path | None:
    """Where the outcome for this very log is kept; None without a cache, or for a log that is no local file."""
    folder, path = _folder(), Path(local_path(where))
    if folder is None or ("://" in where and not where.startswith("file://")) or not path.is_file():
        return None
    digest = hashlib.sha256(f"{path.suffix} {_installation()}".encode())
    for file in (path, *_journals(where)):
        digest.update(f"\n{file.name}\n".encode() if file != path else b"\n")
        with file.open("rb") as source:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
    return folder / digest.hexdigest()


def _folder() -> Path | None:
    asked = os.environ.get(VARIABLE, "")
    if asked == "off":
        return None
    if asked and Path(asked).is_dir():
        return Path(asked) / "audits"
    from platformdirs import user_cache_path

    return user_cache_path("hepbench") / "audits"


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
