"""What agents do with their turns: shares of step categories, and which follows which.

The deterministic rule of `harness.steps` reads tool calls. A planning or a bare agent may state hypotheses
or change its mind in words alone; a model in the role `grader`, if one is given, sorts those words into the
same categories (`--model-role grader=…`). The score says which of the two was used: their numbers do not
compare.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from inspect_ai.model import Model, get_model, model_roles
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from hepbench.harness.agents.prompts import prompt
from hepbench.harness.steps import CATEGORIES, Category, Prose, Step, flow, mix, prose_of, steps_of
from hepbench.harness.text import shorten
from hepbench.scorers.run import mean_of_runs, unscored

GRADER = "grader"
"""The model role that sorts free text."""

BATCH = 25
"""Texts that the grader is shown at a time."""
MAX_GRADED = 800
"""Characters of a text that the grader is shown."""

_WORDS: dict[str, Category | None] = {**{c: c for c in CATEGORIES}, "none": None}
_LINE = re.compile(r"^\W*(\d+)\W+([a-z]+)", re.IGNORECASE | re.MULTILINE)

Graded = dict[int, Category | None]
_sorted: WeakKeyDictionary[TaskState, tuple[int, list[Step], str]] = WeakKeyDictionary()
"""Sample → number of messages, steps and who sorted them: two scores read them, and a grader costs money."""


@scorer(metrics=mean_of_runs(*(f"step_{category}" for category in CATEGORIES)))
def step_mix() -> Scorer:
    """Share of each step category among all steps of the run; unscored for a run without steps."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (a process metric)
        steps, by = await classified_steps(state)
        if not steps:
            return unscored("no_steps", "the run has no steps")
        shares = mix(steps)
        shown = ", ".join(f"{c} {share:.0%}" for c, share in shares.items() if share)
        return Score(
            value={f"step_{c}": share for c, share in shares.items()},
            explanation=f"{len(steps)} steps, by {by}: {shown}.",
            metadata={"classified_by": by, "refused": sum(s.refused for s in steps)},
        )

    return score


@scorer(metrics=mean_of_runs("step_count", "step_repeats"))
def step_flow() -> Scorer:
    """Steps of a run, and the share of them that repeat the category before.

    The metadata holds the matrix (`flow`: row → column → count) and the whole `sequence`. A run with fewer
    than two steps has no flow and is unscored.
    """

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (a process metric)
        steps, by = await classified_steps(state)
        if len(steps) < 2:  # noqa: PLR2004 - one step is followed by none
            return unscored("no_steps", "the run has fewer than two steps")
        matrix = flow(steps)
        repeats = sum(matrix[c][c] for c in CATEGORIES) / (len(steps) - 1)
        return Score(
            value={"step_count": len(steps), "step_repeats": repeats},
            explanation=_common(matrix),
            metadata={"classified_by": by, "flow": matrix, "sequence": [s.category for s in steps]},
        )

    return score


def _common(matrix: dict[Category, dict[Category, int]]) -> str:
    ranked = sorted(((n, a, b) for a, row in matrix.items() for b, n in row.items() if n), reverse=True)
    return "Most frequent: " + ", ".join(f"{a} → {b} ({n})" for n, a, b in ranked[:5]) + "."


async def classified_steps(state: TaskState) -> tuple[list[Step], str]:
    """The run's steps, and what sorted its free text: "rule" or the grader's name."""
    length, steps, by = _sorted.get(state, (-1, [], ""))
    if length != len(state.messages):
        steps, by = await _classified(state)
        _sorted[state] = len(state.messages), steps, by
    return steps, by


async def _classified(state: TaskState) -> tuple[list[Step], str]:
    if GRADER not in model_roles():
        return steps_of(state.messages), "rule"
    grader = get_model(role=GRADER)
    graded = await grade(prose_of(state.messages), grader)
    return steps_of(state.messages, graded), str(grader)


async def grade(prose: dict[int, Prose], grader: Model) -> Graded:
    """The grader's category for each text; the rule's where its answer cannot be read."""
    graded: Graded = {position: said.default for position, said in prose.items()}
    positions = list(prose)
    for first in range(0, len(positions), BATCH):
        some = positions[first : first + BATCH]
        answer = await grader.generate(prompt("grader", texts=_numbered([prose[p].text for p in some])))
        for number, word in _LINE.findall(answer.completion):
            if word.casefold() in _WORDS and 1 <= int(number) <= len(some):
                graded[some[int(number) - 1]] = _WORDS[word.casefold()]
    return graded


def _numbered(texts: Sequence[str]) -> str:
    shown = (shorten(" ".join(text.split()), MAX_GRADED) for text in texts)
    return "\n".join(f"{n}. {text}" for n, text in enumerate(shown, 1))
