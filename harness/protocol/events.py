"""The events of a run, and the hash chain that ties them together.

The list of events is the only truth: every state is a fold over it (`state.py`). An event carries the
SHA-256 of its predecessor and its own, over canonical JSON, so that an edit, a loss or a swap shows.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from hepbench.harness.protocol.rules import ProtocolRules

SCHEMA_VERSION = 1
GENESIS = "0" * 64
"""What stands as the predecessor's hash in the first event."""

State = Literal["proposed", "under_test", "supported", "refuted", "dormant"]
Mechanism = Literal["de_novo", "inspired_by", "refine", "merge"]
Stance = Literal["supports", "contradicts", "inconclusive"]
Actor = Literal["agent", "laboratory", "harness", "auditor"]
ACTORS = frozenset(get_args(Actor))
AuditVerdict = Literal["accepted", "untrusted", "unaudited"]
Caution = Literal[
    "near_duplicate",
    "similar_statement",
    "repeated_data",
    "outside_scope",
    "thin_verdict",
    "postdicted_verdict",
    "abandoned",
]
"""The rules of `ProtocolRules` that can be set to warn; each bears its field's name."""

STATES: tuple[State, ...] = ("proposed", "under_test", "supported", "refuted", "dormant")
MECHANISMS: tuple[Mechanism, ...] = ("de_novo", "inspired_by", "refine", "merge")
TERMINAL: frozenset[State] = frozenset({"supported", "refuted", "dormant"})


class Payload(BaseModel):
    """What an event says; its class name is the event's type.

    That values are JSON's is asked of the payload as a whole, when the event is made of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    actor: ClassVar[Actor] = "agent"


class RunStarted(Payload):
    """The run's first event: rules in force, and what the run is about (task, potential, hashes)."""

    actor: ClassVar[Actor] = "harness"
    rules: ProtocolRules
    about: dict[str, JsonValue] = Field(default_factory=dict)


class Measured(BaseModel):
    """One measurement within a result: two results that hold the same one are the same evidence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: str = Field(description="what was measured, for example a compound")
    what: str = Field(description="how, for example a prototype and a pressure")


class LabResultRecorded(Payload):
    """A laboratory tool's answer, with its checks. `measurement` is false for table data."""

    actor: ClassVar[Actor] = "laboratory"
    result: str
    tool: str
    arguments: dict[str, Any]
    answer: dict[str, Any]
    checks: dict[str, bool]
    measurement: bool
    measured: tuple[Measured, ...] = ()


class HypothesisProposed(Payload):
    """A new hypothesis, by any of the four mechanisms. An empty scope means all that the task is about."""

    hypothesis: str
    statement: str
    belief: float
    rationale: str
    mechanism: Mechanism
    parents: tuple[str, ...]
    generation: int
    scope: tuple[str, ...] = ()


class EvidenceAttached(Payload):
    """Laboratory results tied to a hypothesis. The belief moves by `BeliefUpdated`, if it does."""

    evidence: str
    hypothesis: str
    results: tuple[str, ...]
    stance: Stance
    summary: str
    rationale: str
    stated_belief: float
    trusted: bool
    failed_checks: tuple[str, ...] = ()


class EvidenceAudited(Payload):
    """An independent reviewer's word on evidence, before the belief moves."""

    actor: ClassVar[Actor] = "auditor"
    evidence: str
    verdict: AuditVerdict
    reason: str
    auditor: str


class BeliefUpdated(Payload):
    """P(H) moved, by named evidence."""

    hypothesis: str
    evidence: str
    before: float
    after: float


class StateChanged(Payload):
    """A move between lifecycle states."""

    hypothesis: str
    before: State
    after: State
    rationale: str


class RuleWarned(Payload):
    """A rule bit, and was set to warn: the operation before this event was accepted all the same."""

    actor: ClassVar[Actor] = "harness"
    warning: Caution
    hypothesis: str
    detail: str


class OperationRefused(Payload):
    """A call that broke a gate: nothing changed. Arguments are kept in bounded form."""

    operation: str
    arguments: dict[str, Any]
    gate: str
    reason: str


class Prediction(BaseModel):
    """One held-out compound's predicted label and the agent's confidence in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    compound: str
    label: str
    confidence: float


class PredictionsSubmitted(Payload):
    """Held-out predictions and the final rule in words. A later submission replaces compound by compound."""

    predictions: tuple[Prediction, ...]
    rule: str


class RunEnded(Payload):
    """Nothing is accepted after this event."""

    actor: ClassVar[Actor] = "harness"
    reason: str


PAYLOADS: dict[str, type[Payload]] = {cls.__name__: cls for cls in Payload.__subclasses__()}


class Event(BaseModel):
    """One link of the chain."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: int
    type: str
    run_id: str
    time: str = Field(description="UTC, ISO 8601")
    actor: Actor
    schema_version: int = SCHEMA_VERSION
    payload: dict[str, JsonValue]
    previous_hash: str
    hash: str

    @property
    def body(self) -> Payload:
        """The payload, typed.

        Raises:
            ValueError: the type is unknown, or the payload does not fit it.
        """
        if self.type not in PAYLOADS:
            raise ValueError(f"event {self.seq}: unknown type {self.type!r}")
        return PAYLOADS[self.type].model_validate(self.payload)


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: Any) -> bytes:
    """The one byte string of a JSON value: keys sorted, no spaces, ASCII, no NaN."""
    return _CANONICAL.encode(value).encode("ascii")


def event_hash(event: Event) -> str:
    """SHA-256 (hex) over the canonical JSON of everything in the event but its own hash."""
    sealed = {
        name: value for name, value in vars(event).items() if name != "hash"
    }  # JSON values, all of them
    return hashlib.sha256(canonical_json(sealed)).hexdigest()


def seal(payload: Payload, *, seq: int, run_id: str, time: str, previous_hash: str) -> Event:
    """The event of a payload, hashed and chained to its predecessor."""
    event = Event(
        seq=seq,
        type=type(payload).__name__,
        run_id=run_id,
        time=time,
        actor=payload.actor,
        payload=payload.model_dump(mode="json"),
        previous_hash=previous_hash,
        hash="",
    )
    return event.model_copy(update={"hash": event_hash(event)})


def chain_faults(events: list[Event]) -> list[str]:
    """What is wrong with a chain, one line for each fault; empty for a sound one."""
    faults: list[str] = []
    previous = GENESIS
    for position, event in enumerate(events, start=1):
        if event.seq != position:
            faults.append(f"event {position}: carries seq {event.seq}")
        if event.previous_hash != previous:
            faults.append(f"event {event.seq}: does not follow its predecessor's hash")
        if event.hash != event_hash(event):
            faults.append(f"event {event.seq}: content does not match its hash")
        if event.run_id != events[0].run_id:
            faults.append(f"event {event.seq}: belongs to run {event.run_id!r}")
        previous = event.hash
    return faults
