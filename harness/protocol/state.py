"""The state of a run: a plain fold over its events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import cast

from hepbench.harness.protocol import events as ev
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.wording import words


@dataclass
class Evidence:
    """Laboratory results tied to a hypothesis. `audit` is None where no auditor looked."""

    id: str
    hypothesis: str
    results: tuple[str, ...]
    stance: ev.Stance
    summary: str
    rationale: str
    trusted: bool
    failed_checks: tuple[str, ...]
    audit: ev.AuditVerdict | None = None


@dataclass
class Hypothesis:
    """A hypothesis as the events so far make it. `event_seqs` is its own slice of the event log."""

    id: str
    statement: str
    prior: float
    belief: float
    state: ev.State
    mechanism: ev.Mechanism
    parents: tuple[str, ...]
    generation: int
    scope: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    evidence: list[Evidence] = field(default_factory=list)
    reopened: int = 0
    event_seqs: list[int] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        """Not in a terminal state: proposed or under test."""
        return self.state not in ev.TERMINAL

    def trusted(self, stance: ev.Stance | None = None) -> list[Evidence]:
        """The trusted evidence, of one stance if given."""
        return [e for e in self.evidence if e.trusted and stance in (None, e.stance)]


@dataclass(frozen=True)
class LabResult:
    """A laboratory result as evidence sees it. `measured` holds pairs of subject and condition."""

    id: str
    tool: str
    measurement: bool
    failed_checks: tuple[str, ...]
    measured: frozenset[tuple[str, str]] = frozenset()
    seq: int = 0

    @property
    def subjects(self) -> frozenset[str]:
        """What was measured; empty if the laboratory did not say."""
        return frozenset(subject for subject, _ in self.measured)

    @property
    def faults(self) -> tuple[str, ...]:
        """Why it is not trusted; empty when it is."""
        none_measured = () if self.measurement else ("table data, not a measurement",)
        return (*self.failed_checks, *none_measured)


@dataclass
class RunState:
    """Everything that the events of one run say."""

    run_id: str = ""
    rules: ProtocolRules = field(default_factory=ProtocolRules)
    about: dict[str, object] = field(default_factory=dict)
    started: bool = False
    ended: str | None = None
    hypotheses: dict[str, Hypothesis] = field(default_factory=dict)
    results: dict[str, LabResult] = field(default_factory=dict)
    evidence: dict[str, Evidence] = field(default_factory=dict)
    statements: dict[str, str] = field(default_factory=dict)
    wordings: dict[tuple[str, ...], str] = field(default_factory=dict)
    predictions: dict[str, ev.Prediction] = field(default_factory=dict)
    rule: str = ""
    refusals: list[ev.OperationRefused] = field(default_factory=list)
    warnings: list[ev.RuleWarned] = field(default_factory=list)
    accepted: int = 0
    length: int = 0
    head: str = ev.GENESIS

    def apply(self, event: ev.Event) -> None:
        """Take one event in.

        Raises:
            ValueError: the event's type is unknown, or its payload does not fit.
            KeyError: it names a hypothesis or an evidence that no earlier event made.
        """
        self.take(event, event.body)

    def take(self, event: ev.Event, body: ev.Payload) -> None:
        """As `apply`, by who has parsed the payload already."""
        _FOLD[type(body)](self, body)
        self.run_id = event.run_id
        self.length += 1
        self.head = event.hash
        for hypothesis_id in _hypotheses_of(self, body):
            self.hypotheses[hypothesis_id].event_seqs.append(event.seq)


def fold(events: Iterable[ev.Event]) -> RunState:
    """The state after these events."""
    state = RunState()
    for event in events:
        state.apply(event)
    return state


def statement_key(statement: str) -> str:
    """A statement with case, space and punctuation folded: what makes two statements duplicates."""
    return "".join(c for c in statement.casefold() if c.isalnum() or c in "<>=≤≥≠±")


def _hypotheses_of(state: RunState, body: ev.Payload) -> list[str]:
    if isinstance(body, ev.EvidenceAudited):
        return [state.evidence[body.evidence].hypothesis]
    named = getattr(body, "hypothesis", None)
    return [named] if named is not None else []


def _run_started(state: RunState, body: ev.RunStarted) -> None:
    state.started = True
    state.rules = body.rules
    state.about = dict(body.about)


def _result_recorded(state: RunState, body: ev.LabResultRecorded) -> None:
    failed = tuple(name for name, passed in body.checks.items() if not passed)
    state.results[body.result] = LabResult(
        id=body.result,
        tool=body.tool,
        measurement=body.measurement,
        failed_checks=failed,
        measured=frozenset((m.subject, m.what) for m in body.measured),
        seq=state.length + 1,
    )


def _proposed(state: RunState, body: ev.HypothesisProposed) -> None:
    state.accepted += 1
    state.statements[statement_key(body.statement)] = body.hypothesis
    said = words(body.statement)
    state.wordings.setdefault(said, body.hypothesis)
    state.hypotheses[body.hypothesis] = Hypothesis(
        id=body.hypothesis,
        statement=body.statement,
        prior=body.belief,
        belief=body.belief,
        state="proposed",
        mechanism=body.mechanism,
        parents=body.parents,
        generation=body.generation,
        scope=body.scope,
        words=frozenset(said),
    )


def _attached(state: RunState, body: ev.EvidenceAttached) -> None:
    state.accepted += 1
    evidence = Evidence(
        id=body.evidence,
        hypothesis=body.hypothesis,
        results=body.results,
        stance=body.stance,
        summary=body.summary,
        rationale=body.rationale,
        trusted=body.trusted,
        failed_checks=body.failed_checks,
    )
    state.evidence[body.evidence] = evidence
    state.hypotheses[body.hypothesis].evidence.append(evidence)


def _audited(state: RunState, body: ev.EvidenceAudited) -> None:
    evidence = state.evidence[body.evidence]
    evidence.audit = body.verdict
    if body.verdict == "untrusted":
        evidence.trusted = False
        evidence.failed_checks = (*evidence.failed_checks, f"auditor: {body.reason}")


def _belief_updated(state: RunState, body: ev.BeliefUpdated) -> None:
    state.hypotheses[body.hypothesis].belief = body.after


def _state_changed(state: RunState, body: ev.StateChanged) -> None:
    state.accepted += 1
    hypothesis = state.hypotheses[body.hypothesis]
    hypothesis.state = body.after
    if body.before in ("supported", "refuted") and body.after == "under_test":
        hypothesis.reopened += 1


def _warned(state: RunState, body: ev.RuleWarned) -> None:
    state.warnings.append(body)


def _refused(state: RunState, body: ev.OperationRefused) -> None:
    state.refusals.append(body)


def _predicted(state: RunState, body: ev.PredictionsSubmitted) -> None:
    state.predictions.update({p.compound: p for p in body.predictions})
    state.rule = body.rule


def _ended(state: RunState, body: ev.RunEnded) -> None:
    state.ended = body.reason


_FOLD = cast(
    "dict[type[ev.Payload], Callable[[RunState, ev.Payload], None]]",
    {
        ev.RunStarted: _run_started,
        ev.LabResultRecorded: _result_recorded,
        ev.HypothesisProposed: _proposed,
        ev.EvidenceAttached: _attached,
        ev.EvidenceAudited: _audited,
        ev.BeliefUpdated: _belief_updated,
        ev.StateChanged: _state_changed,
        ev.RuleWarned: _warned,
        ev.OperationRefused: _refused,
        ev.PredictionsSubmitted: _predicted,
        ev.RunEnded: _ended,
    },
)
