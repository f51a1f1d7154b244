"""Events as a table: one line each, in the words of the protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from hepbench.harness.protocol.events import Event
from hepbench.harness.text import clean, shorten

_MAX_WORDS = 160


def events_table(events: Sequence[Event]) -> Table:
    """Number, time, actor, type and what the event says."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name, justify in (("seq", "right"), ("time (UTC)", "left"), ("actor", "left"), ("event", "left")):
        table.add_column(name, justify="right" if justify == "right" else "left", no_wrap=True)
    table.add_column("says")
    for event in events:
        clock = event.time[11:23]
        cells = (str(event.seq), clock, event.actor, event.type, words(event))
        table.add_row(*(Text(_line(cell)) for cell in cells))
    return table


def words(event: Event) -> str:
    """An event's payload in one line."""
    p: Mapping[str, Any] = event.payload
    lines = {
        "RunStarted": lambda: f"{event.run_id}",
        "LabResultRecorded": lambda: f"{p['result']} by {p['tool']} {_arguments(p['arguments'])}",
        "HypothesisProposed": lambda: (
            f"{p['hypothesis']} {' '.join([p['mechanism'], *p['parents']])}, P = {p['belief']:g}: "
            f"{p['statement']}"
        ),
        "EvidenceAttached": lambda: (
            f"{p['evidence']} {p['stance']} {p['hypothesis']} by {', '.join(p['results'])}"
            f"{'' if p['trusted'] else ' (not trusted)'}: {p['summary']}"
        ),
        "EvidenceAudited": lambda: f"{p['evidence']} {p['verdict']} by {p['auditor']}: {p['reason']}",
        "BeliefUpdated": lambda: f"P({p['hypothesis']}) {p['before']:g} → {p['after']:g} by {p['evidence']}",
        "StateChanged": lambda: f"{p['hypothesis']} {p['before']} → {p['after']}: {p['rationale']}",
        "RuleWarned": lambda: f"{p['warning']}: {p['detail']}",
        "OperationRefused": lambda: f"{p['operation']}, gate {p['gate']}: {p['reason']}",
        "PredictionsSubmitted": lambda: f"{len(p['predictions'])} predictions: {p['rule']}",
        "RunEnded": lambda: str(p["reason"]),
    }
    try:
        return lines[event.type]()
    except (KeyError, TypeError, ValueError):
        return str(p)


def _arguments(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{k}={v}" for k, v in arguments.items())


def _line(text: str) -> str:
    return shorten(" ".join(clean(text).split()), _MAX_WORDS)
