"""What an agent did, as steps that compare across harnesses.

The rule is deterministic and reads the conversation alone: the tool that was called and what it answered.
A refused call counts under what it tried; a call that reached no tool (no such name, broken arguments) did
nothing and is no step. Where `docs/protocol.md` leaves a call open, the choice stands in this table:

* `attach_evidence` is `evidence`, followed by `belief` when the belief moved;
* a transition to a terminal state is `judgement`, one back to `under_test` (reopening, waking) is `update`,
  and a test begun is `plan`: it says what comes next, and measures nothing;
* looking something up (element data, prototypes, the registry) is `read`, a measurement is `test`, and so
  is every tool of a task that is not ours;
* ending the research is `plan`; so is an answer without a tool call, but for the final one, `predict`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool, ChatMessageUser
from inspect_ai.tool import ToolCall

Category = Literal[
    "hypothesis", "test", "evidence", "belief", "judgement", "update", "plan", "read", "predict"
]
CATEGORIES: tuple[Category, ...] = get_args(Category)

ANSWER_PHASE = {"phase": "answer"}
"""Metadata of the message that opens the last phase: predictions, or a stranger's answer."""

_BY_TOOL: Mapping[str, Category] = {
    "propose_hypothesis": "hypothesis",
    "refine_hypothesis": "update",
    "merge_hypotheses": "update",
    "attach_evidence": "evidence",
    "submit_plan": "plan",
    "revise_plan": "plan",
    "finish_research": "plan",
    "list_hypotheses": "read",
    "get_hypothesis": "read",
    "list_prototypes": "read",
    "element_properties": "read",
    "query_database": "read",
    "submit_predictions": "predict",
}
_TERMINAL = ("supported", "refuted", "dormant")


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        category: What it was.
        source: The tool that was called, or "text".
        refused: The tool did not do what was asked.
        text: The words, for a step that is text.
    """

    category: Category
    source: str
    refused: bool = False
    text: str = ""


@dataclass(frozen=True)
class Prose:
    """What a message says in words, beside its tool calls or without any; `default` is the rule's word."""

    text: str
    default: Category | None


def asks_for_answer(message: ChatMessage) -> bool:
    """Whether this message opens the last phase."""
    return isinstance(message, ChatMessageUser) and (message.metadata or {}).get("phase") == "answer"


def steps_of(
    messages: Sequence[ChatMessage], classified: Mapping[int, Category | None] | None = None
) -> list[Step]:
    """The steps of a conversation, in order.

    Args:
        messages: The whole conversation.
        classified: Position of a message → category of its words, or None for no step at all. Without it,
            words beside a tool call are no step, and those without one are `plan` or `predict`.
    """
    answers = {m.tool_call_id: m for m in messages if isinstance(m, ChatMessageTool)}
    given = {i: p.default for i, p in prose_of(messages).items()} | dict(classified or {})
    steps: list[Step] = []
    for position, message in enumerate(messages):
        if isinstance(message, ChatMessageAssistant):
            category = given.get(position)
            steps += [Step(category, "text", text=message.text)] if category else []
            for call in message.tool_calls or []:
                steps += _steps_of_call(call, answers.get(call.id))
    return steps


def prose_of(messages: Sequence[ChatMessage]) -> dict[int, Prose]:
    """What the agent said in words, by position in the conversation."""
    found: dict[int, Prose] = {}
    answering = False
    for position, message in enumerate(messages):
        answering = answering or asks_for_answer(message)
        if isinstance(message, ChatMessageAssistant) and message.text.strip():
            alone: Category = "predict" if answering else "plan"
            found[position] = Prose(message.text, None if message.tool_calls else alone)
    return found


def _steps_of_call(call: ToolCall, answer: ChatMessageTool | None) -> Iterator[Step]:
    if answer is None or (answer.error is not None and answer.error.type == "parsing"):
        return
    said = _json(answer) if call.function in _TOLD_BY_ANSWER else {}
    yield Step(_category(call, said), call.function, refused=answer.error is not None)
    if call.function == "attach_evidence" and said.get("belief_before") != said.get("belief"):
        yield Step("belief", call.function)


_TOLD_BY_ANSWER = frozenset({"attach_evidence", "transition_hypothesis"})
"""Tools of whose steps the answer says more than the call; those of others are long, and not read."""


def _category(call: ToolCall, said: Mapping[str, Any]) -> Category:
    if call.function != "transition_hypothesis":
        return _BY_TOOL.get(call.function, "test")
    if (said.get("to") or call.arguments.get("to")) in _TERMINAL:
        return "judgement"
    return "update" if said.get("from") in _TERMINAL else "plan"


def _json(answer: ChatMessageTool) -> Mapping[str, Any]:
    if answer.error is not None:
        return {}
    try:
        said = json.loads(answer.text)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def mix(steps: Iterable[Step]) -> dict[Category, float]:
    """The share of each category.

    Raises:
        ZeroDivisionError: there is no step.
    """
    counts = Counter(step.category for step in steps)
    return {category: counts[category] / counts.total() for category in CATEGORIES}


def flow(steps: Sequence[Step]) -> dict[Category, dict[Category, int]]:
    """How often a step of one category (row) was followed by one of another (column)."""
    counts = Counter(pairwise(step.category for step in steps))
    return {a: {b: counts[a, b] for b in CATEGORIES} for a in CATEGORIES}
