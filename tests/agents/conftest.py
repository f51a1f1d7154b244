"""A tiny fourth family: alkali halides, whose energies follow a made-up law over the radius ratio."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from hepbench.harness.laboratory.records import Provenance, Relaxation
from hepbench.harness.laboratory.reference import write_reference
from hepbench.tasks import families
from hepbench.tasks.family import family

CATIONS = {"Li": 0.76, "Na": 1.02, "K": 1.38, "Rb": 1.52, "Cs": 1.67}
ANIONS = {"F": 1.33, "Cl": 1.81, "Br": 1.96, "I": 2.20}
COMPOUNDS = [(a, x) for a in CATIONS for x in ANIONS]
INTERPOLATION = ("NaCl", "KBr", "RbI", "LiBr")
PROTOTYPES = {"zincblende": 216, "rock salt": 225, "CsCl": 221}

_HEAD = """
id = "halides"
version = "1-A"
title = "Alkali halides"
question = "Which structure does the law prefer for each alkali halide AX, and what decides it?"
label_name = "structure"
anion_roles = ["X"]
split_seed = 1
extrapolation = ["caesium"]
interpolation_share = 0.25
"""
_PROTOTYPE = """
[[prototypes]]
name = "{name}"
label = "{name}"
description = "{name} structure"
source = "textbooks"
number = {number}
lattice = [5.6, 5.6, 5.6, 90.0, 90.0, 90.0]
sites = [{{ role = "A", xyz = [0.0, 0.0, 0.0] }}, {{ role = "X", xyz = [0.5, 0.5, 0.5] }}]
"""
_COMPOUND = """
[[compounds]]
formula = "{a}{x}"
elements = {{ A = "{a}", X = "{x}" }}
charges = {{ A = 1, X = -1 }}
chemical_family = "{group}"
part = "{part}"
"""


def label_of(a: str, x: str) -> str:
    """The law: the ratio of the radii decides."""
    ratio = CATIONS[a] / ANIONS[x]
    return "zincblende" if ratio < 0.42 else "CsCl" if ratio > 0.73 else "rock salt"


def write_family(folder: Path) -> Path:
    """The family file and its reference set."""
    text = _HEAD + "".join(_PROTOTYPE.format(name=n, number=k) for n, k in PROTOTYPES.items())
    for a, x in COMPOUNDS:
        part = "extrapolation" if a == "Cs" else "interpolation" if a + x in INTERPOLATION else "exploration"
        group = "caesium" if a == "Cs" else "light" if a in ("Li", "Na") else "heavy"
        text += _COMPOUND.format(a=a, x=x, group=group, part=part)
    folder.mkdir(parents=True)
    (folder / "family.toml").write_text(text, encoding="utf-8")
    provenance = Provenance(
        potential="law", weights_sha256="0" * 64, settings={}, versions={}, dtype="float64", device="cpu"
    )
    write_reference(folder / "reference" / "law", provenance, _records(), [], {})
    return folder


def _records() -> list[Relaxation]:
    return [_record(a, x, p, 0.03 * i) for a, x in COMPOUNDS for i, p in enumerate(PROTOTYPES, 1)]


def _record(a: str, x: str, prototype: str, above: float) -> Relaxation:
    energy = -3.0 + (0.0 if prototype == label_of(a, x) else above)
    return Relaxation(
        compound=a + x,
        prototype=prototype,
        energy=energy,
        enthalpy=energy,
        volume=20.0,
        space_group=PROTOTYPES[prototype],
        phase=prototype,
        is_start=True,
        steps=10,
        fmax=0.01,
        smax=0.01,
        volume_ratio=1.0,
        converged=True,
    )


@pytest.fixture(scope="session")
def halides(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of the family, as `-T family=` takes it."""
    return str(write_family(tmp_path_factory.mktemp("families") / "halides"))


@pytest.fixture
def halide_task(halides: str) -> Callable[..., Task]:
    """A task of the family; parameters as with `-T`."""
    return lambda **given: family(family=halides, **{"potential": "law", "lab_budget": 60} | given)


@pytest.fixture
def run_halides(halide_task: Callable[..., Task], tmp_path: Path) -> Callable[..., EvalLog]:
    """Run the tiny family with a harness and a model."""

    def run(
        harness: str, model: str | Model = "hepbench/scientist", given: Any = None, **options: Any
    ) -> EvalLog:
        task = halide_task(harness=harness, **(given or {}))
        return inspect_eval(task, model=model, log_dir=str(tmp_path / "logs"), display="none", **options)[0]

    return run


def output_of(step: str | tuple[str, dict[str, Any]] | ModelOutput) -> ModelOutput:
    if isinstance(step, ModelOutput):
        output = step.model_copy(deep=True)
    elif isinstance(step, str):
        output = ModelOutput.from_content("scripted", step)
    else:
        output = ModelOutput.for_tool_call("scripted", step[0], step[1])
    output.usage = output.usage or ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return output


@pytest.fixture
def scripted() -> Callable[..., Model]:
    """A model that takes the given steps one after the other, and then repeats the last.

    A step is a text, a tool call (name, arguments), or a whole output. `seen` collects what it was shown.
    """

    def make(steps: list[Any], seen: list[list[ChatMessage]] | None = None) -> Model:
        taken = iter(range(10**6))

        def answer(
            messages: list[ChatMessage], tools: list[ToolInfo], choice: ToolChoice, config: GenerateConfig
        ) -> ModelOutput:
            if seen is not None:
                seen.append(list(messages))
            return output_of(steps[min(next(taken), len(steps) - 1)])

        return get_model("mockllm/model", custom_outputs=answer, memoize=False)

    return make


@pytest.fixture(autouse=True)
def _fresh_families() -> None:
    families.load.cache_clear()
