"""The registry's speed, and the `eventsourcing` library doing the same work in the same run.

The work: hypotheses are stated, tested, given evidence that moves the belief, and judged: five events
each, and for the registry a sixth, the result that the evidence rests on. The library keeps an aggregate a
hypothesis with an event for each of the five; it has no gates and no hash chain, so what it does is less.
Both encode every event as JSON.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hepbench.harness.protocol.events import Event, chain_faults
from hepbench.harness.protocol.journal import Journal
from hepbench.harness.protocol.registry import Registry, Sink
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.state import fold

EVENTS_EACH = 5
SIZES = (10, 100, 1_000, 10_000, 100_000)
Rows = list[tuple[str, str]]


def measure(*, quick: bool) -> Rows:
    """Append, fold and replay; the cost of an append as the record grows; the library beside it."""
    count = 400 if quick else 2_000
    return [*_ours(count), _flat(10_000 if quick else SIZES[-1]), *_theirs(count)]


def _ours(count: int) -> Rows:
    registry, seconds = _timed(lambda: _worked(count))
    events = registry.events
    _, folding = _timed(lambda: fold(events))
    _, chaining = _timed(lambda: chain_faults(events))
    texts = [event.model_dump_json() for event in events]
    _, replaying = _timed(lambda: fold([Event.model_validate_json(text) for text in texts]))
    with tempfile.TemporaryDirectory(dir=".") as folder:
        few = max(20, count // 20)
        _, durable = _timed(lambda: _worked(few, Journal.create(Path(folder) / "j.jsonl").append))
    return [
        ("registry: append with gates, hash and fold", _rate(count * EVENTS_EACH, seconds)),
        ("registry: the same with the journal, fsynced", _rate(few * EVENTS_EACH, durable)),
        ("registry: fold", _rate(len(events), folding)),
        ("registry: check the chain", _rate(len(events), chaining)),
        ("registry: replay from JSON", _rate(len(events), replaying)),
    ]


def _worked(count: int, sink: Sink | None = None) -> Registry:
    registry = Registry.start("run", ProtocolRules(), sink=sink)
    for n in range(count):
        _one_hypothesis(registry, n)
    return registry


def _one_hypothesis(registry: Registry, n: int) -> None:
    name = registry.propose(f"compounds of kind {n} take structure {n % 7}", 0.5, "why not").id
    registry.transition(name, "under_test", "go")
    found = registry.record_result(
        "relax", {"n": n}, {"energy": -1.0}, {"ok": True}, measurement=True, measured=[(f"C{n}", "a")]
    )
    registry.attach(name, [found], "contradicts", "seen", 0.1, "so far")
    registry.transition(name, "refuted", "clear")


def _flat(largest: int) -> tuple[str, str]:
    """Median cost of one hypothesis's operations when the record has so many events."""
    registry, found = Registry.start("run", ProtocolRules()), []
    for size in [s for s in SIZES if s <= largest]:
        while registry.state.length < size:
            _one_hypothesis(registry, registry.state.length)
        costs = sorted(_timed(lambda: _one_hypothesis(registry, registry.state.length))[1] for _ in range(21))
        found.append(f"{size:,}: {costs[10] / (EVENTS_EACH + 1) * 1e6:,.0f} µs")
    return "registry: cost of an event after so many", "; ".join(found)


def _theirs(count: int) -> Rows:
    rows: Rows = []
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for name, environment in (
            ("in memory", {}),
            (
                "SQLite file",
                {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": f"{folder}/e.db"},
            ),
        ):
            app = _library(environment)
            few = count if not environment else max(20, count // 20)
            ids, seconds = _timed(lambda app=app, few=few: [_their_hypothesis(app, n) for n in range(few)])
            _, replay = _timed(lambda app=app, ids=ids: [app.repository.get(i) for i in ids])
            rows += [
                (f"eventsourcing {name}: append", _rate(few * EVENTS_EACH, seconds)),
                (f"eventsourcing {name}: replay", _rate(few * EVENTS_EACH, replay)),
            ]
    return rows


def _library(environment: dict[str, str]) -> Any:
    os.environ.pop("PERSISTENCE_MODULE", None)
    from eventsourcing.application import Application

    return Application(env=environment)


def _their_hypothesis(app: Any, n: int) -> Any:
    hypothesis = _aggregate()(statement=f"compounds of kind {n} take structure {n % 7}", belief=0.5)
    app.save(hypothesis)
    for step, arguments in (
        ("move", ("under_test", "go")),
        ("attach", (f"R{n}", "contradicts", "seen")),
        ("believe", (0.1, "so far")),
        ("move", ("refuted", "clear")),
    ):
        getattr(hypothesis, step)(*arguments)
        app.save(hypothesis)
    return hypothesis.id


def _aggregate() -> Any:
    if not _KNOWN:
        from eventsourcing.domain import Aggregate, event

        class Hypothesis(Aggregate):  # type: ignore[misc]
            def __init__(self, statement: str, belief: float) -> None:
                self.statement, self.belief, self.state = statement, belief, "proposed"
                self.evidence: list[str] = []

            @event("Moved")  # type: ignore[misc]
            def move(self, to: str, rationale: str) -> None:  # noqa: ARG002
                self.state = to

            @event("Attached")  # type: ignore[misc]
            def attach(self, result: str, stance: str, summary: str) -> None:  # noqa: ARG002
                self.evidence.append(result)

            @event("Believed")  # type: ignore[misc]
            def believe(self, belief: float, rationale: str) -> None:  # noqa: ARG002
                self.belief = belief

        _KNOWN.append(Hypothesis)
    return _KNOWN[0]


_KNOWN: list[Any] = []


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    done = work()
    return done, time.perf_counter() - begin


def _rate(count: int, seconds: float) -> str:
    return f"{count / seconds:,.0f} events a second ({count:,} events)"
