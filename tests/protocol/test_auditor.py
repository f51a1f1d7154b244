"""Gate 8: another model looks at the evidence before the belief moves, and never blocks the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    execute_tools,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo
from inspect_ai.util import LimitExceededError, token_limit, turn_limit

from hepbench.harness.protocol import auditor as auditor_module
from hepbench.harness.protocol.auditor import verdict_in
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.state import RunState
from hepbench.harness.protocol.store import RegistryStore, start_registry
from hepbench.harness.protocol.tools import registry_tools

ATTACH: dict[str, Any] = {
    "hypothesis": "H1",
    "results": ["R1"],
    "stance": "supports",
    "summary": "ThO2 is fluorite",
    "belief": 0.7,
    "rationale": "one case",
}


@solver
def attaching(*changes: dict[str, Any]) -> Solver:
    """One hypothesis under test, two results (R2 untrusted), and attempts to attach evidence."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        registry = start_registry("run", ProtocolRules(), {}, journal="off")
        for checks in ({"converged": True}, {"converged": False}):
            answer = {"compound": "ThO2", "trusted": all(checks.values())}
            registry.record_result("relax_structure", {}, answer, checks, measurement=True)
        registry.propose("large cations take fluorite", 0.5, "room")
        registry.transition("H1", "under_test", "go")
        with token_limit(1_000), turn_limit(3):
            for change in changes:
                call = ToolCall(
                    id=f"c{len(state.messages)}", function="attach_evidence", arguments=ATTACH | change
                )
                state.messages.append(ChatMessageAssistant(content="", tool_calls=[call]))
                state.messages.extend((await execute_tools(state.messages, registry_tools())).messages)
        return state

    return solve


def run(tmp_path: Path, auditor: Model | str | None, *changes: dict[str, Any]) -> tuple[EvalSample, RunState]:
    task = Task(dataset=[Sample(id="s", input="?")], solver=attaching(*(changes or ({},))), name="tiny")
    roles: dict[str, Any] = {} if auditor is None else {"model_roles": {"auditor": auditor}}
    log: EvalLog = inspect_eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none", **roles)[
        0
    ]
    assert log.status == "success", log.error
    assert log.samples
    return log.samples[0], log.samples[0].store_as(RegistryStore).state()


def saying(answer: str | Callable[[str], str]) -> Model:
    def outputs(
        messages: list[ChatMessage], tools: list[ToolInfo], choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        text = answer if isinstance(answer, str) else answer(messages[-1].text)
        output = ModelOutput.from_content("auditor", text)
        output.usage = ModelUsage(input_tokens=5_000, output_tokens=7, total_tokens=5_007)
        return output

    return get_model("mockllm/auditor", custom_outputs=outputs, memoize=False)


def answers(sample: EvalSample) -> list[ChatMessageTool]:
    return [m for m in sample.messages if isinstance(m, ChatMessageTool)]


ACCEPTED = '{"verdict": "accepted", "reason": "R1 shows it"}'
UNTRUSTED = 'I think:\n```json\n{"verdict": "untrusted", "reason": "R1 is about another claim"}\n```'


def test_without_a_model_for_the_role_the_gate_is_off(tmp_path: Path) -> None:
    sample, state = run(tmp_path, None)
    assert state.evidence["E1"].audit is None
    assert state.hypotheses["H1"].belief == 0.7
    assert "audit" not in json.loads(answers(sample)[0].text)


def test_accepted_evidence_moves_the_belief(tmp_path: Path) -> None:
    sample, state = run(tmp_path, saying(ACCEPTED))
    assert state.evidence["E1"].audit == "accepted"
    assert state.hypotheses["H1"].belief == 0.7
    assert json.loads(answers(sample)[0].text)["audit"] == "accepted"


def test_distrusted_evidence_is_recorded_and_the_belief_stays(tmp_path: Path) -> None:
    sample, state = run(tmp_path, saying(UNTRUSTED))
    evidence = state.evidence["E1"]
    assert (evidence.audit, evidence.trusted) == ("untrusted", False)
    assert evidence.failed_checks == ("auditor: R1 is about another claim",)
    assert state.hypotheses["H1"].belief == 0.5
    events = sample.store_as(RegistryStore).run.events
    assert [e.type for e in events[-2:]] == ["EvidenceAttached", "EvidenceAudited"]
    assert events[-1].payload["auditor"] == "mockllm/auditor"
    assert "belief does not move" in answers(sample)[0].text


def test_the_auditor_sees_hypothesis_evidence_and_results(tmp_path: Path) -> None:
    seen: list[str] = []
    run(tmp_path, saying(lambda case: (seen.append(case), ACCEPTED)[1]))
    case = json.loads(seen[0])
    assert case["hypothesis"]["statement"] == "large cations take fluorite"
    assert (case["evidence"]["belief_before"], case["evidence"]["belief_after"]) == (0.5, 0.7)
    assert case["results"][0]["answer"] == {"result": "R1", "compound": "ThO2", "trusted": True}


def test_its_tokens_count_apart_and_against_no_limit_of_the_agent(tmp_path: Path) -> None:
    sample, state = run(tmp_path, saying(ACCEPTED))
    assert state.hypotheses["H1"].belief == 0.7  # 5,007 tokens did not meet the limit of 1,000
    assert sample.role_usage["auditor"].total_tokens == 5_007


def test_what_is_refused_or_distrusted_anyway_is_not_audited(tmp_path: Path) -> None:
    asked: list[str] = []
    auditor = saying(lambda case: (asked.append(case), ACCEPTED)[1])
    _, state = run(tmp_path, auditor, {"results": ["R9"]}, {"results": ["R2"]}, {"belief": 0.3})
    assert not asked
    assert [r.gate for r in state.refusals] == ["3, evidence", "5, direction"]
    assert state.evidence["E1"].audit is None


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "yes",
        "{}",
        '{"verdict": "fine", "reason": "x"}',
        '{"verdict": "accepted"}',
        '{"verdict": "accepted", "reason": ""}',
        '{"verdict": ["accepted"], "reason": "x"}',
        "[" * 10_000,
        "{" * 100_000,
        '{"verdict": "untrusted", "reason": 7}',
    ],
)
def test_nonsense_leaves_the_evidence_unaudited(tmp_path: Path, answer: str) -> None:
    verdict, reason = verdict_in(answer)
    assert verdict == "unaudited"
    assert "\n" not in reason
    assert len(reason) < 400


def test_nonsense_does_not_block_the_run(tmp_path: Path) -> None:
    _, state = run(tmp_path, saying("I would rather not say."))
    assert state.evidence["E1"].audit == "unaudited"
    assert state.evidence["E1"].trusted
    assert state.hypotheses["H1"].belief == 0.7


def test_text_that_no_log_can_hold_is_made_harmless(tmp_path: Path) -> None:
    bad = 'Look \ud800 \x1b[31m\n{"verdict": "untrusted", "reason": "R1 \ud800 is \\u001b[31m \\udc00 red"}'
    sample, state = run(tmp_path, saying(bad))
    assert state.evidence["E1"].failed_checks == ("auditor: R1 ? is [31m ? red",)
    logged = [e.output.message.text for e in sample.events if e.event == "model" and e.role == "auditor"]
    assert len(logged) == 1
    assert logged[0].startswith("Look ? ")


def test_a_failing_auditor_does_not_block_the_run(tmp_path: Path) -> None:
    def broken(case: str) -> str:
        raise RuntimeError("no connection\nat all")

    sample, state = run(tmp_path, saying(broken))
    assert state.evidence["E1"].audit == "unaudited"
    assert state.hypotheses["H1"].belief == 0.7
    reason = sample.store_as(RegistryStore).run.events[-2].payload["reason"]
    assert reason == "the auditor failed: RuntimeError: no connection at all"


def test_a_slow_auditor_does_not_block_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditor_module, "SECONDS", 0.1)

    async def slow(self: Model, *args: Any, **kwargs: Any) -> ModelOutput:
        await anyio.sleep(30)
        raise AssertionError

    monkeypatch.setattr(Model, "generate", slow)
    _, state = run(tmp_path, "mockllm/auditor")
    assert state.evidence["E1"].audit == "unaudited"
    assert state.hypotheses["H1"].belief == 0.7


def test_a_cost_limit_met_by_the_auditor_loses_no_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dear(self: Model, *args: Any, **kwargs: Any) -> ModelOutput:
        raise LimitExceededError("cost", value=2, limit=1)

    monkeypatch.setattr(Model, "generate", dear)
    _, state = run(tmp_path, "mockllm/auditor")
    assert state.evidence["E1"].audit == "unaudited"


@pytest.mark.parametrize(("belief", "audit"), [(0.7, "accepted"), (0.99, "untrusted")])
def test_the_scripted_auditor_weighs_the_step(tmp_path: Path, belief: float, audit: str) -> None:
    _, state = run(tmp_path, "hepbench/auditor", {"belief": belief})
    assert state.evidence["E1"].audit == audit
    assert state.hypotheses["H1"].belief == (belief if audit == "accepted" else 0.5)


def test_the_scripted_auditor_reads_nothing_but_a_case() -> None:
    async def ask() -> str:
        return (await get_model("hepbench/auditor").generate([ChatMessageUser(content="Hello?")])).completion

    assert verdict_in(anyio.run(ask))[0] == "unaudited"
