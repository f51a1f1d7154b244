"""Where a log lies, and where the journals of its samples do."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from hepbench.harness.protocol.journal import JournalError


def is_local(where: str) -> bool:
    """Whether a path or URL names something on this machine's file system."""
    return "://" not in where or where.startswith("file://")


def local_path(where: str) -> str:
    """A `file://` URL as a path; anything else as it is."""
    return url2pathname(urlsplit(where).path) if where.startswith("file://") else where


def journals_beside(log: str) -> Path:
    """The folder of a log's journals.

    Raises:
        JournalError: the log is not on this machine's file system.
    """
    if not is_local(log):
        raise JournalError(f"the journal has no place beside a remote log ({urlsplit(log).scheme}://)")
    return Path(local_path(log)).with_suffix(".journal")


def journal_stem(sample: object, epoch: int) -> str:
    """How the names of a sample's journals begin; each attempt at the sample adds its own end."""
    safe = re.sub(r"[^\w.-]+", "_", str(sample))[:80] or "sample"
    return f"{safe}_epoch_{epoch}"
