"""The audit as the tables ask it: what is wrong with a log, one line for each finding."""

from __future__ import annotations

from collections.abc import Sequence

from hepbench.benchmark.leaderboard.memory import remembered
from hepbench.reports.audit.audit import audit


def audit_check(where: str) -> Sequence[str]:
    """The findings of the audit of one log; none for a clean one.

    Raises:
        LogError: it cannot be read.
    """
    found: list[str] = remembered(where, "audit", lambda: [str(finding) for finding in audit(where).findings])
    return found
