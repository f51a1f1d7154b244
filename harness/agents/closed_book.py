"""What a model knows already: the question and the sealed compounds, and no laboratory.

Famous compounds can be remembered. The difference between a harness and this one is what its research was
worth.
"""

from __future__ import annotations

from inspect_ai.solver import Generate, Solver, TaskState, solver

from hepbench.harness.agents.conduct import conduct, instruct
from hepbench.harness.agents.prompts import prompt
from hepbench.harness.agents.run import begin
from hepbench.harness.agents.window import window_of


@solver
def closed_book(context_limit: int | None = None) -> Solver:
    """Predict without any research.

    Args:
        context_limit: Context window in tokens, for a model that Inspect does not know.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        registry = begin(state, "closed_book")
        state.tools = []
        instruct(state, prompt("closed_book"))
        return await conduct(state, registry, window_of(context_limit), research=None)

    return solve
