"""What every harness shares: the start of the record, the research loop, and its limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    ModelOutput,
    execute_tools,
    get_model,
)
from inspect_ai.solver import TaskState
from inspect_ai.tool import ContentText, Tool, ToolDef
from inspect_ai.util import Limit, apply_limits, token_limit, turn_limit

from hepbench.harness.agents.prompts import prompt
from hepbench.harness.agents.usage import tally
from hepbench.harness.agents.window import Window
from hepbench.harness.messages import make_harmless
from hepbench.harness.protocol.durable import AUTO
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.store import current_registry, start_registry

MAX_IDLE = 3
"""Answers in a row without a tool call, after which the research counts as ended."""

WARN_AT = 10
"""Turns left at which the agent is told so."""

AnyTool = Tool | ToolDef


@dataclass(frozen=True)
class ResearchLimits:
    """Limits in force in a run.

    Attributes:
        turns: Generations of the research phase; reaching them leads to the prediction phase.
        tokens: Tokens of the research phase; likewise.
        context: Context window in tokens; None for what Inspect knows of the model.
    """

    turns: int = 150
    tokens: int | None = None
    context: int | None = None

    @classmethod
    def of(
        cls,
        state: TaskState,
        turns: int | None = None,
        tokens: int | None = None,
        context: int | None = None,
    ) -> ResearchLimits:
        """The limits given to the harness; where it was given none, those of the task.

        So `--solver hepbench/planning` works under the same limits as the task's own harness.
        """
        about = state.metadata.get("about", {})
        return cls(
            turns or about.get("turn_limit") or cls.turns,
            tokens or about.get("token_limit"),
            context or about.get("context_limit"),
        )

    def about(self) -> dict[str, int | None]:
        """As the record names them."""
        return {"turn_limit": self.turns, "token_limit": self.tokens, "context_limit": self.context}


@dataclass
class Research:
    """One research phase: its tools, and what the harness says when the agent idles.

    Attributes:
        tools: The tools of the next turn; a harness may change them between turns.
        limits: Turns and tokens.
        is_finished: Whether the agent has ended its research.
        open_work: What is told of unfinished work when few turns are left.
        nudge: The answer to a text without a tool call.
    """

    tools: Callable[[], Sequence[AnyTool]]
    limits: ResearchLimits
    window: Window
    is_finished: Callable[[], bool]
    open_work: Callable[[], str] = field(default=lambda: "")
    nudge: Callable[[str], str] = field(default=lambda _: prompt("nudge"))

    async def run(self, state: TaskState) -> str:
        """Let the model work until it finishes, idles, or meets a limit; returns how it ended."""
        limits: list[Limit] = [turn_limit(self.limits.turns)]
        limits += [token_limit(self.limits.tokens)] if self.limits.tokens else []
        with apply_limits(limits, catch_errors=True) as scope:
            return await self._turns(state)
        return f"{scope.limit_error.type if scope.limit_error else 'research'} limit"

    async def _turns(self, state: TaskState) -> str:
        idle = 0
        for turn in range(1, self.limits.turns + 1):
            output = await generate_turn(state, self.tools(), self.window)
            if self.is_finished():
                return "finished by the agent"
            if output.stop_reason == "model_length":
                return "context window full"
            idle = 0 if output.message.tool_calls else idle + 1
            if idle >= MAX_IDLE:
                return "idle"
            if idle:
                state.messages.append(ChatMessageUser(content=self.nudge(output.completion)))
            if self.limits.turns - turn == WARN_AT:
                state.messages.append(ChatMessageUser(content=self._warning()))
        return "turn limit"

    def _warning(self) -> str:
        return prompt("turns_left", turns=WARN_AT, open=self.open_work())


async def generate_turn(state: TaskState, tools: Sequence[AnyTool], window: Window) -> ModelOutput:
    """One model generation and the tool calls that it asks for, appended to the conversation."""
    state.output = await _generate(state, tools, window)
    make_harmless(state.output.message)
    state.messages.append(state.output.message)
    if state.output.message.tool_calls:
        answers = await execute_tools(state.messages, list(tools))
        state.messages.extend(answers.messages)
        record_unparsed(state.output.message, answers.messages)
        if answers.output is not None:
            state.output = answers.output
    else:
        _show_empty_hands(state.output)
    window.make_room(state.messages, state.output)
    return state.output


async def _generate(state: TaskState, tools: Sequence[AnyTool], window: Window) -> ModelOutput:
    """Generate; when the provider says that the prompt is too long, show less of it and ask again."""
    while True:
        output = await get_model().generate(window.shown(state.messages), tools=list(tools))
        tally(output.usage)
        if output.stop_reason != "model_length" or not window.shorten(state.messages):
            return output


def _show_empty_hands(output: ModelOutput) -> None:
    """Say in the log why a turn without a tool call brought nothing but text, unless text is all it is."""
    content = output.message.content
    refused = isinstance(content, list) and any(isinstance(c, ContentText) and c.refusal for c in content)
    said = "an empty answer" if not output.completion.strip() else "a refusal" if refused else "text"
    if said != "text" or output.stop_reason != "stop":
        transcript().info(
            f"The model called no tool: {said}, stop reason {output.stop_reason!r}.", source="hepbench turn"
        )


def begin(state: TaskState, harness: str, limits: ResearchLimits | None = None) -> Registry:
    """Start the sample's record, with the rules and provenance that the task put into its metadata.

    The run's id is the same for the same sample and epoch, so that two runs differ in their times alone.

    Args:
        state: The sample's state. What its task says of the run is corrected to what is in force: another
            solver may have taken the harness's place, with limits of its own.
        harness: Name of the harness.
        limits: Those in force; None for a harness that has none.
    """
    about = {**state.metadata.get("about", {}), "harness": harness, **(limits.about() if limits else {})}
    if "about" in state.metadata:
        state.metadata["about"] = about
    rules = ProtocolRules.model_validate(state.metadata.get("rules", {}))
    run_id = f"{about.get('task', 'task')}/{state.sample_id}/{state.epoch}"
    return start_registry(run_id, rules, about, journal=str(state.metadata.get("journal", AUTO)))


def record_unparsed(message: ChatMessageAssistant, answers: Sequence[object]) -> None:
    """Put calls on record that broke the tool's schema and so never reached the gates."""
    calls = {call.id: call for call in message.tool_calls or []}
    for answer in answers:
        if not isinstance(answer, ChatMessageTool) or answer.error is None:
            continue
        call = calls.get(answer.tool_call_id or "")
        if call is not None and answer.error.type == "parsing":
            arguments = call.arguments if isinstance(call.arguments, dict) else {}
            current_registry().refuse(call.function, arguments, "schema", answer.error.message)


def close(registry: Registry, reason: str) -> None:
    """End the record, and show the hypotheses in the log as a table."""
    registry.end(reason)
    if registry.state.hypotheses:
        transcript().info(hypotheses_markdown(registry), source="hepbench registry")


def hypotheses_markdown(registry: Registry) -> str:
    """The hypotheses as a Markdown table."""
    rows = ["| id | from | P(H) | state | statement |", "| --- | --- | --- | --- | --- |"]
    for h in registry.state.hypotheses.values():
        lineage = " ".join((h.mechanism, *h.parents))
        statement = h.statement.replace("|", "\\|").replace("\n", " ")
        rows.append(f"| {h.id} | {lineage} | {h.prior:g} → {h.belief:g} | {h.state} | {statement} |")
    return "\n".join(rows)
