"""A family's task: its question as a sample, its laboratory as setup, a harness as solver."""

from __future__ import annotations

from collections import Counter
from typing import Any

from inspect_ai import Task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.solver import Generate, Solver, TaskState, solver

import hepbench
from hepbench.harness.agents.harnesses import harness_solver
from hepbench.harness.agents.prompts import prompt
from hepbench.harness.laboratory.cache import cached, open_cache
from hepbench.harness.laboratory.cluster_worker import ClusterError
from hepbench.harness.laboratory.family import Compound, Family, FamilyError
from hepbench.harness.laboratory.laboratory import Laboratory, LabSettings
from hepbench.harness.laboratory.live import shared_pool, shared_runner
from hepbench.harness.laboratory.potential import PotentialError
from hepbench.harness.laboratory.reference import ReferenceError, ReferenceSet  # noqa: A004 - the field's word
from hepbench.harness.laboratory.tools import laboratory_tools
from hepbench.scorers import suite_scorers
from hepbench.tasks import families
from hepbench.tasks.parameters import RunParameters, parameters

MAX_RETRIES = 10
"""Retries of one generation, about an hour in all, unless `--max-retries` says otherwise: Inspect's own
default is to try a server that is down for ever."""


def family_task(family_id: str, given: dict[str, Any]) -> Task:
    """The task of a family.

    Raises:
        PrerequisiteError: a parameter is wrong, or the family, its reference set or the scheduler cannot be
            used.
    """
    asked = parameters(family_id, given)
    family, reference = _load(family_id, asked.potential)
    _reach(family_id, asked)
    about = _about(family, reference, asked)
    return Task(
        dataset=[_sample(family, reference, asked, about)],
        setup=open_laboratory(family, reference, asked),
        solver=harness_solver(asked.harness, asked.turn_limit, asked.token_limit, asked.context_limit),
        scorer=suite_scorers(),
        config=GenerateConfig(max_retries=MAX_RETRIES),
        headline_metric="heldout_accuracy",
        score_on_error=True,  # an errored sample is wrong, not absent
        version=family.version,
        metadata={**about, "rules": asked.rules.model_dump()},
        name=family.id,
    )


def _load(family_id: str, potential: str) -> tuple[Family, ReferenceSet]:
    try:
        family = families.load(family_id)
        reference = families.reference_set(family_id, potential)
        return families.within(family, reference), reference
    except (FamilyError, PotentialError, ReferenceError) as e:
        raise PrerequisiteError(f"hepbench/{family_id}: {e}") from e


def _reach(family_id: str, asked: RunParameters) -> None:
    """Connect to the scheduler, if there is one: before a model is asked, and not by an agent's call."""
    try:
        shared_pool(asked.live_time_limit, asked.scheduler).open()
    except ClusterError as e:
        raise PrerequisiteError(f"hepbench/{family_id}: {e}") from e


@solver
def open_laboratory(family: Family, reference: ReferenceSet, asked: RunParameters) -> Solver:
    """Open a laboratory of its own for the sample, and offer its tools to whatever harness follows."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        settings = LabSettings(budget=asked.lab_budget, time_limit=asked.live_time_limit)
        run = cached(shared_runner(asked.live_time_limit, asked.scheduler), open_cache(asked.cache))
        database = families.known_database(family, asked.database)
        laboratory = Laboratory(family, reference, settings, run, database, asked.potential)
        state.tools = laboratory_tools(laboratory)
        return state

    return solve


def _about(family: Family, reference: ReferenceSet, asked: RunParameters) -> dict[str, Any]:
    """What the numbers of this run depend on."""
    return {
        "task": f"hepbench/{family.id}",
        "task_version": family.version,
        "hepbench": hepbench.__version__,
        "harness": asked.harness,
        "potential": reference.provenance.potential,
        "weights_sha256": reference.provenance.weights_sha256,
        "reference_sha256": reference.sha256,
        "database": families.known_identity(family, asked.database),
        "lab_budget": asked.lab_budget,
        "turn_limit": asked.turn_limit,
        "token_limit": asked.token_limit,
        "context_limit": asked.context_limit,
        "live_time_limit": asked.live_time_limit,
    }


def _sample(family: Family, reference: ReferenceSet, asked: RunParameters, about: dict[str, Any]) -> Sample:
    heldout = family.of_part("interpolation", "extrapolation")
    return Sample(
        id=family.id,
        input=_question(family, reference, asked),
        target=[f"{c.formula}: {' or '.join(reference.truth(c.formula).labels)}" for c in heldout],
        metadata={
            "about": about,
            "rules": asked.rules.model_dump(),
            "journal": asked.journal,
            "prediction": {
                "compounds": [c.formula for c in heldout],
                "labels": list(family.labels),
            },
            "heldout": [_truth_row(c, reference) for c in heldout],
            "exploration_majority": majority_label(family, reference),
            "exploration": [_explored_row(c, reference) for c in asked_exploration(family, reference)],
            "compositions": {c.formula: _composition(c) for c in family.compounds},
        },
    )


def _question(family: Family, reference: ReferenceSet, asked: RunParameters) -> str:
    exploration = family.of_part("exploration")
    return prompt(
        "question",
        title=family.title,
        question=family.question,
        potential=reference.provenance.potential,
        label_name=family.label_name,
        labels=", ".join(family.labels),
        n_exploration=len(exploration),
        exploration=", ".join(c.formula for c in exploration),
        budget=asked.lab_budget,
        n_prototypes=len(family.prototypes),
        full_cost=len(exploration) * len(family.prototypes),
    )


def _truth_row(compound: Compound, reference: ReferenceSet) -> dict[str, Any]:
    truth = reference.truth(compound.formula)
    return {
        "compound": compound.formula,
        "chemical_family": compound.chemical_family,
        "part": compound.part,
        "labels": list(truth.labels),
        "above_lowest": {k: round(v, 3) for k, v in truth.above_lowest.items()},
    }


def _explored_row(compound: Compound, reference: ReferenceSet) -> dict[str, Any]:
    """What a full exploration would measure: for the reference points that need no model."""
    return {"compound": compound.formula, "labels": list(reference.truth(compound.formula).labels)}


def _composition(compound: Compound) -> list[dict[str, Any]]:
    """The compound's sites as `hepbench.harness.descriptors.Site` takes them."""
    return [
        {"role": role, "element": element, "charge": compound.charges.get(role)}
        for role, element in compound.elements.items()
    ]


def asked_exploration(family: Family, reference: ReferenceSet) -> list[Compound]:
    """The exploration compounds that have an answer; those left out can be measured all the same."""
    return [c for c in family.of_part("exploration") if not reference.truth(c.formula).left_out]


def majority_label(family: Family, reference: ReferenceSet) -> str:
    """The most frequent exploration label, ties counted for each; the first by name among equals."""
    explored = asked_exploration(family, reference)
    counts = Counter(label for c in explored for label in reference.truth(c.formula).labels)
    return min(counts, key=lambda label: (-counts[label], label))
