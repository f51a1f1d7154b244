"""`hepbench journal`: a run's durable journal, read and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hepbench.benchmark.log_options import one_line_errors

UNREADABLE, DIFFERS = 2, 1

app = typer.Typer(no_args_is_help=True, help="Read a run's durable journal, or compare it with the log.")

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A journal (.jsonl), or a log's folder of them if it holds one alone."
    ),
]
Log = Annotated[str, typer.Argument(metavar="LOG", help="The eval log.")]
Json = Annotated[bool, typer.Option("--json", help="Print the events as JSON lines.")]


@app.command()
def show(file: File, json: Json = False) -> None:
    """Show the events of a journal; a torn last line, of a process that was killed, is named.

    Exit code: 0; 1 if a line within is damaged or the chain is broken; 2 if it cannot be read.
    """
    from rich.console import Console

    from hepbench.harness.protocol.events import chain_faults
    from hepbench.harness.protocol.journal import JournalError, read_journal
    from hepbench.reports.journal_table import events_table

    with one_line_errors("journal", JournalError, code=UNREADABLE):
        read = read_journal(_one(file))
    if json:
        for event in read.events:
            typer.echo(event.model_dump_json())
    else:
        Console().print(events_table(read.events))
    faults = [f"line {line} is no event" for line in read.damaged] + chain_faults(read.events)
    for fault in faults[:10]:
        typer.echo(f"hepbench journal: {fault}", err=True)
    ended = "closed" if read.events[-1].type == "RunEnded" else "not closed: the run was cut short"
    torn = f"; {read.torn} bytes of a torn last line, which was never answered" if read.torn else ""
    typer.echo(f"{len(read.events)} events, {ended}{torn}", err=json)
    raise typer.Exit(DIFFERS if faults else 0)


@app.command()
def diff(file: File, log: Log) -> None:
    """Compare a journal with the record in the log.

    Exit code: 0 the same; 1 they differ, or the log does not have the run; 2 if one cannot be read.
    """
    from hepbench.harness.protocol.journal import JournalError, read_journal
    from hepbench.harness.text import clean
    from hepbench.reports.audit.journals import differences
    from hepbench.reports.audit.subject import subject_of
    from hepbench.reports.opening import LogError, one_line, open_log

    with one_line_errors("journal", JournalError, LogError, code=UNREADABLE):
        read = read_journal(_one(file))
        with one_line(log), open_log(log) as opened:
            subjects = [subject_of(opened.header, logged) for logged in opened.samples()]
    run = read.events[0].run_id
    mine = [s for s in subjects if s.events and s.events[0].run_id == run]
    if not mine:
        typer.echo(f"the log has no run {run!r}; the journal alone holds its {len(read.events)} events")
        raise typer.Exit(DIFFERS)
    found = min((list(differences(s.events, read)) for s in mine), key=len)
    for finding in found[:50]:
        typer.echo(clean(str(finding)))
    count = f"{len(found)} differences" if found else "the same"
    typer.echo(f"{count}: {len(read.events)} events in the journal, {len(mine[0].events)} in the log")
    raise typer.Exit(DIFFERS if found else 0)


def _one(file: Path) -> Path:
    """The journal that is meant."""
    from hepbench.harness.protocol.journal import JournalError

    if file.suffix in (".eval", ".json"):
        raise JournalError(f"{file} is an eval log: `hepbench hypotheses` and `hepbench audit` read those")
    if not file.is_dir():
        return file
    found = sorted(file.glob("*.jsonl"))
    if len(found) != 1:
        names = f": {', '.join(path.name for path in found[:5])}" if found else ""
        raise JournalError(f"{file} holds {len(found)} journals{names}; name one")
    return found[0]
