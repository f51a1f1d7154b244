"""The HEP agent: a model with a laboratory and a registry of hypotheses.

The laboratory is whatever tools the task put into the state, so the solver serves any task: ours, whose
setup opens the laboratory, or a stranger's with tools of its own.
"""

from __future__ import annotations

from inspect_ai.model import ChatMessageSystem
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError, span

from hepbench.harness.agents.finish import Finish, finish_tool
from hepbench.harness.agents.prediction import asks_for_predictions, prediction_phase
from hepbench.harness.agents.prompts import prompt
from hepbench.harness.agents.run import Research, ResearchLimits, begin, close
from hepbench.harness.protocol.tools import registry_read_tools, registry_tools


@solver
def hep(turn_limit: int = 150, token_limit: int | None = None) -> Solver:
    """Research by the Hypothesis Evolution Protocol, then predict.

    Args:
        turn_limit: Model generations for the research phase.
        token_limit: Tokens for the research phase; None for no limit.
    """
    limits = ResearchLimits(turns=turn_limit, tokens=token_limit)

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        registry = begin(state, "hep")
        rules = registry.state.rules
        system = prompt(
            "hep",
            support_threshold=f"{rules.support_threshold:g}",
            refute_threshold=f"{rules.refute_threshold:g}",
            turn_limit=limits.turns,
        )
        state.messages.insert(0, ChatMessageSystem(content=system))
        finish = Finish(registry)
        research = Research(
            tools=[*state.tools, *registry_tools(), finish_tool(finish)],
            limits=limits,
            is_finished=lambda: finish.finished,
            open_work=finish.open_hypotheses,
        )
        try:
            async with span("research"):
                ended = await research.run(state)
            if asks_for_predictions(state):
                async with span("prediction"):
                    await prediction_phase(state, registry, registry_read_tools())
        except LimitExceededError as limit:
            close(registry, f"{limit.type} limit of the sample")
            raise
        close(registry, ended)
        return state

    return solve
