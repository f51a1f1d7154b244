"""What a task's version stands for, as hashes: a version that stays while they change would lie.

Versions are `N-X`, as in the register of Inspect evals. N counts what changes scores: data, truth, prompts,
tools, defaults. Runs of different N are not compared. X counts what changes how the task is called.
"""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from typing import Any

from inspect_ai.tool import ToolDef
from pydantic import BaseModel

from hepbench.harness.agents.finish import Finish, finish_tool
from hepbench.harness.agents.plan import Plan, plan_tools
from hepbench.harness.agents.prediction import prediction_tool
from hepbench.harness.laboratory.laboratory import Laboratory
from hepbench.harness.laboratory.reference import ReferenceSet
from hepbench.harness.laboratory.tools import laboratory_tools
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.tools import registry_tools
from hepbench.tasks import families
from hepbench.tasks.parameters import DEFAULT_POTENTIAL, RunParameters

PROMPTS = "hepbench.harness.agents.prompts"
JUDGES = frozenset({"grader.md", "reader.md", "auditor.md"})
"""Prompts of judges, which no agent sees."""


class Fingerprint(BaseModel):
    """The two hashes behind a version.

    Attributes:
        version: The version that the family file states.
        comparability: SHA-256 of all that changes scores.
        interface: SHA-256 of the parameters.
    """

    version: str
    comparability: str
    interface: str


def fingerprint(family_id: str) -> Fingerprint:
    """The fingerprint of a family's task, with the default potential's reference set.

    Raises:
        FamilyError: there is no such family.
        ReferenceError: it has no reference set.
    """
    family = families.load(family_id)
    reference = ReferenceSet.load(families.reference_path(family_id, DEFAULT_POTENTIAL))
    compared: dict[str, Any] = {
        "family": family.model_dump(mode="json", exclude={"version"}),
        "reference": reference.sha256,
        "prompts": prompts(),
        "tools": tools(Laboratory(family, reference)),
        "defaults": RunParameters().model_dump(mode="json", exclude={"journal", "scheduler"}),
    }
    return Fingerprint(
        version=family.version,
        comparability=_sha256(compared),
        interface=_sha256(RunParameters.model_json_schema()["properties"]),
    )


def prompts() -> dict[str, str]:
    """Every prompt that an agent may see, by file name."""
    found = {
        p.name: p.read_text(encoding="utf-8") for p in files(PROMPTS).iterdir() if p.name.endswith(".md")
    }
    return {name: text for name, text in sorted(found.items()) if name not in JUDGES}


def tools(laboratory: Laboratory) -> dict[str, Any]:
    """Every tool that an agent may see: its words and its arguments, by name."""
    registry = Registry([], "fingerprint")
    shown = [
        *laboratory_tools(laboratory),
        *registry_tools(),
        *plan_tools(Plan(), registry),
        finish_tool(Finish(registry)),
        prediction_tool(registry, (), ()),
    ]
    found = {tool.name: tool for tool in map(ToolDef, shown)}
    return {
        name: {"says": tool.description, "takes": tool.parameters.model_dump(mode="json", exclude_none=True)}
        for name, tool in sorted(found.items())
    }


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
