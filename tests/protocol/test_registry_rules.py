"""Each gate refuses what it is for, records it, and leaves the rest as it was."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from hepbench.harness.protocol import events as ev
from hepbench.harness.protocol.commands import Audit
from hepbench.harness.protocol.gates import Refusal
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.state import fold


def fixed_clock() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def registry() -> Registry:
    """H1 proposed; H2 under test with trusted R1; R2 untrusted; R3 table data; R4 trusted, unused."""
    made = Registry.start("test/run/1", ProtocolRules(), clock=fixed_clock)
    for checks, measurement in (
        ({"ok": True}, True),
        ({"ok": True, "phase": False}, True),
        ({}, False),
        ({}, True),
    ):
        made.record_result("relax_structure", {}, {"energy": -1.0}, checks, measurement=measurement)
    made.propose("large cations prefer fluorite", 0.5, "room")
    made.propose("small cations prefer quartz", 0.4, "tetrahedra")
    made.transition("H2", "under_test", "go")
    made.attach("H2", ["R1"], "supports", "seen", 0.6, "one case")
    return made


def supported(registry: Registry) -> None:
    registry.attach("H2", ["R4"], "supports", "seen again", 0.9, "two cases")
    registry.transition("H2", "supported", "clear")


REFUSED: dict[str, tuple[str, Callable[[Registry], object]]] = {
    "empty statement": ("1", lambda r: r.propose("  \n", 0.5, "x")),
    "statement of a sign": ("1", lambda r: r.propose("<", 0.5, "x")),
    "statement of punctuation": ("1", lambda r: r.propose("?!.", 0.5, "x")),
    "statement too long": ("1", lambda r: r.propose("x" * 2_001, 0.5, "x")),
    "a 100 kB statement": ("1", lambda r: r.propose("x" * 100_000, 0.5, "x")),
    "duplicate but for case and punctuation": (
        "1",
        lambda r: r.propose("Large cations: prefer FLUORITE!", 0.5, "x"),
    ),
    "prior zero": ("1", lambda r: r.propose("a", 0.0, "x")),
    "prior one": ("1", lambda r: r.propose("a", 1.0, "x")),
    "prior NaN": ("1", lambda r: r.propose("a", math.nan, "x")),
    "prior a bool": ("1", lambda r: r.propose("a", prior=True, rationale="x")),
    "prior text": ("1", lambda r: r.propose("a", "high", "x")),  # type: ignore[arg-type]
    "no rationale": ("1", lambda r: r.propose("a", 0.5, "")),
    "rationale not text": ("1", lambda r: r.propose("a", 0.5, 7)),  # type: ignore[arg-type]
    "inspired by nobody we know": ("2", lambda r: r.propose("a", 0.5, "x", ["H9"])),
    "inspired by one twice": ("2", lambda r: r.propose("a", 0.5, "x", ["H1", "H1"])),
    "parents as text": ("2", lambda r: r.propose("a", 0.5, "x", "H1")),
    "refine without evidence": ("2", lambda r: r.refine("H1", "a", 0.5, "x")),
    "refine unknown": ("2", lambda r: r.refine("R1", "a", 0.5, "x")),
    "merge of one": ("2", lambda r: r.merge(["H2"], "a", 0.5, "x")),
    "merge with an untested parent": ("2", lambda r: r.merge(["H1", "H2"], "a", 0.5, "x")),
    "evidence before the test": ("3", lambda r: r.attach("H1", ["R1"], "supports", "s", 0.6, "x")),
    "evidence for nobody": ("3", lambda r: r.attach("H9", ["R1"], "supports", "s", 0.6, "x")),
    "foreign result": ("3", lambda r: r.attach("H2", ["R99"], "supports", "s", 0.7, "x")),
    "no result": ("3", lambda r: r.attach("H2", [], "supports", "s", 0.7, "x")),
    "result used before": ("3", lambda r: r.attach("H2", ["R1"], "supports", "s", 0.7, "x")),
    "result named twice": ("3", lambda r: r.attach("H2", ["R4", "R4"], "supports", "s", 0.7, "x")),
    "unknown stance": ("3", lambda r: r.attach("H2", ["R4"], "proves", "s", 0.7, "x")),
    "no summary": ("3", lambda r: r.attach("H2", ["R4"], "supports", " ", 0.7, "x")),
    "support that lowers": ("5", lambda r: r.attach("H2", ["R4"], "supports", "s", 0.5, "x")),
    "contradiction that raises": ("5", lambda r: r.attach("H2", ["R4"], "contradicts", "s", 0.7, "x")),
    "inconclusive that moves": ("5", lambda r: r.attach("H2", ["R4"], "inconclusive", "s", 0.7, "x")),
    "belief beyond one": ("5", lambda r: r.attach("H2", ["R4"], "supports", "s", 1.2, "x")),
    "belief infinite": ("5", lambda r: r.attach("H2", ["R4"], "supports", "s", math.inf, "x")),
    "verdict below the threshold": ("6", lambda r: r.transition("H2", "supported", "x")),
    "refuted above the threshold": ("6", lambda r: r.transition("H2", "refuted", "x")),
    "verdict from proposed": ("7", lambda r: r.transition("H1", "supported", "x")),
    "unknown state": ("7", lambda r: r.transition("H1", "proven", "x")),
    "move of nobody": ("7", lambda r: r.transition("H77", "under_test", "x")),
    "move without a reason": ("7", lambda r: r.transition("H1", "under_test", "")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusal_is_recorded_and_changes_nothing_else(registry: Registry, case: str) -> None:
    gate, call = REFUSED[case]
    before = registry.state.hypotheses.copy()
    length = len(registry.events)
    with pytest.raises(Refusal) as refused:
        call(registry)
    assert refused.value.gate.split(",")[0] == gate
    assert "A valid call: " in str(refused.value)
    assert "\n" not in str(refused.value)
    assert [e.type for e in registry.events[length:]] == ["OperationRefused"]
    assert fold(registry.events).hypotheses == before == registry.state.hypotheses
    assert ev.chain_faults(registry.events) == []
    assert len(registry.events[-1].model_dump_json()) < 8_000


@pytest.mark.parametrize("case", [c for c in REFUSED if REFUSED[c][0] in "35"])
def test_the_example_of_an_evidence_refusal_is_valid(registry: Registry, case: str) -> None:
    """The call that a refusal suggests is taken, word for word."""
    with pytest.raises(Refusal) as refused:
        REFUSED[case][1](registry)
    methods = {"attach_evidence": registry.attach, "transition_hypothesis": registry.transition}
    assert eval(refused.value.example, {"__builtins__": {}}, methods)  # noqa: S307


def test_untrusted_evidence_is_recorded_and_moves_nothing(registry: Registry) -> None:
    evidence = registry.attach("H2", ["R2", "R3"], "supports", "s", 0.95, "x")
    assert not evidence.trusted
    assert evidence.failed_checks == ("R2: phase", "R3: table data, not a measurement")
    assert registry.state.hypotheses["H2"].belief == 0.6
    assert len(registry.state.hypotheses["H2"].evidence) == 2


def test_untrusted_evidence_carries_no_verdict() -> None:
    registry = Registry.start("r", ProtocolRules(), clock=fixed_clock)
    registry.record_result("relax_structure", {}, {}, {"converged": False}, measurement=True)
    registry.propose("a rule", 0.85, "x")
    registry.transition("H1", "under_test", "go")
    registry.attach("H1", ["R1"], "supports", "s", 0.9, "x")
    with pytest.raises(Refusal, match="0 trusted supporting"):
        registry.transition("H1", "supported", "x")


def test_a_high_prior_alone_is_no_verdict() -> None:
    registry = Registry.start("r", ProtocolRules(), clock=fixed_clock)
    registry.propose("a rule", 0.9, "x")
    registry.transition("H1", "under_test", "go")
    with pytest.raises(Refusal, match="gate 6"):
        registry.transition("H1", "supported", "x")
    with pytest.raises(Refusal, match="gate 6"):
        registry.transition("H1", "dormant", "x")


def test_generation_is_one_more_than_the_highest_parent(registry: Registry) -> None:
    inspired = registry.propose("another idea", 0.5, "x", ["H2"])
    refined = registry.refine("H2", "sharper", 0.5, "x")
    registry.transition(refined.id, "under_test", "go")
    registry.attach(refined.id, ["R1"], "supports", "s", 0.6, "x")
    merged = registry.merge([refined.id, "H2"], "joint", 0.5, "x")
    assert [(h.mechanism, h.generation) for h in (inspired, refined, merged)] == [
        ("inspired_by", 1),
        ("refine", 1),
        ("merge", 2),
    ]
    assert merged.belief == 0.5
    assert merged.evidence == []


def test_strict_generation_leaves_inspiration_out() -> None:
    registry = Registry.start("r", ProtocolRules(strict_generation=True), clock=fixed_clock)
    registry.propose("one", 0.5, "x")
    assert registry.propose("two", 0.5, "x", ["H1"]).generation == 0


def test_reopening_is_counted_and_needs_a_reason(registry: Registry) -> None:
    supported(registry)
    with pytest.raises(Refusal, match="rationale"):
        registry.transition("H2", "under_test", "  ")
    assert registry.transition("H2", "under_test", "new doubts").reopened == 1


def test_dormant_wakes(registry: Registry) -> None:
    registry.transition("H1", "dormant", "later")
    assert registry.transition("H1", "under_test", "now").reopened == 0


def test_auditor_keeps_the_belief_where_it_was(registry: Registry) -> None:
    evidence = registry.attach(
        "H2", ["R4"], "supports", "s", 0.9, "x", Audit("untrusted", "too weak", "judge")
    )
    assert not evidence.trusted
    assert registry.state.hypotheses["H2"].belief == 0.6
    assert [e.type for e in registry.events[-2:]] == ["EvidenceAttached", "EvidenceAudited"]


def test_nothing_is_accepted_after_the_end(registry: Registry) -> None:
    registry.end("done")
    length = len(registry.events)
    for call in (
        lambda: registry.propose("late", 0.5, "x"),
        lambda: registry.transition("H1", "under_test", "x"),
        lambda: registry.predict([{"compound": "A", "label": "b", "confidence": 1}], "x", ["A"], ["b"]),
    ):
        with pytest.raises(Refusal, match="ended"):
            call()
    registry.end("again")
    assert len(registry.events) == length


PREDICTIONS: dict[str, object] = {
    "not held out": [{"compound": "XO2", "label": "b", "confidence": 0.5}],
    "no such label": [{"compound": "AO2", "label": "z", "confidence": 0.5}],
    "confidence beyond one": [{"compound": "AO2", "label": "b", "confidence": 1.5}],
    "confidence NaN": [{"compound": "AO2", "label": "b", "confidence": math.nan}],
    "twice": [{"compound": "AO2", "label": "b", "confidence": 0.5}] * 2,
    "too many": [{"compound": "AO2", "label": "b", "confidence": 0.5}] * 3,
    "extra key": [{"compound": "AO2", "label": "b", "confidence": 0.5, "why": "x"}],
    "none": [],
    "not a list": "AO2: b",
}


@pytest.mark.parametrize("case", PREDICTIONS)
def test_a_bad_prediction_is_refused(registry: Registry, case: str) -> None:
    with pytest.raises(Refusal, match="gate 9"):
        registry.predict(PREDICTIONS[case], "rule", ["AO2", "BO2"], ["b", "c"])  # type: ignore[arg-type]
    assert registry.state.predictions == {}


def test_predictions_complete_one_another_and_the_last_counts(registry: Registry) -> None:
    def submit(compound: str, label: str) -> list[str]:
        entry = {"compound": compound, "label": label, "confidence": 0.5}
        return registry.predict([entry], "rule", ["AO2", "BO2"], ["b", "c"])

    assert submit("AO2", "b") == ["BO2"]
    assert submit("AO2", "c") == ["BO2"]
    assert submit("BO2", "b") == []
    assert {p.compound: p.label for p in registry.state.predictions.values()} == {"AO2": "c", "BO2": "b"}


def test_a_failing_sink_accepts_nothing() -> None:
    full = OSError("no space left on device")

    def sink(events: object) -> None:
        raise full

    registry = Registry.start("r", ProtocolRules(), clock=fixed_clock)
    registry._sink = sink
    with pytest.raises(OSError, match="no space"):
        registry.propose("one", 0.5, "x")
    assert len(registry.events) == 1
    assert registry.state.hypotheses == {}


def test_hostile_text_is_cleaned(registry: Registry) -> None:
    made = registry.propose("rule \ud800 with \x1b[31mcolour\u202e", 0.5, "x")
    assert made.statement == "rule ? with  [31mcolour"
    made.statement.encode("utf-8")


@pytest.mark.parametrize("change", ["seq", "payload", "previous_hash", "time", "drop", "swap", "run"])
def test_the_chain_shows_a_change(registry: Registry, change: str) -> None:
    events = list(registry.events)
    if change == "drop":
        del events[3]
    elif change == "swap":
        events[3], events[4] = events[4], events[3]
    else:
        other: dict[str, object] = {
            "seq": {"seq": 99},
            "payload": {"payload": {**events[3].payload, "tool": "x"}},
            "previous_hash": {"previous_hash": "f" * 64},
            "time": {"time": "2027-01-01T00:00:00"},
            "run": {"run_id": "another"},
        }
        events[3] = events[3].model_copy(update=other[change])  # type: ignore[arg-type]
    assert ev.chain_faults(events)
    with pytest.raises(ValueError, match="sound chain"):
        Registry(events, "r")


def test_the_events_alone_give_the_state_back(registry: Registry) -> None:
    supported(registry)
    text = [e.model_dump_json() for e in registry.events]
    again = fold(ev.Event.model_validate_json(t) for t in text)
    assert again == registry.state


def test_same_operations_same_bytes() -> None:
    def run() -> list[str]:
        made = Registry.start("r", ProtocolRules(), {"potential": "p"}, clock=fixed_clock)
        made.propose("one", 0.5, "x")
        return [e.model_dump_json() for e in made.events]

    assert run() == run()
