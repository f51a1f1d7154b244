"""The HEP agent in real Inspect runs: nudges, the reminder, limits, refusals, the prediction phase."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolChoice, ToolInfo, tool

from hepbench.harness.agents.hep import hep
from hepbench.harness.protocol import events as ev
from hepbench.harness.protocol.state import RunState
from hepbench.harness.protocol.store import RegistryStore, current_registry

Step = str | tuple[str, dict[str, Any]]
PREDICTION = {"compounds": ["AO2", "BO2"], "labels": ["b", "c"]}


def call(function: str, **arguments: Any) -> Step:
    return function, arguments


def predict(*compounds: str) -> Step:
    entries = [{"compound": c, "label": "b", "confidence": 0.6} for c in compounds]
    return call("submit_predictions", predictions=entries, rule="always b")


PROPOSE = call("propose_hypothesis", statement="all are b", prior=0.5, rationale="why not")
FINISH = call("finish_research", summary="done")
ALL = predict("AO2", "BO2")


def output_of(step: Step) -> ModelOutput:
    if isinstance(step, str):
        output = ModelOutput.from_content("scripted", step)
    else:
        output = ModelOutput.for_tool_call("scripted", step[0], step[1])
    output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return output


def scripted(steps: list[Step]) -> Callable[..., ModelOutput]:
    """A model that takes these steps one after the other, and then repeats the last."""

    def answer(
        messages: list[ChatMessage], tools: list[ToolInfo], choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        done = sum(isinstance(m, ChatMessageAssistant) for m in messages)
        return output_of(steps[min(done, len(steps) - 1)])

    return answer


@tool
def measure() -> Tool:
    async def execute() -> str:
        """Measure something."""
        return current_registry().record_result("measure", {}, {"value": 1}, {"ok": True}, measurement=True)

    return execute


@solver
def with_tool() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.tools = [measure()]
        return state

    return solve


def run(tmp_path: Path, steps: list[Step], *, predict: bool = True, **kwargs: Any) -> EvalLog:
    settings = {k: kwargs.pop(k) for k in ("turn_limit", "token_limit") if k in kwargs}
    metadata = {"about": {"task": "tiny"}, **({"prediction": PREDICTION} if predict else {})}
    task = Task(
        dataset=[Sample(id="s", input="What are they?", target="b", metadata=metadata)],
        setup=with_tool(),
        solver=hep(**settings),
        name="tiny",
        **kwargs,
    )
    model = get_model("mockllm/model", custom_outputs=scripted(steps), memoize=False)
    return inspect_eval(task, model=model, log_dir=str(tmp_path), display="none")[0]


def sample_of(log: EvalLog) -> EvalSample:
    assert log.status == "success", log.error
    assert log.samples
    return log.samples[0]


def state_of(log: EvalLog) -> RunState:
    events = sample_of(log).store_as(RegistryStore).run.events
    assert ev.chain_faults(events) == []
    return sample_of(log).store_as(RegistryStore).state()


def said_by_user(log: EvalLog) -> list[str]:
    return [m.text for m in sample_of(log).messages if isinstance(m, ChatMessageUser)]


def tool_answers(log: EvalLog, function: str) -> list[ChatMessageTool]:
    return [m for m in sample_of(log).messages if isinstance(m, ChatMessageTool) and m.function == function]


def test_a_whole_run(tmp_path: Path) -> None:
    log = run(
        tmp_path,
        [
            PROPOSE,
            call("transition_hypothesis", hypothesis="H1", to="under_test", rationale="go"),
            call("measure"),
            call(
                "attach_evidence",
                hypothesis="H1",
                results=["R1"],
                stance="supports",
                summary="b it is",
                belief=0.85,
                rationale="seen",
            ),
            call("transition_hypothesis", hypothesis="H1", to="supported", rationale="clear"),
            call("get_hypothesis", hypothesis="H1"),
            call("list_hypotheses"),
            FINISH,
            ALL,
        ],
    )
    state = state_of(log)
    assert state.hypotheses["H1"].state == "supported"
    assert state.ended == "finished by the agent"
    assert set(state.predictions) == {"AO2", "BO2"}
    assert state.refusals == []
    assert not any(m.error for m in sample_of(log).messages if isinstance(m, ChatMessageTool))
    assert [e.type for e in sample_of(log).store_as(RegistryStore).run.events][-1] == "RunEnded"
    shown = [e for e in sample_of(log).events if e.event == "info" and e.source == "hepbench registry"]
    assert "| H1 | de_novo | 0.5 → 0.85 | supported | all are b |" in "".join(
        sample_of(log).attachments.values()
    )
    assert len(shown) == 1


def test_open_hypotheses_are_reminded_of_once(tmp_path: Path) -> None:
    log = run(tmp_path, [PROPOSE, FINISH, FINISH, ALL])
    answers = [m.text for m in tool_answers(log, "finish_research")]
    assert "Still open: H1" in answers[0]
    assert answers[1].startswith("The research is over")
    assert state_of(log).hypotheses["H1"].state == "proposed"


def test_an_idle_model_is_nudged_and_then_asked_to_predict(tmp_path: Path) -> None:
    log = run(tmp_path, ["hm", "hm", "hm", ALL])
    assert sum("without calling a tool" in text for text in said_by_user(log)) == 2
    assert state_of(log).ended == "idle"
    assert len(state_of(log).predictions) == 2


def test_one_idle_answer_among_calls_ends_nothing(tmp_path: Path) -> None:
    log = run(tmp_path, ["hm", "hm", call("measure"), "hm", "hm", FINISH, ALL])
    assert state_of(log).ended == "finished by the agent"


@pytest.mark.parametrize("limits", [{"turn_limit": 3}, {"token_limit": 40}])
def test_a_research_limit_leads_to_the_prediction(tmp_path: Path, limits: dict[str, int]) -> None:
    log = run(tmp_path, [call("measure"), call("measure"), call("measure"), ALL], **limits)
    state = state_of(log)
    assert state.ended in ("turn limit", "token limit")
    assert len(state.predictions) == 2


def test_few_turns_left_are_announced(tmp_path: Path) -> None:
    log = run(tmp_path, [PROPOSE, *[call("measure")] * 11, ALL], turn_limit=12)
    assert next(t for t in said_by_user(log) if t.startswith("10 turns")).endswith("Still open: H1.")


def test_a_limit_of_the_sample_closes_the_record(tmp_path: Path) -> None:
    log = run(tmp_path, [PROPOSE], message_limit=6)
    assert sample_of(log).limit is not None
    assert state_of(log).ended == "message limit of the sample"


def test_partial_predictions_are_asked_for_again(tmp_path: Path) -> None:
    log = run(tmp_path, [FINISH, predict("AO2"), "that is all", predict("BO2")])
    assert any("BO2." in text and "No complete prediction" in text for text in said_by_user(log))
    assert set(state_of(log).predictions) == {"AO2", "BO2"}


def test_a_model_that_never_predicts_ends_all_the_same(tmp_path: Path) -> None:
    log = run(tmp_path, [FINISH, "no"])
    assert state_of(log).predictions == {}
    assert state_of(log).ended == "finished by the agent"


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


BROKEN: dict[str, Step] = {
    "missing argument": call("propose_hypothesis", statement="x"),
    "wrong type": call("propose_hypothesis", statement="x", prior="very", rationale="x"),
    "a number beyond floats": call("propose_hypothesis", statement="x", prior=10**400, rationale="x"),
    "extra argument": call("propose_hypothesis", statement="x", prior=0.5, rationale="x", state="supported"),
    "nested deeply": call("propose_hypothesis", statement="x", prior=0.5, rationale="x", scope=nested(900)),
    "nested without end": call("propose_hypothesis", statement=nested(9000), prior=0.5, rationale="x"),
    "half a character as name": call(
        "propose_hypothesis", statement="x", prior=0.5, rationale="x", **{"\ud83d": 1}
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_call_that_breaks_the_schema_is_on_record(tmp_path: Path, case: str) -> None:
    log = run(tmp_path, [BROKEN[case], PROPOSE, FINISH, FINISH, ALL])
    state = state_of(log)
    answer = tool_answers(log, "propose_hypothesis")[0]
    assert answer.error is not None
    assert list(state.hypotheses) == ["H1"]
    assert [(r.operation, r.gate) for r in state.refusals] == [("propose_hypothesis", "schema")]


def test_half_a_character_does_not_break_the_log(tmp_path: Path) -> None:
    half = "\ud83d"  # what is left of an emoji where a model's JSON was cut
    steps: list[Step] = [
        f"thinking {half}",
        call("propose_hypothesis", statement=f"big {half} cations pack", prior=0.5, rationale=half + "x"),
        call(f"no_{half}tool"),
        FINISH,
        FINISH,
        ALL,
    ]
    log = run(tmp_path, steps)
    assert log.status == "success"
    assert [h.statement for h in state_of(log).hypotheses.values()] == ["big ? cations pack"]
    read_eval_log(log.location)


def test_a_refusal_reaches_the_model_in_one_line(tmp_path: Path) -> None:
    bad = call("transition_hypothesis", hypothesis="H7", to="supported", rationale="x")
    log = run(tmp_path, [bad, FINISH, ALL])
    answer = tool_answers(log, "transition_hypothesis")[0]
    assert answer.error is not None
    assert answer.error.message.startswith("Refused (gate 7, moves): There is no hypothesis 'H7' here")
    assert "\n" not in answer.error.message


def test_the_laboratory_is_closed_in_the_prediction_phase(tmp_path: Path) -> None:
    log = run(tmp_path, [FINISH, call("measure"), PROPOSE, call("list_hypotheses"), ALL])
    state = state_of(log)
    assert state.results == {}
    assert state.hypotheses == {}
    assert tool_answers(log, "list_hypotheses")[0].error is None


def test_a_strangers_task_ends_without_a_prediction_phase(tmp_path: Path) -> None:
    log = run(tmp_path, [PROPOSE, call("measure"), FINISH, FINISH, ALL], predict=False)
    assert state_of(log).ended == "finished by the agent"
    assert not any("Held-out" in text for text in said_by_user(log))


def test_two_samples_at_once_do_not_mix(tmp_path: Path) -> None:
    log = run(tmp_path, [PROPOSE, call("measure"), FINISH, FINISH, ALL], epochs=4)
    assert log.samples
    runs = [s.store_as(RegistryStore) for s in log.samples]
    assert {r.state().run_id for r in runs} == {f"tiny/s/{epoch}" for epoch in (1, 2, 3, 4)}
    assert all(list(r.state().hypotheses) == ["H1"] and len(r.state().results) == 1 for r in runs)
