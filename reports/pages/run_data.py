"""One run as its page shows it: hypotheses with their histories, evidence, events, predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from hepbench.harness.protocol import events as ev
from hepbench.harness.protocol.state import Evidence, Hypothesis, RunState, fold
from hepbench.harness.text import clean
from hepbench.reports.gather import DetailedRun
from hepbench.reports.pages.results import asked, outcome
from hepbench.reports.records import Item


@dataclass(frozen=True)
class BeliefPoint:
    """A belief and what made it so: the proposal, or evidence (moved or not)."""

    seq: int
    belief: float
    evidence: str = ""
    stance: str = ""
    trusted: bool = True
    text: str = ""


ORIGINS: Mapping[ev.Mechanism, str] = {
    "de_novo": "de novo",
    "inspired_by": "inspired by",
    "refine": "refines",
    "merge": "merges",
}


@dataclass
class History:
    """A hypothesis with everything that happened to it."""

    now: Hypothesis
    rationale: str = ""
    beliefs: list[BeliefPoint] = field(default_factory=list)
    moves: list[str] = field(default_factory=list)
    evidence: list[tuple[int, Evidence]] = field(default_factory=list)

    @property
    def origin(self) -> str:
        """How it came to be; its parents' ids may follow."""
        return ORIGINS[self.now.mechanism]


@dataclass(frozen=True)
class EventLine:
    """An event in words, with the ids that it is about."""

    seq: int
    time: str
    type: str
    actor: str
    text: str
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Prediction:
    """A held-out compound: what was predicted, what is true, and every phase's energy."""

    item: Item
    above_lowest: Mapping[str, float | None]


@dataclass(frozen=True)
class RunData:
    """Everything that a run's page shows."""

    run: DetailedRun
    state: RunState
    histories: tuple[History, ...]
    events: tuple[EventLine, ...]
    predictions: tuple[Prediction, ...]
    labels: tuple[str, ...]


def run_data(run: DetailedRun) -> RunData:
    """Read a run's events.

    Raises:
        ValueError: an event's type is unknown, or its payload does not fit.
        KeyError: an event names what no earlier event made.
    """
    state = fold(run.events)
    histories = {name: History(found) for name, found in state.hypotheses.items()}
    lines = [_line(event, state, histories) for event in run.events]
    energies = {row["compound"]: row.get("above_lowest", {}) for row in run.metadata["heldout"]}
    return RunData(
        run=run,
        state=state,
        histories=tuple(histories.values()),
        events=tuple(lines),
        predictions=tuple(Prediction(item, energies.get(item.compound, {})) for item in run.record.items),
        labels=_labels(run.metadata, energies),
    )


def _labels(metadata: Mapping[str, Any], energies: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    asked = metadata.get("prediction", {}).get("labels", [])
    return tuple(dict.fromkeys([*asked, *(label for row in energies.values() for label in row)]))


def _line(event: ev.Event, state: RunState, histories: dict[str, History]) -> EventLine:
    body = event.body
    say = _WORDS.get(type(body), _other)
    text, ids = say(_At(event.seq, state, histories), body)
    return EventLine(event.seq, event.time, event.type, event.actor, clean(text), tuple(ids))


@dataclass(frozen=True)
class _At:
    """Where an event stands, and the histories that it adds to."""

    seq: int
    state: RunState
    histories: dict[str, History]


_Words = tuple[str, list[str]]
"""An event in words, and the ids that it is about."""


def _started(at: _At, body: ev.RunStarted) -> _Words:  # noqa: ARG001 - all of the table's functions are called alike
    return f"The run begins: {body.about.get('task', '')} with {body.about.get('harness', '')}", []


def _result(at: _At, body: ev.LabResultRecorded) -> _Words:  # noqa: ARG001
    failed = [name for name, passed in body.checks.items() if not passed]
    marks = f"; not to be trusted: {', '.join(failed)}" if failed else ""
    found = outcome(body)
    text = f"{body.result}: {body.tool} {asked(body.arguments)}".strip() + (f" → {found}" if found else "")
    return text + marks, [body.result]


def _audited(at: _At, body: ev.EvidenceAudited) -> _Words:  # noqa: ARG001
    return f"{body.evidence} audited by {body.auditor}: {body.verdict}. {body.reason}", [body.evidence]


def _belief_updated(at: _At, body: ev.BeliefUpdated) -> _Words:  # noqa: ARG001
    moved = f"{body.hypothesis}: P(H) {body.before:g} → {body.after:g} by {body.evidence}"
    return moved, [body.hypothesis, body.evidence]


def _state_changed(at: _At, body: ev.StateChanged) -> _Words:
    moved = f"{body.before} → {body.after}: {body.rationale}"
    at.histories[body.hypothesis].moves.append(clean(moved))
    return f"{body.hypothesis}: {moved}", [body.hypothesis]


def _refused(at: _At, body: ev.OperationRefused) -> _Words:  # noqa: ARG001
    return f"{body.operation} refused (gate {body.gate}): {body.reason}", []


def _warned(at: _At, body: ev.RuleWarned) -> _Words:  # noqa: ARG001
    return f"warning ({body.warning}) about {body.hypothesis}: {body.detail}", [body.hypothesis]


def _other(at: _At, body: ev.Payload) -> _Words:  # noqa: ARG001
    return type(body).__name__, []


def _submitted(at: _At, body: ev.PredictionsSubmitted) -> _Words:  # noqa: ARG001
    return f"{len(body.predictions)} predictions by the rule: {body.rule}", []


def _ended(at: _At, body: ev.RunEnded) -> _Words:  # noqa: ARG001
    return f"The run ends: {body.reason}", []


def _proposed(at: _At, body: ev.HypothesisProposed) -> _Words:
    history = at.histories[body.hypothesis]
    history.rationale = body.rationale
    history.beliefs.append(BeliefPoint(at.seq, body.belief, text="prior"))
    how = " ".join([ORIGINS[body.mechanism], ", ".join(body.parents)]).strip()
    text = f"{body.hypothesis} proposed ({how}), P(H) = {body.belief:g}: {body.statement}"
    return text, [body.hypothesis, *body.parents]


def _attached(at: _At, body: ev.EvidenceAttached) -> _Words:
    history = at.histories[body.hypothesis]
    evidence = at.state.evidence[body.evidence]
    history.evidence.append((at.seq, evidence))
    after = body.stated_belief if evidence.trusted else history.beliefs[-1].belief
    point = BeliefPoint(at.seq, after, body.evidence, body.stance, evidence.trusted, clean(body.summary))
    history.beliefs.append(point)
    trust = "" if evidence.trusted else ", not trusted"
    text = (
        f"{body.evidence} {body.stance} {body.hypothesis} by {', '.join(body.results)}{trust}: {body.summary}"
    )
    return text, [body.evidence, body.hypothesis, *body.results]


_WORDS = cast(
    "dict[type[ev.Payload], Callable[[_At, ev.Payload], _Words]]",
    {
        ev.RunStarted: _started,
        ev.LabResultRecorded: _result,
        ev.HypothesisProposed: _proposed,
        ev.EvidenceAttached: _attached,
        ev.EvidenceAudited: _audited,
        ev.BeliefUpdated: _belief_updated,
        ev.StateChanged: _state_changed,
        ev.RuleWarned: _warned,
        ev.OperationRefused: _refused,
        ev.PredictionsSubmitted: _submitted,
        ev.RunEnded: _ended,
    },
)


def generations(histories: Sequence[History]) -> dict[str, int]:
    """Hypothesis → the column of the tree that it stands in."""
    found: dict[str, int] = {}
    for history in histories:
        parents = [found[p] for p in history.now.parents if p in found]
        found[history.now.id] = 1 + max(parents) if parents else 0
    return found


def composition(metadata: Mapping[str, Any], compound: str) -> list[dict[str, Any]]:
    """The sites of a compound (`role`, `element`, `charge`), if the task says."""
    sites = metadata.get("compositions", {}).get(compound, [])
    return cast("list[dict[str, Any]]", sites)
