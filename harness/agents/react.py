"""The bare agent: the laboratory and a loop, neither plan nor registry."""

from __future__ import annotations

from inspect_ai.solver import Generate, Solver, TaskState, solver

from hepbench.harness.agents.conduct import conduct, instruct
from hepbench.harness.agents.finish import Finish, finish_tool
from hepbench.harness.agents.prompts import prompt
from hepbench.harness.agents.run import Research, ResearchLimits, begin
from hepbench.harness.agents.window import window_of


@solver
def react(
    turn_limit: int | None = None, token_limit: int | None = None, context_limit: int | None = None
) -> Solver:
    """Research with the laboratory alone, then predict.

    Args:
        turn_limit: Model generations for the research phase; None for the task's own limit, else 150.
        token_limit: Tokens for the research phase; None for the task's own limit, if it has one.
        context_limit: Context window in tokens; None for the task's own, else what Inspect knows.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        limits = ResearchLimits.of(state, turn_limit, token_limit, context_limit)
        registry = begin(state, "react", limits)
        instruct(state, prompt("react", turn_limit=limits.turns))
        finish = Finish(registry)
        tools = [*state.tools, finish_tool(finish)]
        window = window_of(limits.context)
        research = Research(
            tools=lambda: tools, limits=limits, window=window, is_finished=lambda: finish.finished
        )
        return await conduct(state, registry, window, research.run)

    return solve
