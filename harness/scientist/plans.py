"""How the scripted policies work under a harness that wants a plan: they write one, and close its steps.

A policy itself knows no plans. What it would do next says which step of the plan it is at.
"""

from __future__ import annotations

from collections.abc import Mapping

from hepbench.harness.scientist.conversation import Call, Conversation
from hepbench.harness.scientist.script import Turn

STEPS = (
    "Look up the prototypes, the compounds that may be measured, and their elements",
    "Compare the prototypes for compounds that lie far apart from each other",
    "Take the simplest rule that fits what was measured",
)
_STEP_OF: Mapping[str, int] = {
    "list_prototypes": 0,
    "element_properties": 0,
    "compare_structures": 1,
    "relax_structure": 1,
}


def by_plan(talk: Conversation, turn: Turn) -> Turn:
    """The turn, or what the plan asks for before it."""
    if "submit_plan" in talk.tools:
        why = "What was measured first should be as different as the family allows."
        return Turn("My plan.", (Call("submit_plan", {"steps": list(STEPS), "rationale": why}),))
    if "revise_plan" not in talk.tools:
        return turn
    closed = sum(answer.ok for answer in talk.answers("revise_plan"))
    return _closing(talk, closed) if closed < _step(turn) else turn


def _step(turn: Turn) -> int:
    """The step that a turn belongs to; whatever is no look-up and no measurement is the last one."""
    return max((_STEP_OF.get(call.tool, len(STEPS) - 1) for call in turn.calls), default=len(STEPS) - 1)


def _closing(talk: Conversation, step: int) -> Turn:
    measured = sum(answer.ok for answer in talk.answers("compare_structures"))
    outcome = f"{measured} compounds are measured." if measured else "I know what there is to measure."
    arguments = {"outcome": outcome, "steps": list(STEPS[step + 1 :]), "reason": "It went as planned."}
    return Turn(f"Step {step + 1} is done.", (Call("revise_plan", arguments),))
