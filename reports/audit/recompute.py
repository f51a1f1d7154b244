"""Some of a run's measurements made again from scratch, by the same potential.

The reference set, the record and the transcript could all have been changed alike. A relaxation that is done
again, on this machine, cannot.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hepbench.harness.laboratory.potential import PotentialError
from hepbench.harness.laboratory.potentials import potential
from hepbench.harness.laboratory.records import Relaxation
from hepbench.harness.laboratory.relaxation import RelaxationError, RelaxationMaker
from hepbench.harness.laboratory.workers import Job, LiveRelaxationError, WorkerPool
from hepbench.reports.audit.subject import Finding, Subject, parsed_events
from hepbench.reports.audit.world import RELAXATIONS, World, world_of

CHECK = "recomputation"
ENERGY_TOLERANCE = 0.002
"""eV/atom: what counts as a tie; an energy above the lowest rests on two relaxations."""

VOLUME_TOLERANCE = 0.01
"""Relative: soft cells stop at slightly different volumes on another machine."""


class RecomputeError(Exception):
    """Nothing can be computed again here; one line that says what helps."""


@dataclass(frozen=True)
class Claim:
    """One number of a result that can be measured again.

    Attributes:
        sample: Whose.
        event: Where it stands.
        compound: Formula.
        prototype: What it started as.
        pressure: GPa.
        enthalpy: eV/atom; None where only the height above another is stated.
        above: Prototype of the lowest phase, and how much higher this one is in eV/atom; None if not said.
        volume: Å³/atom; None if it is not said.
    """

    sample: str
    event: int
    compound: str
    prototype: str
    pressure: float
    enthalpy: float | None
    above: tuple[str, float] | None
    volume: float | None

    @property
    def needs(self) -> tuple[str, ...]:
        """The prototypes that have to be relaxed."""
        return (self.prototype, self.above[0]) if self.above else (self.prototype,)

    def __str__(self) -> str:
        at = f" at {self.pressure:g} GPa" if self.pressure else ""
        return f"{self.compound} as {self.prototype}{at}"


def claims_of(subject: Subject) -> Iterator[Claim]:
    """Every energy that the run measured."""
    for event, payload in parsed_events(subject.events, "LabResultRecorded"):
        answer = payload.get("answer")
        tool = payload.get("tool")
        if tool not in RELAXATIONS or not isinstance(answer, dict) or "compound" not in answer:
            continue
        made = _relaxed if tool == "relax_structure" else _compared
        for claim in made(answer):
            yield replace(claim, sample=subject.name, event=event.seq)


def _relaxed(answer: Mapping[str, Any]) -> Iterator[Claim]:
    enthalpy = answer.get("enthalpy_eV_per_atom")
    if isinstance(enthalpy, int | float):
        yield _claim(answer, str(answer.get("prototype")), answer, enthalpy=float(enthalpy))


def _compared(answer: Mapping[str, Any]) -> Iterator[Claim]:
    ranking = answer.get("ranking")
    rows = [row for row in ranking if isinstance(row, dict)] if isinstance(ranking, list) else []
    for row in rows[1:]:
        height = row.get("above_lowest_meV_per_atom")
        if isinstance(height, int | float):
            yield _claim(answer, _start(row), row, above=(_start(rows[0]), height / 1000))


def _start(row: Mapping[str, Any]) -> str:
    return str(row.get("started_as", row.get("phase")))


def _claim(
    answer: Mapping[str, Any],
    prototype: str,
    row: Mapping[str, Any],
    enthalpy: float | None = None,
    above: tuple[str, float] | None = None,
) -> Claim:
    volume, pressure = row.get("volume_A3_per_atom"), answer.get("pressure_GPa", 0.0)
    return Claim(
        sample="",
        event=0,
        compound=str(answer["compound"]),
        prototype=prototype,
        pressure=float(pressure) if isinstance(pressure, int | float) else 0.0,
        enthalpy=enthalpy,
        above=above,
        volume=float(volume) if isinstance(volume, int | float) else None,
    )


def recompute(subjects: Sequence[Subject], count: int, seed: int) -> tuple[list[Finding], int]:
    """Measure some random claims again.

    Returns:
        What does not hold, and how many claims were looked at.

    Raises:
        RecomputeError: the potential or its recipe cannot be had here, or nothing was measured.
    """
    by_world = [(world, claim) for s in subjects if (world := world_of(s)) for claim in claims_of(s)]
    if not by_world:
        raise RecomputeError("there is no measurement of a known task and potential to compute again")
    picked = random.Random(seed).sample(by_world, min(count, len(by_world)))  # noqa: S311 - a sample
    findings: list[Finding] = []
    with WorkerPool() as pool:
        for world, claim in picked:
            findings += _measured_again(world, claim, pool)
    return findings, len(picked)


def _measured_again(world: World, claim: Claim, pool: WorkerPool) -> Iterable[Finding]:
    try:
        again = [_relax(world, claim, name, pool) for name in claim.needs]
    except (LiveRelaxationError, RecomputeError) as e:
        return [_finding(claim, f"cannot be computed again: {e}")]
    return list(_differences(claim, again))


def _relax(world: World, claim: Claim, name: str, pool: WorkerPool) -> Relaxation:
    compound, prototype = world.family.compound(claim.compound), world.family.prototype(name)
    if compound is None or prototype is None:
        raise RecomputeError(f"the family has no {claim.compound} as {name}")
    stated = world.reference.provenance
    job = Job(stated.potential, _recipe(world), compound, prototype, claim.pressure)
    return pool.outcome(job, pool.submit(job)).record


def _recipe(world: World) -> RelaxationMaker:
    stated = world.reference.provenance
    return RelaxationMaker.from_settings(stated.settings)


def require(subjects: Sequence[Subject]) -> None:
    """The potentials of these runs are here, with the weights of their reference sets.

    Raises:
        RecomputeError: one is not; the line says what helps.
    """
    for world in filter(None, map(world_of, subjects)):
        stated = world.reference.provenance
        try:
            chosen = potential(stated.potential)
            chosen.check()
            _recipe(world)
        except (PotentialError, RelaxationError) as e:
            raise RecomputeError(str(e)) from e
        if chosen.weights_sha256() != stated.weights_sha256:
            raise RecomputeError(f"the weights of {stated.potential} here are not those of the reference set")


def _differences(claim: Claim, again: Sequence[Relaxation]) -> Iterator[Finding]:
    new = again[0]
    if new.enthalpy is None or new.volume is None or again[-1].enthalpy is None:
        yield _finding(claim, f"fails when it is computed again: {new.error or again[-1].error}")
        return
    stated, found = claim.enthalpy, new.enthalpy
    if claim.above is not None:
        stated, found = claim.above[1], new.enthalpy - again[-1].enthalpy
    if stated is not None and abs(stated - found) > ENERGY_TOLERANCE:
        yield _finding(claim, f"is {stated:.4f} eV/atom in the record and {found:.4f} computed again")
    if claim.volume is not None and abs(new.volume / claim.volume - 1) > VOLUME_TOLERANCE:
        yield _finding(
            claim, f"has {claim.volume:.3f} Å³/atom in the record and {new.volume:.3f} computed again"
        )


def _finding(claim: Claim, text: str) -> Finding:
    return Finding(CHECK, f"{claim} {text}", claim.event, claim.sample)
