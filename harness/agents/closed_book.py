"""What a model knows already: the question and the sealed compounds, and no laboratory.

Famous compounds can be remembered. The difference between a harness and this one is what its research was
worth.
"""

from __future__ import annotations

from inspect_ai.solver import Generate, Solver, TaskState, solver

from hepbench.harness.agents.conduct import conduct, instruct
from hepbench.harness.agents.prompts import prompt
from hepbench.harness.agents.run import ResearchLimits, begin
from hepbench.harness.agents.window import window_of


@solver
def closed_book(context_limit: int | None = None) -> Solver:
    """Predict without any research.

    Args:
        context_limit: Context window in tokens; None for the task's own, else what Inspect knows.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        limits = ResearchLimits.of(state, context=context_limit)
        registry = begin(state, "closed_book", limits)
        state.tools = []
        instruct(state, prompt("closed_book"))
        return await conduct(state, registry, window_of(limits.context), research=None)

    return solve
