"""Step categories by rule and by a grader; costs; what a reader makes of the record."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from inspect_ai import score
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import Score
from inspect_ai.tool import ToolCall, ToolCallError

from hepbench.harness.steps import ANSWER_PHASE, flow, mix, steps_of
from hepbench.scorers import suite_scorers
from hepbench.scorers.transfer import predictions_in

Run = Callable[..., EvalLog]


def did(tool: str, answer: Any = "ok", error: str = "", say: str = "", **arguments: Any) -> list[ChatMessage]:
    call = ToolCall(id=f"{tool}-{id(arguments)}", function=tool, arguments=arguments)
    kind = "parsing" if error.startswith("Tool ") else "unknown"
    failed = ToolCallError(kind, error) if error else None
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return [
        ChatMessageAssistant(content=say, tool_calls=[call]),
        ChatMessageTool(content=text, tool_call_id=call.id, function=tool, error=failed),
    ]


RULE: dict[str, tuple[list[ChatMessage], list[str]]] = {
    "propose": (did("propose_hypothesis"), ["hypothesis"]),
    "refused": (did("propose_hypothesis", error="Refused (gate 1)"), ["hypothesis"]),
    "refine": (did("refine_hypothesis"), ["update"]),
    "moved": (did("attach_evidence", {"belief_before": 0.5, "belief": 0.7}), ["evidence", "belief"]),
    "not moved": (did("attach_evidence", {"belief_before": 0.5, "belief": 0.5}), ["evidence"]),
    "refused evidence": (did("attach_evidence", error="Refused (gate 3)", belief=0.9), ["evidence"]),
    "test begun": (did("transition_hypothesis", {"from": "proposed", "to": "under_test"}), ["plan"]),
    "verdict": (did("transition_hypothesis", {"from": "under_test", "to": "refuted"}), ["judgement"]),
    "refused verdict": (
        did("transition_hypothesis", error="Refused (gate 6)", to="supported"),
        ["judgement"],
    ),
    "reopened": (did("transition_hypothesis", {"from": "refuted", "to": "under_test"}), ["update"]),
    "look-up": (did("element_properties", {"result": "R1"}), ["read"]),
    "measured": (did("compare_structures", {"result": "R1"}), ["test"]),
    "a stranger's tool": (did("bash", "total 0"), ["test"]),
    "no such tool": (did("warp", error="Tool warp not found"), []),
    "words beside a call": (did("compare_structures", say="I believe it now."), ["test"]),
    "words alone": ([ChatMessageAssistant(content="Next I measure.")], ["plan"]),
    "silence": ([ChatMessageAssistant(content="  ")], []),
    "the answer": (
        [ChatMessageUser(content="Now answer", metadata=ANSWER_PHASE), ChatMessageAssistant(content="42")],
        ["predict"],
    ),
    "predicted": (did("submit_predictions"), ["predict"]),
}


@pytest.mark.parametrize("case", RULE)
def test_the_rule(case: str) -> None:
    messages, categories = RULE[case]
    assert [s.category for s in steps_of(messages)] == categories


def test_mix_and_flow() -> None:
    steps = steps_of([*did("bash"), *did("bash"), *did("propose_hypothesis"), *did("bash")])
    assert mix(steps)["test"] == 0.75
    matrix = flow(steps)
    assert matrix["test"]["test"] == 1
    assert matrix["test"]["hypothesis"] == matrix["hypothesis"]["test"] == 1
    assert sum(n for row in matrix.values() for n in row.values()) == 3


def scores_of(log: EvalLog) -> dict[str, Score]:
    assert log.status == "success", log.error
    assert log.samples
    return log.samples[0].scores or {}


def saying(text: str) -> Model:
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return get_model("mockllm/model", custom_outputs=lambda *_: output, memoize=False)


def test_a_grader_sorts_free_text(run_halides: Run, scripted: Callable[..., Model]) -> None:
    compare = ModelOutput.for_tool_call(
        "m", "compare_structures", {"compound": "LiF", "prototypes": ["CsCl", "rock salt"]}
    )
    compare.choices[0].message.content = "So large cations take CsCl, I am sure now."
    finish = ("finish_research", {"summary": "x"})
    grader = saying("1: belief\n2. **plan**\n3: nonsense\n99: test")
    steps = [compare, "I shall stop.", finish, "no"]
    log = run_halides("react", scripted(steps), model_roles={"grader": grader})
    found = scores_of(log)
    assert (found["step_flow"].metadata or {})["sequence"][:4] == ["belief", "test", "plan", "plan"]
    assert (found["step_mix"].metadata or {})["classified_by"] == "mockllm/model"
    plain = scores_of(run_halides("react", scripted(steps)))
    assert (plain["step_flow"].metadata or {})["sequence"][:3] == ["test", "plan", "plan"]
    assert (plain["step_mix"].metadata or {})["classified_by"] == "rule"


def supported_in(run: dict[str, str]) -> list[Any]:
    """The calls by which hypotheses come to be supported, or not: statement → verdict."""
    steps: list[Any] = []
    anions = ("F", "Cl", "I")
    for n, (statement, verdict) in enumerate(run.items(), 1):
        name = f"H{n}"
        begin = {"hypothesis": name, "to": "under_test", "rationale": "go"}
        compared = {"compound": f"Li{anions[n - 1]}", "prototypes": ["rock salt", "CsCl"]}
        seen = {"summary": "seen", "belief": 0.9 if verdict == "supported" else 0.6, "rationale": "seen"}
        steps += [
            ("propose_hypothesis", {"statement": statement, "prior": 0.5, "rationale": "to be seen"}),
            ("transition_hypothesis", begin),
            ("compare_structures", compared),
            ("attach_evidence", {"hypothesis": name, "results": [f"R{n}"], "stance": "supports", **seen}),
            ("transition_hypothesis", {"hypothesis": name, "to": verdict, "rationale": "now"}),
        ]
    return [*steps, ("finish_research", {"summary": "x"}), "no"]


def test_a_reader_predicts_from_the_record_alone(run_halides: Run, scripted: Callable[..., Model]) -> None:
    asked: list[str] = []
    lines = "NaCl: rock salt\n* KBr: `ROCK SALT`\nRbI: CsCl\nCsF: CsCl.\nCsCl: CsCl\nCsBr: CsCl\nCsI: glass"
    output = ModelOutput.from_content("mockllm/model", lines)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)

    def answer(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        asked.append(messages[-1].text)
        return output

    reader = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    steps = supported_in({"large cations take CsCl": "supported", "fluorides melt early": "dormant"})
    log = run_halides("hep", scripted(steps), model_roles={"reader": reader})
    found = scores_of(log)["rule_transfer"]
    assert found.value == {"rule_transfer": 5 / 8, "rule_transfer_gain": 5 / 8}  # the agent predicted nothing
    assert len(asked) == 1
    assert "radius of A 1.67" in asked[0]
    assert "* CsF: A = Cs, X = F;" in asked[0]
    assert "large cations take CsCl" in asked[0]
    assert "fluorides" not in asked[0]
    for harness, model, reason in (
        ("react", scripted(["no"]), "no_registry"),
        ("hep", scripted(["no"]), "nothing_supported"),
    ):
        found = scores_of(run_halides(harness, model, model_roles={"reader": reader}))["rule_transfer"]
        assert found.reason == reason
    assert len(asked) == 1


def test_labels_are_read_line_by_line() -> None:
    said = predictions_in("AB: b\nAB: c\nC D: x\nEF - b\n| GH | : c", ["AB", "GH"], ["b", "c"])
    assert said == {"AB": "c", "GH": "c"}


def test_costs_survive_a_rescoring(run_halides: Run) -> None:
    log = run_halides("react", "hepbench/hasty")
    value = scores_of(log)["costs"].value
    assert isinstance(value, dict)
    usage = log.stats.model_usage["hepbench/hasty"]
    assert (value["input_tokens"], value["output_tokens"]) == (usage.input_tokens, usage.output_tokens)
    assert math.isnan(float(str(value["money"])))
    assert value["model_calls"] == sum(e.event == "model" for e in (log.samples or [])[0].events)
    again = score(read_eval_log(log.location), suite_scorers(), action="overwrite", display="none")
    before, after = scores_of(log), scores_of(again)
    assert before["costs"].as_dict() == pytest.approx(after["costs"].as_dict(), nan_ok=True)
    for name in ("step_mix", "step_flow"):
        assert before[name].value == after[name].value
