"""Logs read as the tables read them, but for the audit: made logs have no transcript to be audited."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hepbench.benchmark.leaderboard.reading import Reading, Readings
from hepbench.reports.gather import detailed_runs
from hepbench.reports.opening import LogError


def saying(findings: Callable[[str], Sequence[str]]) -> Readings:
    """Readings with these findings of each log."""

    def read(wheres: Sequence[str], workers: int | None = None) -> Iterator[Reading]:
        for where in wheres:
            try:
                runs = tuple(run.record for run in detailed_runs(where))
            except LogError as e:
                yield Reading(where, unreadable=str(e))
            else:
                yield Reading(where, runs, tuple(findings(where)))

    return read


unaudited = saying(lambda where: ())
