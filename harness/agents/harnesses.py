"""The harnesses by name, as `-T harness=…` takes them."""

from __future__ import annotations

from typing import Literal, get_args

from inspect_ai.solver import Solver

from hepbench.harness.agents.closed_book import closed_book
from hepbench.harness.agents.floors import decision_tree, majority, nearest_neighbour
from hepbench.harness.agents.hep import hep
from hepbench.harness.agents.planning import planning
from hepbench.harness.agents.react import react

HarnessName = Literal[
    "hep", "planning", "react", "closed_book", "majority", "nearest_neighbour", "decision_tree"
]
HARNESSES: tuple[HarnessName, ...] = get_args(HarnessName)

FLOORS: frozenset[HarnessName] = frozenset({"majority", "nearest_neighbour", "decision_tree"})
"""Reference points that ask no model."""

_WITH_RESEARCH = {"hep": hep, "planning": planning, "react": react}
_FLOORS = {"majority": majority, "nearest_neighbour": nearest_neighbour, "decision_tree": decision_tree}


def harness_solver(
    name: HarnessName,
    turn_limit: int | None = None,
    token_limit: int | None = None,
    context_limit: int | None = None,
) -> Solver:
    """The solver of that name. Limits are for harnesses with a research phase; floors have none."""
    if name in _FLOORS:
        return _FLOORS[name]()
    if name == "closed_book":
        return closed_book(context_limit)
    return _WITH_RESEARCH[name](turn_limit, token_limit, context_limit)
