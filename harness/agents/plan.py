"""A plan and its revisions, the two tools that write them, and how they read in the log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from inspect_ai.log import transcript
from inspect_ai.tool import Tool, ToolError, tool

from hepbench.harness.protocol.registry import Registry
from hepbench.harness.text import clean, to_text

PLAN_TOOLS = ("submit_plan", "revise_plan")

MAX_STEPS = 40
MAX_STEP = 500
"""Characters of one step."""
MAX_TEXT = 4_000
"""Characters of an outcome or a reason; as the registry's own texts."""

_EXAMPLE = (
    'submit_plan(steps=["Compare all prototypes for TiO2 and ZrO2", "…"], rationale="they differ in radius")'
)
_NUMBERED = re.compile(r"^\s*(?:\*\*)?(?:step\s+)?\d{1,2}[.):]\s+(.+)$", re.IGNORECASE | re.MULTILINE)


class PlanError(ValueError):
    """A plan that cannot be taken; the message is one line."""


@dataclass
class Plan:
    """A numbered plan: steps done, with what came of them, and steps ahead. The first of those is in hand."""

    done: list[tuple[str, str]] = field(default_factory=list)
    ahead: list[str] = field(default_factory=list)
    revisions: int = 0
    written: bool = False

    def submit(self, steps: Sequence[str]) -> None:
        """Write the plan.

        Raises:
            PlanError: there is a plan already, or the steps are not usable.
        """
        if self.written:
            raise PlanError("There is a plan already; close its step in hand with revise_plan.")
        self.ahead = _usable(steps, least=1)
        self.written = True

    def revise(self, outcome: str, steps: Sequence[str]) -> bool:
        """Close the step in hand with its outcome, and say which steps are ahead now.

        Returns:
            Whether the steps ahead differ from those of the plan so far.

        Raises:
            PlanError: there is no plan, or the outcome or the steps are not usable.
        """
        if not self.written:
            raise PlanError("There is no plan yet; write one with submit_plan.")
        came = _text(outcome, "outcome", MAX_TEXT)
        ahead = _usable(steps, least=0)
        in_hand, rest = (self.ahead[0], self.ahead[1:]) if self.ahead else ("(beyond the plan)", [])
        self.done.append((in_hand, came))
        self.ahead = ahead
        changed = ahead != rest
        self.revisions += changed
        return changed

    @property
    def now(self) -> str:
        """What is to be done now."""
        if self.ahead:
            return f"Carry out step {len(self.done) + 1}: {self.ahead[0]}"
        return "Nothing is left of the plan. Call finish_research."

    def numbered(self) -> list[str]:
        """The steps ahead, with their numbers."""
        return [f"{n}. {step}" for n, step in enumerate(self.ahead, len(self.done) + 1)]

    def markdown(self) -> str:
        """The whole plan as a list, with the outcomes of what is done."""
        done = [f"{n}. ~~{step}~~: {came}" for n, (step, came) in enumerate(self.done, 1)]
        return "\n".join([*done, *self.numbered()])


def _usable(steps: Sequence[str], least: int) -> list[str]:
    if not least <= len(steps) <= MAX_STEPS:
        raise PlanError(f"A plan has {least} to {MAX_STEPS} steps, not {len(steps)}.")
    return [_text(step, "step", MAX_STEP) for step in steps]


def _text(value: str, what: str, limit: int) -> str:
    text = " ".join(clean(value).split())
    if not text or len(text) > limit:
        raise PlanError(f"The {what} must have 1 to {limit} characters; it has {len(text)}.")
    return text


def steps_in(text: str) -> list[str]:
    """The numbered lines of a text: a plan that was written as prose."""
    return [found.strip(" *")[:MAX_STEP] for found in _NUMBERED.findall(text)][:MAX_STEPS]


def show(plan: Plan, title: str, why: str = "") -> None:
    """Put the plan as it stands into the log."""
    transcript().info(f"**{title}.** {why}\n\n{plan.markdown()}".strip(), source="hepbench plan")


def plan_tools(plan: Plan, registry: Registry) -> tuple[Tool, Tool]:
    """The tools `submit_plan` and `revise_plan` over one run's plan."""
    return _submit_tool(plan, registry), _revise_tool(plan, registry)


@contextmanager
def _refusals(registry: Registry, operation: str, arguments: dict[str, object]) -> Iterator[None]:
    try:
        yield
    except PlanError as e:
        registry.refuse(operation, arguments, "plan", str(e))
        raise ToolError(f"Refused (plan): {e} A valid call: {_EXAMPLE}") from e


def _submit_tool(plan: Plan, registry: Registry) -> Tool:
    @tool(name="submit_plan", parallel=False)
    def submit_plan() -> Tool:
        async def execute(steps: list[str], rationale: str) -> str:
            """Write your plan, before anything is measured.

            Args:
                steps: The steps in order, without numbers, each one thing to do.
                rationale: Why this plan leads to the answer.
            """
            with _refusals(registry, "submit_plan", {"steps": steps}):
                plan.submit(steps)
            show(plan, "Plan", clean(rationale))
            return to_text({"plan": plan.numbered(), "now": plan.now})

        return execute

    return submit_plan()


def _revise_tool(plan: Plan, registry: Registry) -> Tool:
    @tool(name="revise_plan", parallel=False)
    def revise_plan() -> Tool:
        async def execute(outcome: str, steps: list[str], reason: str) -> str:
            """Close the step that you carried out, and say how the plan goes on.

            Args:
                outcome: What came of the step in hand.
                steps: All steps that are ahead now, in order, without numbers: the rest of the plan as it
                    was, or changed. Empty when nothing is left to do.
                reason: Why the plan stays as it is, or why it changes.
            """
            with _refusals(registry, "revise_plan", {"outcome": outcome, "steps": steps}):
                changed = plan.revise(outcome, steps)
            title = f"After step {len(plan.done)}, {'the plan changes' if changed else 'the plan stays'}"
            show(plan, title, clean(reason))
            return to_text({"changed": changed, "plan": plan.numbered(), "now": plan.now})

        return execute

    return revise_plan()
