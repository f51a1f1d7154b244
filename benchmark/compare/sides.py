"""What A and B are: a model, a harness, an entry of both, or a folder of logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hepbench.benchmark.leaderboard.collect import Collection, collect
from hepbench.benchmark.leaderboard.plain import line
from hepbench.benchmark.leaderboard.reading import Readings
from hepbench.reports.records import RunRecord, entry_name


class SideError(ValueError):
    """A side that names nothing, or two sides that share nothing; the message is one line."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        name: As the user gave it.
        strata: What is held fixed while the sides are compared → the runs under it. Two harnesses are
            compared within each model, two models within each harness.
    """

    name: str
    strata: dict[str, Collection]


def sides(a: str, b: str, logs: Sequence[str], read: Readings) -> tuple[Side, Side]:
    """Both sides, with the strata that they share.

    Args:
        a: A log, a folder, a URL, a model, a harness, or "model · harness" (also "model@harness").
        b: The same.
        logs: Where models and harnesses are looked up.
        read: Reads and audits logs.

    Raises:
        SideError: a side names nothing, or they share no stratum with a common task.
        LogError: a log or folder is not there.
    """
    if a == b:
        raise SideError(f"{line(a)} is both sides: there is nothing to compare.")
    if _is_log(a) and _is_log(b):
        first, second = collect([a], read), collect([b], read)
        return _shared(a, _by_entry(first), b, _by_entry(second))
    pool = collect(logs, read)
    (kind_a, of_a), (kind_b, of_b) = _named(a, pool), _named(b, pool)
    if kind_a == kind_b == "harness":
        return _shared(a, _by(of_a, lambda run: run.model), b, _by(of_b, lambda run: run.model))
    if kind_a == kind_b == "model":
        return _shared(a, _by(of_a, lambda run: run.harness), b, _by(of_b, lambda run: run.harness))
    return _one_stratum(a, of_a), _one_stratum(b, of_b)


def _is_log(name: str) -> bool:
    try:
        return "://" in name or Path(name).exists()
    except OSError:  # too long for a file's name
        return False


def _named(name: str, pool: Collection) -> tuple[str, Collection]:
    name = _with_options(name, pool)
    wanted = name.replace("@", " · ")
    tests: dict[str, Callable[[RunRecord], bool]] = {
        "entry": lambda run: entry_name(run.entry) == wanted,
        "model": lambda run: run.model == name,
        "harness": lambda run: run.harness == name,
    }
    for kind, test in tests.items():
        found = pool.where(test)
        if found.runs:
            return kind, found
    models = {run.model: 0 for run in pool.runs if run.kind != "floor"}
    known = [*models, *{run.harness: 0 for run in pool.runs}, "model@harness"]
    raise SideError(
        f"{line(name)} is neither a log nor a folder, nor a model or harness in the logs. There are: "
        f"{', '.join(line(k) for k in known) or 'no runs that count'}."
    )


def _with_options(name: str, pool: Collection) -> str:
    """The name with the options that its model was asked with, where the logs hold one set of them alone."""
    model, at, harness = name.partition("@")
    models = {run.model for run in pool.runs}
    variants = [known for known in models if known.startswith(f"{model} (")]
    return f"{variants[0]}{at}{harness}" if model not in models and len(variants) == 1 else name


def _one_stratum(name: str, found: Collection) -> Side:
    if len(found.entries) > 1:
        entries = ", ".join(line(entry_name(key)) for key in found.entries)
        raise SideError(f"{line(name)} stands for several entries: {entries}. Name one of them.")
    return Side(name, {"": found})


def _by_entry(found: Collection) -> dict[str, Collection]:
    return _by(found, lambda run: entry_name(run.entry))


def _by(found: Collection, key: Callable[[RunRecord], str]) -> dict[str, Collection]:
    def of(name: str) -> Collection:
        return found.where(lambda run: key(run) == name)

    return {name: of(name) for name in sorted({key(run) for run in found.runs})}


def _shared(a: str, of_a: dict[str, Collection], b: str, of_b: dict[str, Collection]) -> tuple[Side, Side]:
    if len(of_a) == len(of_b) == 1:  # one against one is a comparison whatever they are called
        return Side(a, {"": next(iter(of_a.values()))}), Side(b, {"": next(iter(of_b.values()))})
    common = [name for name in of_a if name in of_b]
    if not common:
        raise SideError(
            f"{line(a)} and {line(b)} have nothing in common to be compared within: "
            f"{', '.join(map(line, of_a)) or 'nothing'} against {', '.join(map(line, of_b)) or 'nothing'}."
        )
    return Side(a, {n: of_a[n] for n in common}), Side(b, {n: of_b[n] for n in common})
