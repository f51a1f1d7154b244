"""The course of a run that all harnesses with a model share: research, then the answer that is asked for.

Our tasks ask for predictions of sealed compounds. A stranger's task has its own question and its own
scorer: there the run ends with the model's final answer, as `state.output.completion`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from inspect_ai.model import ChatMessageSystem, ChatMessageUser
from inspect_ai.solver import TaskState
from inspect_ai.util import LimitExceededError, span

from hepbench.harness.agents.prediction import asks_for_predictions, prediction_phase
from hepbench.harness.agents.prompts import prompt
from hepbench.harness.agents.run import AnyTool, close, generate_turn
from hepbench.harness.agents.window import Window
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.steps import ANSWER_PHASE


def instruct(state: TaskState, system: str) -> None:
    """Put the harness's instructions at the head, before a stranger's own system message."""
    state.messages.insert(0, ChatMessageSystem(content=system))


async def conduct(
    state: TaskState,
    registry: Registry,
    window: Window,
    research: Callable[[TaskState], Awaitable[str]] | None,
    read_tools: Sequence[AnyTool] = (),
) -> TaskState:
    """Run the phases and close the record, also when a limit of the sample ends it.

    Args:
        state: The sample's state.
        registry: The sample's record.
        window: What the model is shown of a long conversation.
        research: The research phase, which says how it ended; None for a harness without one.
        read_tools: Tools that stay open in the prediction phase.
    """
    ended = "no research phase"
    try:
        if research is not None:
            async with span("research"):
                ended = await research(state)
        if asks_for_predictions(state):
            async with span("prediction"):
                await prediction_phase(state, registry, window, read_tools)
        else:
            async with span("answer"):
                await answer_phase(state, window)
    except LimitExceededError as limit:
        close(registry, f"{limit.type} limit of the sample")
        raise
    close(registry, ended)
    return state


async def answer_phase(state: TaskState, window: Window) -> None:
    """Ask a stranger's question once more, for the answer alone."""
    state.messages.append(ChatMessageUser(content=prompt("answer"), metadata=ANSWER_PHASE))
    await generate_turn(state, [], window)
