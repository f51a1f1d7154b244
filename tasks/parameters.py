"""The parameters of a task (`-T name=value`), validated before anything runs."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from inspect_ai._util.error import PrerequisiteError  # prints one line and exits 1, with no traceback
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from hepbench.harness.agents.harnesses import HarnessName
from hepbench.harness.laboratory.cache import CacheError, has_password, place_of
from hepbench.harness.laboratory.cluster import require_address
from hepbench.harness.laboratory.cluster_worker import ClusterError
from hepbench.harness.laboratory.known import DatabaseError, require_database
from hepbench.harness.laboratory.optimade import require_provider
from hepbench.harness.protocol.durable import AUTO, OFF, REQUIRE
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.text import without_login

DEFAULT_POTENTIAL = "chgnet-0.3.0"
_FROM_INSPECT = frozenset({"model"})
"""What Inspect passes to every task that takes any keyword."""
LOCAL = "local"


class RunParameters(BaseModel):
    """What a run of a family may vary.

    Attributes:
        harness: How the agent works.
        potential: Id of the potential whose world the question is about.
        lab_budget: Structures that the laboratory relaxes or looks up in a run.
        turn_limit: Model generations of the research phase; the prediction phase has its own few.
        token_limit: Tokens of the research phase; None for no limit.
        context_limit: Context window of the model in tokens, where Inspect does not know it.
        live_time_limit: Seconds that one live relaxation or simulation may take.
        scheduler: Address of a Dask scheduler for live relaxations and simulations; empty for worker
            processes of this machine. It changes no result.
        cache: Where live results are kept: "auto", "off", a folder, a file that ends in .db, or a URL.
        database: Where known structures are looked up: "local", "off", a file that ends in .db, or the base
            URL of an OPTIMADE provider.
        rules: Thresholds and gates of the protocol.
        journal: Where the durable journal goes: "auto", "require", "off" or a folder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    harness: HarnessName = "hep"
    potential: str = Field(default=DEFAULT_POTENTIAL, min_length=1, max_length=200)
    lab_budget: int = Field(default=160, ge=0, le=100_000)
    turn_limit: int = Field(default=150, ge=1, le=5_000)
    token_limit: int | None = Field(default=None, ge=1)
    context_limit: int | None = Field(default=None, ge=2_000)
    live_time_limit: float = Field(default=300.0, gt=0, le=86_400, allow_inf_nan=False)
    scheduler: str = Field(default="", max_length=300)
    cache: str = Field(default=AUTO, min_length=1, max_length=4_000, validate_default=True)
    database: str = Field(default=LOCAL, min_length=1, max_length=4_000)
    rules: ProtocolRules = ProtocolRules()
    journal: str = Field(default=AUTO, min_length=1, max_length=4_000)

    @field_validator("journal", "cache", "database", mode="before")
    @classmethod
    def _yaml_off(cls, value: object) -> object:
        """Inspect reads `-T journal=off` as YAML, where `off` is false."""
        return OFF if value is False else value

    @field_validator("scheduler")
    @classmethod
    def _address(cls, value: str) -> str:
        if value:
            try:
                require_address(value)
            except ClusterError as e:
                raise PydanticCustomError("scheduler", "{line}", {"line": str(e)}) from None
        return value

    @field_validator("journal", "cache")
    @classmethod
    def _no_typo(cls, value: str, info: ValidationInfo) -> str:
        """A word that is nearly one with a meaning is taken for it, and not for the name of a new folder."""
        words = (AUTO, OFF, REQUIRE) if info.field_name == "journal" else (AUTO, OFF)
        if value in words or "/" in value or os.sep in value:
            return value
        near = get_close_matches(value, words, n=1)
        if near and not Path(value).exists():
            raise ValueError(f"did you mean {near[0]}? Or a folder: ./{value}")
        return value

    @field_validator("database")
    @classmethod
    def _known_place(cls, value: str) -> str:
        if value in (LOCAL, OFF):
            return value
        try:
            if "://" in value:
                require_provider(value)
            elif value.endswith(".db"):
                require_database(Path(value))
            else:
                raise ValueError(
                    "give local, off, a file that ends in .db, or the URL of an OPTIMADE provider"
                )
        except DatabaseError as e:
            raise PydanticCustomError("database", "{line}", {"line": str(e)}) from None
        return value

    @field_validator("cache")
    @classmethod
    def _live_place(cls, value: str) -> str:
        try:
            place = place_of(value)
        except CacheError as e:
            raise PydanticCustomError("cache", "{line}", {"line": str(e)}) from None
        if value != AUTO and place and has_password(place):
            raise ValueError(
                "logs keep it, so it may hold no password: use PGPASSWORD, .pgpass or HEPBENCH_CACHE"
            )
        return value


def parameters(task: str, given: dict[str, Any]) -> RunParameters:
    """The validated parameters of a task.

    Raises:
        PrerequisiteError: one line that names the parameter, what is wrong and what would be right.
    """
    unknown = {k: v for k, v in given.get("unknown", {}).items() if k not in _FROM_INSPECT}
    asked = {k: v for k, v in given.items() if v is not None and k != "unknown"}
    try:
        return RunParameters.model_validate(asked | unknown)
    except ValidationError as e:
        first = e.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        value = without_login(str(first["input"]))[:80]
        raise PrerequisiteError(f"hepbench/{task}: -T {where}={value}: {_complaint(first)}") from e


def _complaint(error: ErrorDetails) -> str:
    """What is wrong with a parameter and what would be right."""
    name = str(error["loc"][0])
    if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:
        near = get_close_matches(name, RunParameters.model_fields, n=1)
        meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(RunParameters.model_fields)}"
        return f"there is no such parameter; {meant}"
    if error["type"] == "extra_forbidden" and name == "rules":
        rules = ProtocolRules.model_fields
        near = get_close_matches(str(error["loc"][-1]), rules, n=1)
        meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(rules)}"
        return f"there is no such rule; {meant}"
    if error["type"] == "model_type":
        return "wants the rules that differ, for example -T rules='{\"support_threshold\": 0.9}'"
    return error["msg"].removeprefix("Value error, ")
