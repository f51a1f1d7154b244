"""The HEP agent: a model with a laboratory and a registry of hypotheses.

The laboratory is whatever tools the task put into the state, so the solver serves any task: ours, whose
setup opens the laboratory, or a stranger's with tools of its own.
"""

from __future__ import annotations

from inspect_ai.solver import Generate, Solver, TaskState, solver

from hepbench.harness.agents.conduct import conduct, instruct
from hepbench.harness.agents.finish import Finish, finish_tool
from hepbench.harness.agents.foreign import as_laboratory
from hepbench.harness.agents.prompts import prompt
from hepbench.harness.agents.run import Research, ResearchLimits, begin
from hepbench.harness.agents.window import window_of
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.tools import registry_read_tools, registry_tools


@solver
def hep(
    turn_limit: int | None = None, token_limit: int | None = None, context_limit: int | None = None
) -> Solver:
    """Research by the Hypothesis Evolution Protocol, then predict.

    Args:
        turn_limit: Model generations for the research phase; None for the task's own limit, else 150.
        token_limit: Tokens for the research phase; None for the task's own limit, if it has one.
        context_limit: Context window in tokens; None for the task's own, else what Inspect knows.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        limits = ResearchLimits.of(state, turn_limit, token_limit, context_limit)
        registry = begin(state, "hep", limits)
        instruct(state, _instructions(registry, limits))
        finish = Finish(registry)
        tools = [*as_laboratory(state.tools, registry), *registry_tools(), finish_tool(finish)]
        window = window_of(limits.context, lambda: _standing(registry))
        research = Research(
            tools=lambda: tools,
            limits=limits,
            window=window,
            is_finished=lambda: finish.finished,
            open_work=finish.open_hypotheses,
        )
        return await conduct(state, registry, window, research.run, registry_read_tools())

    return solve


def _instructions(registry: Registry, limits: ResearchLimits) -> str:
    rules = registry.state.rules
    return prompt(
        "hep",
        support_threshold=f"{rules.support_threshold:g}",
        refute_threshold=f"{rules.refute_threshold:g}",
        turn_limit=limits.turns,
    )


def _standing(registry: Registry) -> str:
    """The hypotheses in one line each, for a model that does not see its early rounds any more."""
    known = [
        f"{h.id} ({h.state}, P = {h.belief:g}): {h.statement}" for h in registry.state.hypotheses.values()
    ]
    results = (
        f"Results recorded so far: R1 to R{len(registry.state.results)}." if registry.state.results else ""
    )
    return "\n".join([f"{results} Your registry:", *known]) if known else results
