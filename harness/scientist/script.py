"""A policy as a script that is replayed over the conversation.

A script is a generator: it yields a `Turn` (what to say and which tools to call), is sent the answers,
and goes on. At every step the script is started afresh and fed with the answers that the conversation
holds; the first turn whose answers are not there yet is the next thing to do. So a policy reads like the
plan of a study, and yet it is a pure function of the conversation: no state, no clock, no chance.

Answers are found by what was called, not by position, so a trimmed conversation leads to a repeated
call at worst.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from hepbench.harness.scientist.conversation import Answer, Call, Conversation

T = TypeVar("T")


@dataclass(frozen=True)
class Turn:
    """One step: the words of the message and its tool calls (none ends the policy's say)."""

    say: str
    calls: tuple[Call, ...] = ()


Script = Generator[Turn, list[Answer], T]
"""A script that returns a T when it has nothing more to do."""

Policy = Callable[[Conversation], Turn]
"""What a scripted model is: the next turn for a conversation."""


def replay(script: Script[Any], talk: Conversation) -> Turn | None:
    """Run a script over a conversation.

    A call whose tool was never offered is answered with a refusal at once, so that a script copes with
    other tool sets (no registry, no laboratory, the laboratory closed) as it copes with any refusal.

    Returns:
        The first turn that still waits for answers, or None when the script has nothing more to do.
    """
    recorded = talk.recorded()
    try:
        turn = next(script)
        while True:
            answers = [_answer(call, recorded, talk) for call in turn.calls]
            waiting = tuple(c for c, a in zip(turn.calls, answers, strict=True) if a is None)
            if waiting:
                return Turn(turn.say, waiting)
            turn = script.send([a for a in answers if a is not None])
    except StopIteration:
        return None


def _answer(call: Call, recorded: dict[str, deque[Answer]], talk: Conversation) -> Answer | None:
    answers = recorded.get(call.key)
    if answers:
        return answers.popleft()
    if call.tool not in talk.tools:
        return Answer({}, f"There is no tool {call.tool} now.")
    return None


def one(say: str, tool: str, **arguments: object) -> Script[Answer]:
    """A turn with a single call."""
    (answer,) = yield Turn(say, (Call(tool, arguments),))
    return answer
