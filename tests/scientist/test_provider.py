"""The provider: names, ids, usage, labels."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, GenerateConfig, ModelOutput, get_model
from inspect_ai.tool import ToolChoice, ToolInfo

from hepbench.harness.scientist.provider import ScriptedPolicy, hepbench_provider

LIST = [ToolInfo(name="list_prototypes", description="")]


def generate(name: str, tool_choice: ToolChoice = "auto") -> ModelOutput:
    policy = ScriptedPolicy(name)
    return asyncio.run(
        policy.generate([ChatMessageUser(content="Which?")], LIST, tool_choice, GenerateConfig())
    )


def test_inspect_finds_the_provider() -> None:
    assert hepbench_provider is not None
    assert str(get_model("hepbench/scientist")) == "hepbench/scientist"
    assert str(get_model("hepbench/hasty")) == "hepbench/hasty"


def test_an_unknown_name_gives_one_line_that_names_the_two() -> None:
    with pytest.raises(PrerequisiteError) as error:
        ScriptedPolicy("genius")
    said = str(error.value.message)
    assert "\n" not in said
    assert "hepbench/scientist" in said
    assert "hepbench/hasty" in said


def test_an_argument_is_refused() -> None:
    with pytest.raises(PrerequisiteError) as error:
        ScriptedPolicy("scientist", temperature=1)
    assert "takes no argument temperature" in str(error.value.message)


@pytest.mark.parametrize("name", ["scientist", "hasty"])
def test_output_is_labelled_and_counted(name: str) -> None:
    output = generate(name)
    assert output.metadata == {"policy": name, "kind": "scripted policy, not an LLM"}
    assert "not an LLM" in output.completion
    assert output.usage is not None
    assert output.usage.total_tokens == output.usage.input_tokens + output.usage.output_tokens > 0
    assert output.stop_reason == "tool_calls"


def test_no_tool_is_called_where_none_may_be() -> None:
    assert not generate("scientist", "none").message.tool_calls


def test_tokens_are_characters_over_four() -> None:
    policy = ScriptedPolicy("scientist")
    message = ChatMessageUser(content="12345678")
    assert asyncio.run(policy.count_text_tokens("123456789")) == 3
    assert asyncio.run(policy.count_tokens([message, message])) == 4
    assert asyncio.run(policy.count_tokens("")) == 0


def test_ids_are_unique_in_a_run(new_world: Any, play_run: Any) -> None:
    messages = [m for m in play_run("scientist", new_world()).messages if isinstance(m, ChatMessageAssistant)]
    calls = [call.id for m in messages for call in m.tool_calls or []]
    assert len({m.id for m in messages}) == len(messages)
    assert len(set(calls)) == len(calls)
