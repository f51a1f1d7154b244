"""The prediction phase: the sealed compounds are named, and the agent applies its rule to them."""

from __future__ import annotations

from collections.abc import Sequence

from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import TaskState
from inspect_ai.tool import Tool, tool
from inspect_ai.util import apply_limits, turn_limit
from pydantic import BaseModel, Field

from hepbench.harness.agents.prompts import prompt
from hepbench.harness.agents.run import AnyTool, generate_turn
from hepbench.harness.agents.window import Window
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.tools import refusals_to_agent
from hepbench.harness.steps import ANSWER_PHASE
from hepbench.harness.text import to_text

PREDICTION_TURNS = 12
"""Turns of the prediction phase: enough to read the registry and to correct a call."""


class Entry(BaseModel):
    """One prediction as the tool takes it; its bounds are for the gates, which record a refusal."""

    compound: str = Field(description="formula of a held-out compound")
    label: str = Field(description="one of the labels")
    confidence: float = Field(description="probability that the label is right, from 0 to 1")


def asks_for_predictions(state: TaskState) -> bool:
    """Whether the task has sealed compounds; a stranger's task has none and ends by its own answer."""
    return "prediction" in state.metadata


async def prediction_phase(
    state: TaskState, registry: Registry, window: Window, read_tools: Sequence[AnyTool] = ()
) -> None:
    """Name the sealed compounds and take predictions until all are there or the turns are used."""
    asked = state.metadata["prediction"]
    compounds, labels = list(asked["compounds"]), list(asked["labels"])
    state.messages.append(_the_question(compounds, labels, registry_is_open=bool(read_tools)))
    tools = [prediction_tool(registry, compounds, labels), *read_tools]
    with apply_limits([turn_limit(PREDICTION_TURNS)], catch_errors=True):
        for _ in range(PREDICTION_TURNS):
            output = await generate_turn(state, tools, window)
            missing = [c for c in compounds if c not in registry.state.predictions]
            if not missing or output.stop_reason == "model_length":
                return
            if not output.message.tool_calls:
                nudge = prompt("nudge_prediction", missing=", ".join(missing))
                state.messages.append(ChatMessageUser(content=nudge))


def _the_question(
    compounds: Sequence[str], labels: Sequence[str], *, registry_is_open: bool
) -> ChatMessageUser:
    note = " You may still read the registry." if registry_is_open else ""
    named = {"compounds": ", ".join(compounds), "labels": ", ".join(labels)}
    return ChatMessageUser(content=prompt("prediction", **named, registry_note=note), metadata=ANSWER_PHASE)


def prediction_tool(registry: Registry, compounds: Sequence[str], labels: Sequence[str]) -> Tool:
    """The `submit_predictions` tool for these compounds and labels."""

    @tool(name="submit_predictions", parallel=False)
    def submit_predictions() -> Tool:
        async def execute(predictions: list[Entry], rule: str) -> str:
            """Submit your predictions for the held-out compounds, and the rule that they follow.

            Args:
                predictions: One entry for each held-out compound. A later call replaces the entries of the
                    compounds that it names.
                rule: The final rule in words.
            """
            with refusals_to_agent():
                missing = registry.predict([p.model_dump() for p in predictions], rule, compounds, labels)
            return to_text({"accepted": len(predictions), "missing": missing})

        return execute

    return submit_predictions()
