"""Tasks × harnesses × models as one Inspect eval set: the runs that a leaderboard is made of.

`inspect eval-set` gives one harness to all its tasks. A leaderboard wants every harness, and the floors
once, without a model; as one set they share a folder, a resume and an end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from inspect_ai import Task, eval_set, task_with
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import (
    GenerateConfig,
    Model,
    ModelCost,
    ModelInfo,
    ModelRoles,
    get_model,
    get_model_info,
    set_model_info,
)
from pydantic import TypeAdapter, ValidationError

from hepbench.harness.agents.harnesses import FLOORS, HARNESSES, HarnessName
from hepbench.tasks.a2bbo6 import a2bbo6
from hepbench.tasks.ao2 import ao2
from hepbench.tasks.families import FAMILY_IDS
from hepbench.tasks.family import family
from hepbench.tasks.mx import mx
from hepbench.tasks.parameters import parameters

NO_MODEL = "none/none"
AGENTS: tuple[HarnessName, ...] = tuple(name for name in HARNESSES if name not in FLOORS)
"""The harnesses that ask a model."""

_USED = (
    "holds runs that this sweep does not have: name a new folder, or ask for what was asked there before, "
    "and more"
)
_TASKS = {"ao2": ao2, "a2bbo6": a2bbo6, "mx": mx}


@dataclass(frozen=True)
class Asking:
    """How the models are asked, the same for all of them; a floor asks none and gets nothing of it.

    Attributes:
        model_args: What `-M` gives to the provider, such as {"responses_api": False}.
        base_url: Of the provider; None for its own.
        roles: Models beside the agent's, such as "auditor".
        generate: Temperature, reasoning effort, retries and so on.
    """

    model_args: Mapping[str, Any] = field(default_factory=dict)
    base_url: str | None = None
    roles: ModelRoles = field(default_factory=dict)
    generate: GenerateConfig = field(default_factory=GenerateConfig)

    def model(self, name: str) -> Model:
        """The model of that name.

        Raises:
            PrerequisiteError: there is no such provider, or it does not take what it is given.
        """
        try:
            return get_model(name, base_url=self.base_url, **self.model_args)
        except (ValueError, TypeError) as e:
            raise PrerequisiteError(f"model {name}: {e}") from e


@dataclass(frozen=True)
class Sweep:
    """What is to be run.

    Attributes:
        models: As Inspect names them.
        tasks: Ids of families, or folders of your own ones.
        harnesses: Harnesses that ask a model, floors, or both; a floor is run once a task.
        arguments: Parameters of the tasks, the same for all, such as {"lab_budget": 100}.
        asking: How the models are asked.
    """

    models: Sequence[str]
    tasks: Sequence[str] = FAMILY_IDS
    harnesses: Sequence[HarnessName] = HARNESSES
    arguments: Mapping[str, Any] = field(default_factory=dict)
    asking: Asking = field(default_factory=Asking)

    def __iter__(self) -> Iterator[Task]:
        """Every run as a task with a model of its own.

        Raises:
            PrerequisiteError: a parameter or a model is wrong, or a family or its reference set cannot be
                used.
        """
        if "harness" in self.arguments:
            raise PrerequisiteError("A sweep takes its harnesses from --harness, not from -T harness=….")
        for name in self.tasks:
            for harness in self.harnesses:
                for model in [NO_MODEL] if harness in FLOORS else self.models:
                    yield self._run(name, harness, model)

    def _run(self, name: str, harness: HarnessName, model: str) -> Task:
        given = {**self.arguments, "harness": harness}
        parameters(name, given)  # one line for a parameter that does not exist
        task: Task = _TASKS[name](**given) if name in _TASKS else family(family=name, **given)
        if harness in FLOORS:
            return task_with(task, model=get_model(model))
        config = task.config.merge(self.asking.generate)
        return task_with(task, model=self.asking.model(model), config=config, model_roles=self.asking.roles)


def prices(path: Path) -> dict[str, ModelCost]:
    """Prices from a YAML file, with every model of it made known to Inspect.

    Inspect refuses prices for a model that its own list does not have, such as one that you serve yourself.

    Raises:
        PrerequisiteError: the file cannot be read, or is no table of prices.
    """
    try:
        stated = yaml.safe_load(path.read_text(encoding="utf-8"))
        found = TypeAdapter(dict[str, ModelCost]).validate_python(stated)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as e:
        raise PrerequisiteError(f"{path} is no table of prices: {' '.join(str(e).split())[:200]}") from e
    for name in found:
        if get_model_info(name) is None:
            set_model_info(name, ModelInfo())
    return found


def run_sweep(sweep: Sweep, log_dir: str, **options: Any) -> tuple[bool, list[EvalLog]]:
    """Run what is not there yet.

    Args:
        sweep: What is to be run.
        log_dir: The set's folder. Run again with the same sweep, it does only what is missing or failed.
        **options: Of `inspect_ai.eval_set`, such as `epochs`, `max_tasks` or `model_cost_config`.

    Returns:
        Whether every run succeeded, and their logs.

    Raises:
        PrerequisiteError: something of it cannot be run, or the folder cannot be its own.
    """
    tasks = list(sweep)
    if "://" not in log_dir:
        _make(Path(log_dir))
    try:
        done, logs = eval_set(tasks, log_dir=log_dir, **options)
    except PrerequisiteError as e:
        if "log-dir-allow-dirty" in str(e.message):
            raise PrerequisiteError(f"{log_dir} {_USED}") from e
        raise
    if done and Path(log_dir).is_dir():
        _remove_torsos(Path(log_dir))
    return done, logs


def _make(log_dir: Path) -> None:
    try:
        log_dir.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise PrerequisiteError(f"{log_dir} cannot be the set's folder: {e.strerror or e}") from e


def _remove_torsos(log_dir: Path) -> None:
    """Remove the logs of killed runs that were done again since; Inspect itself removes those that failed.

    Their journals stay.
    """
    headers = {path: read_eval_log(str(path), header_only=True) for path in log_dir.glob("*.eval")}
    done = {header.eval.task_id for header in headers.values() if header.status == "success"}
    for path, header in headers.items():
        if header.status == "started" and header.eval.task_id in done:
            path.unlink()
