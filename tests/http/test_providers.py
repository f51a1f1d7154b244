"""The real clients of the model providers against a server that misbehaves: every run ends scored, and the
log shows what happened."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from inspect_ai.event import ModelEvent
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import ChatMessageTool, ChatMessageUser, ModelCost

from hepbench.harness.agents import run as run_module
from hepbench.harness.agents.window import Window
from hepbench.harness.protocol.state import RunState
from hepbench.harness.protocol.store import RegistryStore

Talk = Callable[..., tuple[EvalLog, Any]]
WIRES = ("responses", "chat", "messages", "compatible")
HELD_OUT = ("NaCl", "KBr", "RbI", "LiBr", "CsF", "CsCl", "CsBr", "CsI")


def reply(*calls: tuple[str, Any], text: str = "", fault: str = "", input_tokens: int = 100) -> Any:
    texts = tuple((name, a if isinstance(a, str) else json.dumps(a)) for name, a in calls)
    stub = sys.modules["hepbench_tests_stub"]
    return stub.Reply(text=text, calls=texts, fault=fault, input_tokens=input_tokens)


def propose(statement: str) -> tuple[str, Any]:
    return "propose_hypothesis", {"statement": statement, "prior": 0.5, "rationale": "to be seen"}


COMPARE = ("compare_structures", {"compound": "LiF", "prototypes": ["rock salt", "CsCl"]})
FINISH = ("finish_research", {"summary": "done"})
PREDICT = (
    "submit_predictions",
    {
        "predictions": [{"compound": c, "label": "CsCl", "confidence": 0.5} for c in HELD_OUT],
        "rule": "always CsCl",
    },
)


def script(*first: Any) -> list[Any]:
    """These replies, then an orderly end (the reminder of open hypotheses included)."""
    return [*first, reply(FINISH), reply(FINISH), reply(PREDICT)]


def sample_of(log: EvalLog) -> EvalSample:
    assert log.status == "success", log.error
    assert log.samples
    assert log.results is not None
    return log.samples[0]


def state_of(log: EvalLog) -> RunState:
    return sample_of(log).store_as(RegistryStore).state()


def infos(log: EvalLog, source: str) -> list[str]:
    sample = sample_of(log)
    found = [str(e.data) for e in sample.events if e.event == "info" and e.source == source]
    return [sample.attachments.get(t.removeprefix("attachment://"), t) for t in found]


def model_events(log: EvalLog) -> list[ModelEvent]:
    return [e for e in sample_of(log).events if isinstance(e, ModelEvent)]


@pytest.mark.parametrize("wire", WIRES)
def test_everything_that_goes_wrong_in_one_run(talk: Talk, wire: str) -> None:
    log, server = talk(
        wire,
        script(
            reply(fault="429"),
            reply(fault="500"),
            reply(COMPARE, text="Let me look.", fault="cut"),
            reply(COMPARE, text="Let me look."),
            reply(("propose_hypothesis", '{"statement": "broken')),
            reply(("launch_rocket", {"to": "Mars"})),
            reply(propose("all are CsCl"), COMPARE, propose("none is CsCl")),
            reply(),
            reply(text="I cannot help with that.", fault="refusal"),
            reply(propose("caesium decides")),
            reply(text="I think that I am done."),
        ),
    )
    assert server.rejected == []
    state = state_of(log)
    assert set(state.predictions) == set(HELD_OUT)
    assert sample_of(log).scores
    # 429, 500 and the cut connection were tried again, and the log says so
    failed_event = model_events(log)[0]
    assert failed_event.retries == 2
    assert "Connection error" in (failed_event.error or "") or "peer closed" in (failed_event.error or "")
    # what reached no tool is answered to the model and stands on record
    assert [(r.operation, r.gate) for r in state.refusals] == [
        ("propose_hypothesis", "schema"),
        ("launch_rocket", "schema"),
    ]
    answers = [m for m in sample_of(log).messages if isinstance(m, ChatMessageTool)]
    failed = {m.function: m.error.message for m in answers if m.error}
    assert failed["launch_rocket"] == "Tool launch_rocket not found"
    assert any(said in failed["propose_hypothesis"] for said in ("JSON", "broken", "required property"))
    # parallel calls: each was carried out, in order
    assert [h.statement for h in state.hypotheses.values()] == [
        "all are CsCl",
        "none is CsCl",
        "caesium decides",
    ]
    # empty, refused and idle answers: nudged, and said in the log
    nudges = [
        m for m in sample_of(log).messages if isinstance(m, ChatMessageUser) and "without calling" in m.text
    ]
    assert len(nudges) == 3
    told = infos(log, "hepbench turn")
    assert len(told) == 2
    assert "an empty answer" in told[0]
    assert "content_filter" in told[1] or "a refusal" in told[1]


@pytest.mark.parametrize("wire", WIRES)
def test_a_full_context_is_shortened_and_asked_again(talk: Talk, wire: str) -> None:
    compare = [reply(COMPARE) for _ in range(6)]
    log, server = talk(
        wire, script(*compare, reply(fault="overflow"), reply(fault="overflow"), reply(COMPARE))
    )
    assert server.rejected == []
    assert set(state_of(log).predictions) == set(HELD_OUT)
    assert state_of(log).ended == "finished by the agent"
    lengths = [len(r.get("messages", r.get("input", []))) for r in server.requests]
    assert lengths[6] > lengths[7] > lengths[8]
    assert len(infos(log, "hepbench context")) == 2
    assert len(state_of(log).results) >= 1
    assert len(sample_of(log).messages) > lengths[6]  # the record keeps everything


def test_a_context_that_stays_full_ends_the_phases_and_is_scored(talk: Talk) -> None:
    log, server = talk("chat", [reply(COMPARE), reply(COMPARE), reply(fault="overflow")])
    assert state_of(log).ended == "context window full"
    assert state_of(log).predictions == {}
    assert log.results is not None
    assert server.served < 10


def test_usage_near_the_window_shortens_what_is_shown_next(talk: Talk) -> None:
    full = [reply(COMPARE, input_tokens=n) for n in (1000, 2000, 3000, 3600, 100)]
    log, server = talk("compatible", script(*full), given={"context_limit": 4000})
    lengths = [len(r["messages"]) for r in server.requests]
    assert lengths[3] > lengths[4]
    assert len(infos(log, "hepbench context")) == 1


def test_a_server_that_is_down_ends_the_run_with_an_error(talk: Talk) -> None:
    log, server = talk("chat", [reply(fault="500")], max_retries=2)
    assert log.status == "error"
    assert server.served >= 3
    assert log.samples
    assert log.samples[0].error is not None
    assert "InternalServerError" in log.samples[0].error.message


def test_a_server_that_is_down_can_be_scored_as_wrong(talk: Talk) -> None:
    script = [reply(propose("all are CsCl")), reply(fault="429")]
    log, _ = talk("messages", script, max_retries=1, fail_on_error=False, score_on_error=True)
    assert sample_of(log).error is not None
    assert log.results is not None
    scores = {s.name: s.metrics["mean"].value for s in log.results.scores}
    assert scores["heldout_accuracy"] == 0
    assert scores["hypothesis_count"] == 1


def test_planning_over_http(talk: Talk) -> None:
    plan = ("submit_plan", {"steps": ["measure"], "rationale": "short"})
    revise = ("revise_plan", {"outcome": "measured", "steps": [], "reason": "done"})
    log, server = talk("messages", [reply(r) for r in (plan, COMPARE, revise, FINISH, PREDICT)], "planning")
    assert server.rejected == []
    assert {t["name"] for t in server.requests[0]["tools"]} == {"submit_plan"}
    assert {t["name"] for t in server.requests[-1]["tools"]} == {"submit_predictions"}
    assert server.requests[0]["stream"] is True
    assert len(infos(log, "hepbench plan")) == 2
    assert set(state_of(log).predictions) == set(HELD_OUT)


WITHOUT: dict[str, tuple[Any, str, Any]] = {
    "schema failures on record": (run_module, "record_unparsed", lambda *_: None),
    "why a turn brought nothing": (run_module, "_show_empty_hands", lambda *_: None),
    "idle answers are nudged": (run_module, "MAX_IDLE", 1),
    "a shorter prompt": (Window, "shorten", lambda *_: False),
}


@pytest.mark.parametrize("handling", WITHOUT)
def test_the_tests_above_see_that_a_handling_is_missing(
    talk: Talk, handling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*WITHOUT[handling])
    test = (
        test_a_full_context_is_shortened_and_asked_again
        if handling == "a shorter prompt"
        else test_everything_that_goes_wrong_in_one_run
    )
    with pytest.raises(AssertionError):
        test(talk, "chat")


def test_money_is_counted_where_prices_are_given(talk: Talk) -> None:
    price = ModelCost(input=10.0, output=100.0, input_cache_write=0, input_cache_read=0)
    log, server = talk(
        "chat", [reply(c) for c in (COMPARE, FINISH, PREDICT)], model_cost_config={"openai/gpt-4o": price}
    )
    costs = (sample_of(log).scores or {})["costs"].value
    assert isinstance(costs, dict)
    assert costs["model_calls"] == server.served == 3
    assert costs["money"] == pytest.approx(3 * (100 * 10 + 10 * 100) / 1e6)
