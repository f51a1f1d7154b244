"""The Inspect model provider of the scripted policies, `hepbench/scientist` and `hepbench/hasty`.

They are not LLMs. They let the whole benchmark run offline, without a key and without cost, and give the
scorers a good and a bad example. Each is a pure function of the conversation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from inspect_ai._util.error import PrerequisiteError  # prints one line and exits 1, with no traceback
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo

from hepbench.harness.scientist.auditor import auditor
from hepbench.harness.scientist.conversation import Conversation, read
from hepbench.harness.scientist.hasty import hasty
from hepbench.harness.scientist.plans import by_plan
from hepbench.harness.scientist.scientist import scientist
from hepbench.harness.scientist.script import Policy, Turn

POLICIES: Mapping[str, Policy] = {"scientist": scientist, "hasty": hasty, "auditor": auditor}
"""The models there are: `hepbench/<name>`."""

KIND = "scripted policy, not an LLM"
CHARACTERS_A_TOKEN = 4
"""Tokens are counted as characters over four, rounded up: no tokenizer, no download."""


@modelapi(name="hepbench")
def hepbench_provider() -> type[ModelAPI]:
    """The scripted policies as an Inspect provider."""
    return ScriptedPolicy


class ScriptedPolicy(ModelAPI):
    """A scripted policy behind Inspect's model interface. Not an LLM.

    Raises:
        PrerequisiteError: no policy has that name, or an argument was given; a policy has no settings.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - Inspect's own signature
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if model_name not in POLICIES:
            known = ", ".join(f"hepbench/{name}" for name in POLICIES)
            raise PrerequisiteError(f"hepbench/{model_name}: no such scripted policy; there are {known}")
        if model_args:
            raise PrerequisiteError(
                f"hepbench/{model_name} takes no argument {', '.join(sorted(model_args))}"
            )
        self.policy = POLICIES[model_name]

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 - Inspect's own signature
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,  # noqa: ARG002
    ) -> ModelOutput:
        """The policy's next turn for this conversation."""
        offered = [] if tool_choice == "none" else [tool.name for tool in tools]
        talk = read(input, offered)
        turn = by_plan(talk, self.policy(talk))
        message = _message(turn, talk, f"hepbench/{self.model_name}")
        read_tokens = _tokens(*map(_text, input), *map(_tool_text, tools))
        said_tokens = _tokens(_text(message))
        return ModelOutput(
            model=f"hepbench/{self.model_name}",
            choices=[
                ChatCompletionChoice(
                    message=message, stop_reason="tool_calls" if message.tool_calls else "stop"
                )
            ],
            usage=ModelUsage(
                input_tokens=read_tokens, output_tokens=said_tokens, total_tokens=read_tokens + said_tokens
            ),
            metadata={"policy": self.model_name, "kind": KIND},
        )

    async def count_text_tokens(self, text: str) -> int:
        """Characters over four, rounded up."""
        return _tokens(text)

    async def count_tokens(
        self,
        input: str | list[ChatMessage],  # noqa: A002 - Inspect's own signature
        config: GenerateConfig | None = None,  # noqa: ARG002
    ) -> int:
        """Characters of all texts and tool calls over four, rounded up."""
        return _tokens(input) if isinstance(input, str) else _tokens(*map(_text, input))


def _message(turn: Turn, talk: Conversation, model: str) -> ChatMessageAssistant:
    """A turn as a message, with ids that depend on the conversation alone."""
    calls = [
        ToolCall(id=f"call-{talk.digest[:12]}-{i}", function=call.tool, arguments=dict(call.arguments))
        for i, call in enumerate(turn.calls, start=1)
    ]
    return ChatMessageAssistant(
        id=f"msg-{talk.digest[:16]}",
        content=turn.say,
        tool_calls=calls or None,
        model=model,
        source="generate",
    )


def _text(message: ChatMessage) -> str:
    calls = message.tool_calls or [] if isinstance(message, ChatMessageAssistant) else []
    return message.text + "".join(c.function + json.dumps(c.arguments) for c in calls)


def _tool_text(tool: ToolInfo) -> str:
    return tool.name + tool.description + tool.parameters.model_dump_json(exclude_none=True)


def _tokens(*texts: str) -> int:
    return -(-sum(map(len, texts)) // CHARACTERS_A_TOKEN)
