"""The run beside the world that its task is about: task version, reference set, sealed compounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from inspect_ai.log import EvalLog

from hepbench.harness.laboratory.family import Family, FamilyError
from hepbench.harness.laboratory.laboratory import LabSettings
from hepbench.harness.laboratory.reference import ReferenceError, ReferenceSet  # noqa: A004
from hepbench.harness.laboratory.results import (
    Measured,
    compare,
    comparison_answer,
    relaxation_answer,
    relaxation_checks,
)
from hepbench.harness.laboratory.simulations import MD_COST
from hepbench.reports.audit.composition import composition
from hepbench.reports.audit.equality import differ
from hepbench.reports.audit.subject import Finding, Subject, parsed_events
from hepbench.tasks import families

PROVENANCE, SEALED, LABORATORY = "provenance", "held-outs", "laboratory"
RELAXATIONS = frozenset({"relax_structure", "compare_structures"})
"""Tools whose answers the reference set gives, and a relaxation can check."""

_SOLVER_LIMITS = ("turn_limit", "token_limit", "context_limit")
_OWN_WORDS = frozenset({"result", "budget_left", "provenance"})


@dataclass(frozen=True)
class World:
    """What this installation knows of the task of a run."""

    family: Family
    reference: ReferenceSet


def task_of(subject: Subject) -> str | None:
    """The id of the family whose task it was; None for a task that is not ours."""
    named = [str(subject.about.get("task", ""))]
    named += [str((subject.metadata.get("about") or {}).get("task", ""))]
    named += [subject.header.eval.task] if subject.header else []
    ours = (name.removeprefix("hepbench/") for name in named if name.startswith("hepbench/"))
    return next((name for name in ours if name in families.FAMILY_IDS), None)


def world_of(subject: Subject) -> World | None:
    """The world of a run of ours, if this installation has it."""
    task = task_of(subject)
    potential = subject.about.get("potential")
    return _world(task, potential) if task and isinstance(potential, str) else None


@lru_cache(maxsize=8)
def _world(task: str, potential: str) -> World | None:
    try:
        reference = ReferenceSet.load(families.reference_path(task, potential))
        return World(families.within(families.load(task), reference), reference)
    except (FamilyError, ReferenceError):
        return None


def provenance(subject: Subject) -> Iterator[Finding]:
    """Task version, reference set, potential and truth are those that this installation knows."""
    task = task_of(subject)
    if task is None:
        return
    about, found = subject.about, world_of(subject)
    if found is None:
        yield Finding(
            PROVENANCE, f"no reference set of {task} for the potential {about.get('potential')!r} here"
        )
        return
    known = {
        "task_version": found.family.version,
        "reference_sha256": found.reference.sha256,
        "weights_sha256": found.reference.provenance.weights_sha256,
    }
    for name, value in known.items():
        if about.get(name) != value:
            text = f"{name} is {about.get(name)!r}; this installation has {value!r}"
            yield Finding(PROVENANCE, text, subject.events[0].seq if subject.events else None)
    yield from _header_findings(subject)
    if about.get("reference_sha256") == known["reference_sha256"] and subject.logged is not None:
        yield from _truth_findings(subject.metadata, found)


def _header_findings(subject: Subject) -> Iterator[Finding]:
    if subject.header is None:
        return
    stated = {**(subject.header.eval.metadata or {}), **_by_solver(subject.header)}
    for name, value in subject.about.items():
        if name in stated and stated[name] != value:
            yield Finding(PROVENANCE, f"{name} is {value!r} in the record and {stated[name]!r} in the header")
    rules = subject.events[0].payload.get("rules") if subject.events else None
    if "rules" in stated and stated["rules"] != rules:
        yield Finding(PROVENANCE, "the rules in the record are not those in the header")
    version = subject.header.eval.task_version
    if str(version) != str(subject.about.get("task_version")):
        yield Finding(PROVENANCE, f"the header has task version {version!r}, the record another")


def _by_solver(header: EvalLog) -> dict[str, Any]:
    """What `--solver hepbench/… -S …` put in the place of the task's own harness and limits."""
    package, _, name = (header.eval.solver or "").partition("/")
    if package != "hepbench":
        return {}
    given = header.eval.solver_args_passed or {}
    return {"harness": name, **{limit: given[limit] for limit in _SOLVER_LIMITS if given.get(limit)}}


def _truth_findings(metadata: Mapping[str, Any], world: World) -> Iterator[Finding]:
    """The truth that scores rest on is the reference set's."""
    asked = {c.formula: c for c in world.family.of_part("interpolation", "extrapolation")}
    rows = {str(row.get("compound")): row for row in metadata.get("heldout") or [] if isinstance(row, dict)}
    for name in sorted(asked.keys() ^ rows.keys()):
        yield Finding(PROVENANCE, f"{name} is held out in the log or in the task, not in both")
    for name in sorted(asked.keys() & rows.keys()):
        row, compound, truth = rows[name], asked[name], world.reference.truth(name)
        right = {
            "part": compound.part,
            "chemical_family": compound.chemical_family,
            "labels": list(truth.labels),
            "above_lowest": {k: round(v, 3) for k, v in truth.above_lowest.items()},
        }
        for key, value in right.items():
            if row.get(key) != value:
                yield Finding(PROVENANCE, f"the truth of {name} was changed: {key} is {row.get(key)!r}")


def sealed(subject: Subject) -> Iterator[Finding]:
    """No held-out compound was measured, under whatever name, and the budget was kept."""
    rows = subject.metadata.get("heldout") or []
    names = [str(row.get("compound")) for row in rows if isinstance(row, dict)]
    found = world_of(subject)
    if found is not None:
        names += [c.formula for c in found.family.of_part("interpolation", "extrapolation")]
    closed = {composition(name): name for name in names}
    spent: dict[tuple[str, str], int] = {}
    budget = subject.about.get("lab_budget")
    for event, payload in parsed_events(subject.events, "LabResultRecorded"):
        for subject_name in _subjects(payload):
            if composition(subject_name) in closed:
                yield Finding(SEALED, f"measures {subject_name}, which is held out", event.seq)
        before = sum(spent.values())
        spent |= dict.fromkeys(_measured(payload), MD_COST if payload.get("tool") == "run_md" else 1)
        if isinstance(budget, int) and before <= budget < sum(spent.values()):
            yield Finding(LABORATORY, f"exceeds the budget of {budget} structures", event.seq)


def _subjects(payload: Mapping[str, Any]) -> set[str]:
    """Every name that a measurement goes by: as asked, as answered, as recorded."""
    if not payload.get("measurement"):
        return set()
    parts = [part for part in (payload.get("arguments"), payload.get("answer")) if isinstance(part, dict)]
    named = [*(subject for subject, _ in _measured(payload)), *(part.get("compound") for part in parts)]
    return {name for name in named if isinstance(name, str)}


def _measured(payload: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Pairs of subject and condition, as far as they are there."""
    listed = payload.get("measured")
    pairs = [m for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []
    return [(str(m.get("subject")), str(m.get("what"))) for m in pairs]


def laboratory(subject: Subject) -> Iterator[Finding]:
    """Each answer that the reference set gives, computed from it again: energies, phases, checks."""
    found = world_of(subject)
    if found is None or subject.about.get("reference_sha256") != found.reference.sha256:
        return
    for event, payload in parsed_events(subject.events, "LabResultRecorded"):
        answer = payload.get("answer")
        if payload.get("tool") not in RELAXATIONS or not isinstance(answer, dict):
            continue
        if payload.get("measurement") and answer.get("pressure_GPa") == 0:
            yield from _answer_findings(found, event.seq, payload, answer)


def _answer_findings(
    world: World, seq: int, payload: Mapping[str, Any], answer: Mapping[str, Any]
) -> Iterator[Finding]:
    stated = answer.get("provenance")
    source = stated.get("source") if isinstance(stated, dict) else None
    again = _again(world, payload, answer)
    if again is None:
        if source == "reference set":
            yield Finding(LABORATORY, "names the reference set, which has no such result", seq)
        return
    if source != "reference set":
        yield Finding(LABORATORY, f"has the source {source!r}, and the reference set has this result", seq)
    for name in sorted((again.keys() | answer.keys()) - _OWN_WORDS):
        if differ(again.get(name), answer.get(name)):
            text = f"{name} is {_short(answer.get(name))}; the reference set gives {_short(again.get(name))}"
            yield Finding(LABORATORY, text, seq)
    if payload.get("checks") != again["checks"]:
        yield Finding(LABORATORY, "its checks are not those of the reference set's records", seq)


def _again(world: World, payload: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """The answer as the laboratory would give it today; None if it needs more than the reference set."""
    compound = str(answer.get("compound"))
    candidates = _candidates(world, compound, [what.partition(", ")[0] for _, what in _measured(payload)])
    if candidates is None:
        return None
    tolerances = LabSettings().tolerances
    if payload.get("tool") == "relax_structure":
        return relaxation_answer(candidates[0], relaxation_checks(candidates[0], tolerances))
    return comparison_answer(compound, 0.0, compare(candidates, tolerances))


def _candidates(world: World, compound: str, started: Sequence[str]) -> list[Measured] | None:
    candidates: list[Measured] = []
    for name in started:
        prototype, record = world.family.prototype(name), world.reference.relaxation(compound, name)
        if prototype is None or record is None:
            return None
        candidates.append(Measured(prototype, record, "reference set"))
    return candidates or None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"  # noqa: PLR2004 - a readable line
