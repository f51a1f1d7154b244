"""Reference points that need no model: what a table says once every exploration compound is measured.

They know the lowest phase of *all* exploration compounds, which no agent's budget buys, and nothing of the
sealed ones but their elements. Each is an ordinary solver and leaves an ordinary log; run them with
`--model none/none`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from inspect_ai._util.error import PrerequisiteError  # prints one line and exits 1, with no traceback
from inspect_ai.log import transcript
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from hepbench.harness.agents import tree
from hepbench.harness.agents.run import begin, close
from hepbench.harness.descriptors import Site, describe, table

KIND = "no model: a reference point"

Guess = tuple[str, float]
"""A label and the confidence in it."""


@dataclass(frozen=True)
class Survey:
    """What a full exploration would have measured, and what is asked.

    Attributes:
        measured: Exploration compound → its label.
        asked: The sealed compounds.
        columns: Names of the descriptors.
        rows: Compound → its descriptors.
    """

    measured: Mapping[str, str]
    asked: Sequence[str]
    columns: Sequence[str]
    rows: Mapping[str, Sequence[float]]


Floor = Callable[[Survey], tuple[dict[str, Guess], str]]
"""Makes a guess for each compound asked, and says its rule in words."""


@solver
def majority() -> Solver:
    """Always the most frequent label of the exploration compounds."""
    return _floor("majority", by_majority)


@solver
def nearest_neighbour() -> Solver:
    """The label of the exploration compound that is nearest in the space of element descriptors."""
    return _floor("nearest_neighbour", by_neighbour)


@solver
def decision_tree() -> Solver:
    """A tree of depth three over element descriptors, grown on all exploration compounds."""
    return _floor("decision_tree", by_tree)


def _floor(name: str, guess: Floor) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        survey = survey_of(state, name)
        registry = begin(state, name)
        guesses, rule = guess(survey)
        entries = [{"compound": c, "label": g[0], "confidence": round(g[1], 4)} for c, g in guesses.items()]
        registry.predict(entries, rule, survey.asked, state.metadata["prediction"]["labels"])
        transcript().info(f"{KIND} ({name}). {rule}", source="hepbench floor")
        state.output = ModelOutput.from_content("none", rule)
        close(registry, "no agent: a reference point")
        return state

    return solve


def survey_of(state: TaskState, name: str = "floor") -> Survey:
    """The survey that the task put into the sample's metadata.

    Raises:
        PrerequisiteError: it is not a task with a full exploration to look at.
    """
    try:
        measured = {row["compound"]: row["labels"][0] for row in state.metadata["exploration"]}
        sites = {c: [Site(**s) for s in found] for c, found in state.metadata["compositions"].items()}
        asked = list(state.metadata["prediction"]["compounds"])
    except KeyError as e:
        raise PrerequisiteError(
            f"hepbench/{name} needs a task of hepbench: the sample's metadata has no {e.args[0]!r}"
        ) from e
    columns, rows = table({c: describe(s) for c, s in sites.items()}, measured)
    return Survey(measured, asked, columns, rows)


def by_majority(survey: Survey) -> tuple[dict[str, Guess], str]:
    """The most frequent label for all; its share is the confidence."""
    counts = Counter(survey.measured.values())
    label = min(counts, key=lambda found: (-counts[found], found))
    guess = (label, counts[label] / counts.total())
    rule = f"Always {label}, as {counts[label]} of {counts.total()} exploration compounds."
    return dict.fromkeys(survey.asked, guess), rule


def by_neighbour(survey: Survey) -> tuple[dict[str, Guess], str]:
    """The nearest explored compound's label; the confidence is the leave-one-out accuracy."""
    scales = _scales(survey)
    explored = list(survey.measured)

    def nearest(compound: str) -> str:
        here = survey.rows[compound]
        others = (c for c in explored if c != compound)
        return min(others, key=lambda c: _distance(here, survey.rows[c], scales))

    hits = sum(survey.measured[nearest(c)] == label for c, label in survey.measured.items())
    confidence = (hits + 1) / (len(explored) + 2)
    guesses = {c: (survey.measured[nearest(c)], confidence) for c in survey.asked}
    near = ", ".join(f"{c} as {nearest(c)}" for c in survey.asked)
    return guesses, _cut(f"As the nearest exploration compound in {', '.join(survey.columns)}: {near}.")


def by_tree(survey: Survey) -> tuple[dict[str, Guess], str]:
    """The leaf's label, with Laplace's estimate as the confidence."""
    grown = tree.grow([(survey.rows[c], label) for c, label in survey.measured.items()])
    leaves = {c: tree.leaf_of(grown, survey.rows[c]) for c in survey.asked}
    guesses = {c: (leaf.label, leaf.confidence) for c, leaf in leaves.items()}
    return guesses, _cut(f"Tree: {tree.words(grown, survey.columns)}.")


def _scales(survey: Survey) -> list[float]:
    """Standard deviation of each column over the exploration compounds; none is zero (see `table`)."""
    rows = [survey.rows[c] for c in survey.measured]
    return [_deviation(column) for column in zip(*rows, strict=True)]


def _deviation(column: Sequence[float]) -> float:
    mean = sum(column) / len(column)
    return math.sqrt(sum((x - mean) ** 2 for x in column) / len(column))


def _distance(a: Sequence[float], b: Sequence[float], scales: Sequence[float]) -> float:
    return math.dist(
        [x / s for x, s in zip(a, scales, strict=True)], [x / s for x, s in zip(b, scales, strict=True)]
    )


def _cut(rule: str, limit: int = 3_500) -> str:
    """A rule that the record takes whole: its texts have a limit."""
    return rule if len(rule) <= limit else f"{rule[:limit]}…"
