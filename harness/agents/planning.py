"""The planning baseline: plan → execute → replan, with the same laboratory and without a registry.

Until a plan is written the model has `submit_plan` alone. Then it carries out one step at a time with the
laboratory, and closes each with `revise_plan`, which keeps the plan or changes it, or ends the research.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inspect_ai.solver import Generate, Solver, TaskState, solver

from hepbench.harness.agents.conduct import conduct, instruct
from hepbench.harness.agents.finish import Finish, finish_tool
from hepbench.harness.agents.plan import Plan, PlanError, plan_tools, show, steps_in
from hepbench.harness.agents.prompts import prompt
from hepbench.harness.agents.run import AnyTool, Research, ResearchLimits, begin
from hepbench.harness.agents.window import window_of


@dataclass
class Desk:
    """One run's plan with the tools that each stage has."""

    plan: Plan
    planning: Sequence[AnyTool]
    executing: Sequence[AnyTool]

    def tools(self) -> Sequence[AnyTool]:
        """The plan first, then everything else."""
        return self.executing if self.plan.written else self.planning

    def hear(self, text: str) -> str:
        """Answer a text without a tool call: a numbered list is taken as the plan, if there is none."""
        if self.plan.written:
            return prompt("nudge_plan", now=self.plan.now)
        try:
            self.plan.submit(steps_in(text))
        except PlanError:
            return prompt("nudge_no_plan")
        show(self.plan, "Plan", "Taken from the model's text.")
        return f"Your plan is taken. {self.plan.now}"

    def standing(self) -> str:
        """The plan as it stands, for a model that does not see its early rounds any more."""
        return f"Your plan so far:\n{self.plan.markdown()}" if self.plan.written else ""


@solver
def planning(
    turn_limit: int | None = None, token_limit: int | None = None, context_limit: int | None = None
) -> Solver:
    """Research by plan, execution and replanning, then predict.

    Args:
        turn_limit: Model generations for the research phase; None for the task's own limit, else 150.
        token_limit: Tokens for the research phase; None for the task's own limit, if it has one.
        context_limit: Context window in tokens; None for the task's own, else what Inspect knows.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        limits = ResearchLimits.of(state, turn_limit, token_limit, context_limit)
        registry = begin(state, "planning", limits)
        instruct(state, prompt("planning", turn_limit=limits.turns))
        finish, plan = Finish(registry), Plan()
        submit, revise = plan_tools(plan, registry)
        desk = Desk(plan, [submit], [*state.tools, revise, finish_tool(finish)])
        window = window_of(limits.context, desk.standing)
        research = Research(
            tools=desk.tools,
            limits=limits,
            window=window,
            is_finished=lambda: finish.finished,
            open_work=lambda: plan.now,
            nudge=desk.hear,
        )
        return await conduct(state, registry, window, research.run)

    return solve
