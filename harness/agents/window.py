"""What of a long conversation the model is shown.

The record keeps every message (`state.messages`, and so the log). A model with a small context is shown the
opening, a reminder of where things stand, and the latest rounds. A round is an answer of the model with
what followed it, so that no tool call loses its answer.

Nothing here counts tokens in advance: the provider's own usage of the last turn decides, or its word that
the window is full. That needs no tokenizer, and so no download.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    ModelOutput,
    get_model,
    get_model_info,
)

from hepbench.harness.agents.prompts import prompt
from hepbench.harness.agents.usage import read_tokens
from hepbench.harness.steps import asks_for_answer

FULL_AT = 0.85
"""Share of the context window from which the oldest rounds are left out."""


@dataclass
class Window:
    """How much of one sample's conversation its model is shown.

    Attributes:
        limit: Context window in tokens; None where it is not known, and then only the provider's refusal
            of a prompt makes it shorter.
        reminder: What an agent whose early rounds are left out is told of them.
        left_out: Rounds left out so far.
    """

    limit: int | None = None
    reminder: Callable[[], str] = field(default=lambda: "")
    left_out: int = 0

    def shown(self, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
        """The messages that go to the model."""
        if not self.left_out:
            return list(messages)
        opening, rounds = split(messages)
        pinned = [m for r in rounds[: self.left_out] for m in r if asks_for_answer(m)]
        told = prompt("left_out", rounds=self.left_out, reminder=self.reminder())
        latest = [m for r in rounds[self.left_out :] for m in r]
        return [*opening, ChatMessageUser(content=told), *pinned, *latest]

    def shorten(self, messages: Sequence[ChatMessage]) -> bool:
        """Leave out the older half of the rounds in view; False when a single round is all that is left."""
        _, rounds = split(messages)
        in_view = len(rounds) - self.left_out
        if in_view <= 1:
            return False
        self.left_out += in_view // 2
        transcript().info(
            f"The context window is full: the oldest {self.left_out} of {len(rounds)} rounds are not shown "
            "to the model any more. The record keeps them.",
            source="hepbench context",
        )
        return True

    def make_room(self, messages: Sequence[ChatMessage], output: ModelOutput) -> None:
        """Shorten what is shown next when this turn came near the window's end."""
        if self.limit and output.usage and read_tokens(output.usage) > FULL_AT * self.limit:
            self.shorten(messages)


def split(messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], list[list[ChatMessage]]]:
    """The opening (all before the model's first answer) and the rounds."""
    opening: list[ChatMessage] = []
    rounds: list[list[ChatMessage]] = []
    for message in messages:
        if isinstance(message, ChatMessageAssistant):
            rounds.append([message])
        else:
            (rounds[-1] if rounds else opening).append(message)
    return opening, rounds


def window_of(limit: int | None, reminder: Callable[[], str] = lambda: "") -> Window:
    """A window of that many tokens; without a number, of what Inspect knows of the active model."""
    if limit is None:
        info = get_model_info(get_model())
        limit = info.context_length if info else None
    return Window(limit, reminder)
