"""The registry: commands in, events out, refusals recorded.

    >>> registry = Registry.start("my-run", ProtocolRules())
    >>> registry.propose("large cations prefer fluorite", 0.5, "eightfold coordination needs room").id
    'H1'

It needs no Inspect. A caller that wants durability passes a `sink`, which is called with the new events
before the state changes and before any answer goes out; when it raises, nothing was accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue

from hepbench.harness.protocol import commands
from hepbench.harness.protocol import events as ev
from hepbench.harness.protocol.commands import Audit
from hepbench.harness.protocol.gates import Refusal
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.state import Evidence, Hypothesis, RunState, fold
from hepbench.harness.text import bounded, clean, shorten

Clock = Callable[[], datetime]
Sink = Callable[[Sequence[ev.Event]], None]


def utc_now() -> datetime:
    """The clock of a real run."""
    return datetime.now(UTC)


class Registry:
    """An append-only registry of hypotheses.

    Args:
        events: The run so far; the list is shared, not copied, and new events are appended to it.
        run_id: Stands in every event.
        clock: Where the events' times come from.
        sink: Called with the events of an operation before they are accepted.

    Raises:
        ValueError: the events are not a sound chain.
    """

    def __init__(
        self,
        events: list[ev.Event],
        run_id: str,
        *,
        clock: Clock = utc_now,
        sink: Sink | None = None,
    ) -> None:
        faults = ev.chain_faults(events)
        if faults:
            raise ValueError(f"not a sound chain of events: {faults[0]}")
        self.events = events
        self.state: RunState = fold(events)
        self._run_id = run_id
        self._clock = clock
        self._sink = sink

    @classmethod
    def start(
        cls,
        run_id: str,
        rules: ProtocolRules,
        about: Mapping[str, JsonValue] | None = None,
        *,
        events: list[ev.Event] | None = None,
        clock: Clock = utc_now,
        sink: Sink | None = None,
    ) -> Registry:
        """A new run under these rules."""
        registry = cls([] if events is None else events, run_id, clock=clock, sink=sink)
        registry._append([ev.RunStarted(rules=rules, about=dict(about or {}))])
        return registry

    def propose(
        self,
        statement: str,
        prior: float,
        rationale: str,
        inspired_by: Sequence[str] = (),
        scope: Sequence[str] = (),
    ) -> Hypothesis:
        """State a hypothesis, de novo or inspired by others.

        `scope` names what it is about, for example compounds; empty for all that the task is about.

        Raises:
            Refusal: a gate was broken; the refusal is on record and nothing else changed.
        """
        arguments = {
            "statement": statement,
            "prior": prior,
            "rationale": rationale,
            "inspired_by": inspired_by,
            "scope": scope,
        }
        return self._proposed("propose_hypothesis", commands.propose, arguments)

    def refine(
        self, parent: str, statement: str, prior: float, rationale: str, scope: Sequence[str] = ()
    ) -> Hypothesis:
        """State a sharper or corrected child of one parent that has evidence.

        Raises:
            Refusal: as for `propose`.
        """
        arguments = {
            "parent": parent,
            "statement": statement,
            "prior": prior,
            "rationale": rationale,
            "scope": scope,
        }
        return self._proposed("refine_hypothesis", commands.refine, arguments)

    def merge(
        self,
        parents: Sequence[str],
        statement: str,
        prior: float,
        rationale: str,
        scope: Sequence[str] = (),
    ) -> Hypothesis:
        """State one joint child of two or more parents that have evidence.

        Raises:
            Refusal: as for `propose`.
        """
        arguments = {
            "parents": parents,
            "statement": statement,
            "prior": prior,
            "rationale": rationale,
            "scope": scope,
        }
        return self._proposed("merge_hypotheses", commands.merge, arguments)

    def attach(
        self,
        hypothesis: str,
        results: Sequence[str],
        stance: str,
        summary: str,
        belief: float,
        rationale: str,
        audit: Audit | None = None,
    ) -> Evidence:
        """Tie results to a hypothesis that is under test, and say the new belief.

        Raises:
            Refusal: as for `propose`.
        """
        arguments = {
            "hypothesis": hypothesis,
            "results": results,
            "stance": stance,
            "summary": summary,
            "belief": belief,
            "rationale": rationale,
        }
        self._execute("attach_evidence", commands.attach, arguments, audit=audit)
        return next(reversed(self.state.evidence.values()))

    def transition(self, hypothesis: str, to: str, rationale: str) -> Hypothesis:
        """Move a hypothesis between states.

        Raises:
            Refusal: as for `propose`.
        """
        arguments = {"hypothesis": hypothesis, "to": to, "rationale": rationale}
        self._execute("transition_hypothesis", commands.transition, arguments)
        return self.state.hypotheses[hypothesis]

    def predict(
        self,
        predictions: Sequence[Mapping[str, Any]],
        rule: str,
        compounds: Sequence[str],
        labels: Sequence[str],
    ) -> list[str]:
        """Take predictions for sealed compounds; returns the compounds that still have none.

        Raises:
            Refusal: as for `propose`.
        """
        arguments = {"predictions": predictions, "rule": rule}
        allowed = {"compounds": tuple(compounds), "labels": tuple(labels)}
        self._execute("submit_predictions", commands.predict, arguments, **allowed)
        return [c for c in compounds if c not in self.state.predictions]

    def record_result(
        self,
        tool: str,
        arguments: Mapping[str, JsonValue],
        answer: Mapping[str, JsonValue],
        checks: Mapping[str, bool],
        *,
        measurement: bool,
        measured: Sequence[tuple[str, str]] = (),
    ) -> str:
        """Put a laboratory result on record; returns its id.

        `measured` names the single measurements in it as pairs of subject and condition, for example
        ("TiO2", "rutile, 0 GPa"): the same pair in another result is the same evidence.
        """
        result = self.next_result
        self._append(
            [
                ev.LabResultRecorded(
                    result=result,
                    tool=tool,
                    arguments=bounded(arguments),
                    answer={"result": result, **answer},
                    checks=dict(checks),
                    measurement=measurement,
                    measured=tuple(ev.Measured(subject=s, what=w) for s, w in measured),
                )
            ]
        )
        return result

    @property
    def next_result(self) -> str:
        """The id that the next laboratory result will have."""
        return f"R{len(self.state.results) + 1}"

    def refuse(self, operation: str, arguments: Mapping[str, Any], gate: str, reason: str) -> None:
        """Put on record a refusal from outside the gates: a sealed compound, a call that did not parse."""
        if self.state.started and self.state.ended is None:
            refused = ev.OperationRefused(
                operation=operation, arguments=bounded(arguments), gate=gate, reason=shorten(clean(reason))
            )
            self._append([refused])

    def end(self, reason: str) -> None:
        """Close the record. Ending twice is harmless."""
        if self.state.started and self.state.ended is None:
            self._append([ev.RunEnded(reason=reason)])

    def _proposed(
        self, operation: str, command: Callable[..., list[ev.Payload]], arguments: dict[str, Any]
    ) -> Hypothesis:
        self._execute(operation, command, arguments)
        return next(reversed(self.state.hypotheses.values()))

    def _execute(
        self,
        operation: str,
        command: Callable[..., list[ev.Payload]],
        arguments: dict[str, Any],
        **context: Any,
    ) -> None:
        try:
            payloads = command(self.state, **arguments, **context)
        except Refusal as refusal:
            self.refuse(operation, arguments, refusal.gate, refusal.reason)
            raise
        self._append(payloads)

    def _append(self, payloads: Sequence[ev.Payload]) -> None:
        """Seal, hand to the sink, then accept: all events of an operation or none."""
        time = self._clock().isoformat(timespec="milliseconds")
        sealed: list[ev.Event] = []
        seq, head = self.state.length, self.state.head
        for payload in payloads:
            seq += 1
            sealed.append(ev.seal(payload, seq=seq, run_id=self._run_id, time=time, previous_hash=head))
            head = sealed[-1].hash
        if self._sink is not None:
            self._sink(sealed)
        for event in sealed:
            self.state.apply(event)
            self.events.append(event)
