"""A conversation as a scripted policy sees it: the calls it made, what was answered, what is asked now.

Everything is read from the messages, at every step anew. Nothing else is known to a policy.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool, ChatMessageUser

_HELD_OUT = re.compile(r"^\W*held-out compounds\W*:(.*)$", re.IGNORECASE | re.MULTILINE)
_HURRY = re.compile(r"\s*\d+ turns? (?:are|is) left\b")
_LABELS = re.compile(r"^[^:\n]*\blabels?\b[^:\n]*:(.*)$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Call:
    """A tool call that a policy wants to make."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What makes two calls the same: the tool and its arguments."""
        return f"{self.tool} {json.dumps(self.arguments, sort_keys=True, ensure_ascii=False)}"


@dataclass(frozen=True)
class Answer:
    """What a tool said.

    Attributes:
        data: The JSON object of the answer; empty when it was refused or is not a JSON object.
        refusal: The tool's refusal, or "" when it did what was asked.
    """

    data: Mapping[str, Any]
    refusal: str = ""

    @property
    def ok(self) -> bool:
        """Whether the tool did what was asked."""
        return not self.refusal


@dataclass(frozen=True)
class Question:
    """What the prediction phase asks: labels for compounds never measured."""

    compounds: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Conversation:
    """The whole conversation, read once for one step.

    Attributes:
        exchanges: Calls with their answers, in order; an unanswered call is left out.
        question: The prediction asked for, once it has been asked.
        tools: Names of the tools that are offered now.
        hurried: The harness has said that few turns are left.
        digest: Hash of the conversation, from which ids are made.
        request: The last thing that a user said.
    """

    exchanges: tuple[tuple[Call, Answer], ...]
    question: Question | None
    tools: frozenset[str]
    hurried: bool
    digest: str
    request: str = ""

    def recorded(self) -> dict[str, deque[Answer]]:
        """The answers given so far by call, each in the order they came."""
        found: dict[str, deque[Answer]] = defaultdict(deque)
        for call, answer in self.exchanges:
            found[call.key].append(answer)
        return found

    def answers(self, tool: str) -> Iterator[Answer]:
        """What that tool answered, refusals included, in order."""
        return (answer for call, answer in self.exchanges if call.tool == tool)


def read(messages: Sequence[ChatMessage], tools: Iterable[str] = ()) -> Conversation:
    """Read a conversation; a prefix of one, or one that was trimmed, is a conversation too."""
    return Conversation(
        exchanges=tuple(_exchanges(messages)),
        question=_question(messages),
        tools=frozenset(tools),
        hurried=any(isinstance(m, ChatMessageUser) and _HURRY.match(m.text) for m in messages),
        digest=_digest(messages),
        request=next((m.text for m in reversed(messages) if isinstance(m, ChatMessageUser)), ""),
    )


def _exchanges(messages: Sequence[ChatMessage]) -> Iterator[tuple[Call, Answer]]:
    open_calls: dict[str, Call] = {}
    for message in messages:
        if isinstance(message, ChatMessageAssistant):
            open_calls |= {c.id: Call(c.function, c.arguments) for c in message.tool_calls or ()}
        elif isinstance(message, ChatMessageTool):
            call = open_calls.pop(message.tool_call_id or "", None)
            if call is not None:
                yield call, _answer(message)


def _answer(message: ChatMessageTool) -> Answer:
    if message.error is not None:
        return Answer({}, message.error.message or "The call failed.")
    text = message.text
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    if isinstance(data, dict):
        return Answer(data)
    return Answer({}, text) if text.startswith("Refused") else Answer({"text": text})


def _question(messages: Sequence[ChatMessage]) -> Question | None:
    for message in reversed(messages):
        if isinstance(message, ChatMessageUser) and (found := _HELD_OUT.search(message.text)):
            labels = _LABELS.search(message.text)
            return Question(_items(found[1]), _items(labels[1]) if labels else ())
    return None


def _items(line: str) -> tuple[str, ...]:
    names = (part.strip(" \t`'\"*.") for part in line.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def _digest(messages: Sequence[ChatMessage]) -> str:
    read_so_far = hashlib.sha256(str(len(messages)).encode())
    for message in messages:
        read_so_far.update(f"\x1e{message.role}\x1f{message.text}".encode("utf-8", "replace"))
        if isinstance(message, ChatMessageAssistant):
            calls = (Call(c.function, c.arguments).key for c in message.tool_calls or ())
            read_so_far.update("\x1f".join(calls).encode("utf-8", "replace"))
    return read_so_far.hexdigest()
