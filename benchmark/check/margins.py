"""Which metrics are gated, and how much loss is still accepted."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hepbench.benchmark.leaderboard.build import right, right_in
from hepbench.harness.text import clean, shorten
from hepbench.reports.records import Item

DEFAULT = Path(__file__).with_name("margins.toml")


class MarginsError(ValueError):
    """A margins file that cannot be used; the message is one line."""


@dataclass(frozen=True)
class Metric:
    """A number for each held-out compound, turned so that more is better.

    Attributes:
        value: Of one compound of one run; None leaves it out.
        proportion: It is a share between 0 and 1.
        unit: For the report.
    """

    value: Callable[[Item], float | None]
    proportion: bool
    unit: str = ""


def _less_regret(item: Item) -> float | None:
    return None if item.regret is None else -item.regret


def _less_brier(item: Item) -> float | None:
    return None if item.confidence is None else -((item.confidence - float(item.right)) ** 2)


METRICS: Mapping[str, Metric] = {
    "heldout_accuracy": Metric(right, proportion=True),
    "heldout_interpolation": Metric(right_in("interpolation"), proportion=True),
    "heldout_extrapolation": Metric(right_in("extrapolation"), proportion=True),
    "heldout_regret": Metric(_less_regret, proportion=False, unit="meV/atom"),
    "brier": Metric(_less_brier, proportion=False),
}


class Margins(BaseModel):
    """The margins file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    suite: dict[str, float] = Field(default_factory=dict)
    task: dict[str, float] = Field(default_factory=dict)


def read_margins(path: Path = DEFAULT) -> Margins:
    """Read a margins file.

    Raises:
        MarginsError: it is missing, is no TOML, names no metric or an unknown one, or a margin cannot be one.
    """
    try:
        found = Margins.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as e:
        raise MarginsError(f"margins {path}: {e.strerror or e}") from e
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise MarginsError(f"margins {path} is not TOML: {shorten(clean(str(e)), 120)}") from e
    except ValidationError as e:
        first = e.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "top level"
        raise MarginsError(f"margins {path}, {where}: {first['msg']}") from e
    for name, margin in {**found.suite, **found.task}.items():
        if name not in METRICS:
            raise MarginsError(f"margins {path}: unknown metric {name!r}: one of {', '.join(METRICS)}")
        if not margin > 0:
            raise MarginsError(f"margins {path}: {name} = {margin}: a margin is a positive number")
        if not METRICS[name].unit and margin >= 1:
            raise MarginsError(f"margins {path}: {name} = {margin}: a share; five points are 0.05")
    if not found.suite and not found.task:
        raise MarginsError(
            f"margins {path}: names no metric under [suite] or [task], so nothing would be gated"
        )
    return found
