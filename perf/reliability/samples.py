"""Many samples at once: do their records and journals stay apart and whole?"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from inspect_ai import eval as inspect_eval

from hepbench.harness.protocol.journal import read_journal
from hepbench.reports.audit.audit import audit
from hepbench.tasks.ao2 import ao2


def measure(*, quick: bool) -> list[tuple[str, str]]:
    """Epochs of one task side by side, each with the registry's tools, and then the audit of all."""
    count = 8 if quick else 64
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INSPECT_DISPLAY"] = "none"
        begin = time.perf_counter()
        log = inspect_eval(
            ao2(),
            model="hepbench/hasty",
            epochs=count,
            max_samples=count,
            log_dir=folder,
            max_connections=count,
        )[0]
        seconds = time.perf_counter() - begin
        journals = list(Path(log.location).with_suffix(".journal").iterdir())
        events = sum(len(read_journal(path).events) for path in journals)
        begin = time.perf_counter()
        report = audit(log.location)
        audited = time.perf_counter() - begin
    made = f"{log.status} in {seconds:.0f} s; {len(journals)} journals, {events:,} events"
    found = f"audit of all: **{len(report.findings)} findings**, {audited:.1f} s"
    return [(f"{count} samples at once", f"{made}; {found}")]
