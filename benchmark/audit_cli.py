"""`hepbench audit`: is a log what it says it is?"""

from __future__ import annotations

from typing import Annotated

import typer

from hepbench.benchmark.log_options import Logs, one_line_errors

UNREADABLE, FINDINGS = 2, 1

RecomputeCount = Annotated[
    int, typer.Option("--recompute", min=0, max=10_000, help="Make so many random measurements again.")
]
Seed = Annotated[int, typer.Option(help="Which ones.")]
Json = Annotated[bool, typer.Option("--json", help="Print the reports as JSON.")]


def audit(logs: Logs, recompute: RecomputeCount = 0, seed: Seed = 0, json: Json = False) -> None:
    """Check every run of these logs from its record: nobody has to believe it.

    Nothing that was found before is believed; what is found now, the tables need not look for again.

    The hash chain; every gate again, by the rules that were in force; states and beliefs; each operation
    against the transcript; each result against the reference set; that no held-out compound was measured; the
    scores; the journal beside the log. A journal (.jsonl) can be audited alone.

    Exit code: 0 clean; 1 findings; 2 if a log cannot be read.
    """
    from rich.console import Console

    from hepbench.benchmark.leaderboard.memory import READING, place_of
    from hepbench.benchmark.leaderboard.reading import remember_audit
    from hepbench.reports.audit import forms
    from hepbench.reports.audit.audit import Recompute, Report
    from hepbench.reports.audit.audit import audit as audited
    from hepbench.reports.audit.recompute import RecomputeError
    from hepbench.reports.gather import find_logs
    from hepbench.reports.opening import LogError

    again = Recompute(recompute, seed) if recompute else None
    reports: list[Report] = []
    unreadable = False
    with one_line_errors("audit", LogError, code=UNREADABLE):
        found = find_logs(logs)
    for where in found:
        place = place_of(where, READING)
        try:
            reports.append(audited(where, again))
        except (LogError, RecomputeError) as e:
            typer.echo(f"hepbench audit: {e}", err=True)
            unreadable = True
            continue
        if again is None:
            remember_audit(where, reports[-1].findings, place)
        if not json:
            Console().print(forms.to_terminal(reports[-1]))
    if json or reports:  # of nothing that was read there is no verdict
        typer.echo(forms.to_json(reports) if json else forms.verdict(reports))
    raise typer.Exit(UNREADABLE if unreadable else FINDINGS if any(not r.clean for r in reports) else 0)
