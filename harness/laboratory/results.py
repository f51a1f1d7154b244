"""Relaxations as answers to an agent, with the checks that decide whether they count as evidence.

Gate 4 of the protocol trusts a result only if its own checks pass. They are computed here, from the record
of the relaxation alone, so that an auditor with the record comes to the same verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hepbench.harness.laboratory.family import Prototype
from hepbench.harness.laboratory.records import Relaxation
from hepbench.harness.laboratory.reference import NEAR

Source = Literal["reference set", "live"]

ENERGY_DIGITS = 4
"""Decimals of an energy in eV/atom, one tenth of a meV: potentials are not reproducible beyond that."""

Checks = dict[str, bool]
Answer = dict[str, Any]


@dataclass(frozen=True)
class Tolerances:
    """What a relaxation must meet to be trusted.

    Attributes:
        fmax: Largest force on an atom, eV/Å; that to which the reference sets are relaxed, or better.
        smax: Largest deviation of a stress component from the external pressure, GPa. In a crystal with a
            bulk modulus of 150 GPa, 0.5 GPa is 0.3 % of the volume, and 0.06 meV/atom of energy.
        volume: Smallest and largest volume, Å³/atom. Diamond has 5.7, open tetrahedral frameworks up to 20;
            beyond these bounds a crystal has collapsed or fallen apart.
        doubt: A candidate that did not converge casts doubt on a comparison when it lies less than this
            above the lowest phase, eV/atom: it could still fall below it. As for the truth of a compound.
    """

    fmax: float = 0.02
    smax: float = 0.5
    volume: tuple[float, float] = (4.0, 80.0)
    doubt: float = NEAR


@dataclass(frozen=True)
class Measured:
    """A relaxation, the prototype that it started as, and where it comes from."""

    prototype: Prototype
    relaxation: Relaxation
    source: Source


def measurement_key(measured: Measured) -> tuple[str, str]:
    """What was measured, and how: the same pair in two results is one measurement, and evidence once."""
    r = measured.relaxation
    return r.compound, f"{r.prototype}, {r.pressure:g} GPa"


def numeric_checks(relaxation: Relaxation, tolerances: Tolerances) -> Checks:
    """Gate 4 without the phase: converged, forces, stress, finite energy, volume within bounds."""
    low, high = tolerances.volume
    return {
        "converged": relaxation.converged,
        "forces": _at_most(relaxation.fmax, tolerances.fmax),
        "stress": _at_most(relaxation.smax, tolerances.smax),
        "finite_energy": _is_finite(relaxation.energy) and _is_finite(relaxation.enthalpy),
        "volume": relaxation.volume is not None and low <= relaxation.volume <= high,
    }


def relaxation_checks(measured: Measured, tolerances: Tolerances) -> Checks:
    """Gate 4 for one relaxation: the numeric checks, and that it is still the phase it is named for."""
    return {
        **numeric_checks(measured.relaxation, tolerances),
        "still_the_prototype": measured.relaxation.is_start,
    }


def relaxation_answer(measured: Measured, checks: Checks) -> Answer:
    """What `relax_structure` answers, without the result's id, the provenance and the budget."""
    r = measured.relaxation
    return {
        "compound": r.compound,
        "prototype": r.prototype,
        "pressure_GPa": r.pressure,
        "energy_eV_per_atom": _rounded(r.energy, ENERGY_DIGITS),
        "enthalpy_eV_per_atom": _rounded(r.enthalpy, ENERGY_DIGITS),
        "volume_A3_per_atom": _rounded(r.volume, 3),
        "space_group": r.space_group,
        "phase": r.phase,
        "still_the_prototype": measured.relaxation.is_start,
        "trusted": all(checks.values()),
        "checks": checks,
    }


@dataclass(frozen=True)
class Comparison:
    """Candidates of one compound at one pressure, sorted into what competes and what does not.

    A relaxed structure counts under the phase that it is, not under the one it started as: a CaCl2-type
    start that ends in rutile is rutile. So the lowest phase here and the truth of a compound follow one rule.

    Attributes:
        ranked: The best candidate of each listed phase, lowest enthalpy first (at zero pressure: energy).
        changed: Candidates that relaxed out of the prototype they started as. Where one became a phase of
            the list it stands in the ranking under that phase; where it became something else it does not
            compete.
        failed: Candidates without numbers to trust, each with its reason. They do not compete, and are
            never dropped silently.
        checks: What the trust in the comparison rests on.
    """

    ranked: tuple[Measured, ...]
    changed: tuple[Measured, ...]
    failed: tuple[tuple[Measured, str], ...]
    checks: Checks


def compare(candidates: Sequence[Measured], tolerances: Tolerances) -> Comparison:
    """Sort candidates and check the comparison.

    It is trusted when every ranked phase passes the numeric checks, at least two phases are ranked, and
    nothing casts doubt on the lowest: no candidate stopped unconverged at about its energy or below, and
    none ended below it in a structure outside the list.
    """
    faults = [(c, _fault(c.relaxation, tolerances)) for c in candidates]
    failed = tuple((c, fault) for c, fault in faults if fault)
    sound = [c for c, fault in faults if not fault]
    ranked = _best_of_each_phase(sound)
    every = [numeric_checks(c.relaxation, tolerances) for c in ranked]
    checks = {name: all(check[name] for check in every) for name in _NUMERIC}
    checks["two_phases_ranked"] = len(ranked) > 1
    checks["lowest_beyond_doubt"] = bool(ranked) and not (
        any(_height(c) < _height(ranked[0]) + tolerances.doubt for c, _ in failed)
        or any(_height(c) < _height(ranked[0]) for c in sound)
    )
    return Comparison(ranked, tuple(c for c in sound if not c.relaxation.is_start), failed, checks)


def comparison_answer(compound: str, pressure: float, comparison: Comparison) -> Answer:
    """What `compare_structures` answers, without the result's id, the provenance and the budget."""
    ranked = comparison.ranked
    return {
        "compound": compound,
        "pressure_GPa": pressure,
        "lowest": ranked[0].relaxation.phase if ranked else None,
        "ranking": [_ranking_row(c, ranked[0]) for c in ranked],
        "changed": [
            {"prototype": c.prototype.name, "became": c.relaxation.phase} for c in comparison.changed
        ],
        "failed": [{"prototype": c.prototype.name, "reason": reason} for c, reason in comparison.failed],
        "trusted": all(comparison.checks.values()),
        "checks": comparison.checks,
    }


_NUMERIC = ("converged", "forces", "stress", "finite_energy", "volume")


def _ranking_row(candidate: Measured, lowest: Measured) -> Answer:
    r = candidate.relaxation
    row = {
        "phase": r.phase,
        "above_lowest_meV_per_atom": round(1000 * (_height(candidate) - _height(lowest)), 1),
        "volume_A3_per_atom": _rounded(r.volume, 3),
        "space_group": r.space_group,
    }
    return row if r.prototype == r.phase else {**row, "started_as": r.prototype}


def _best_of_each_phase(candidates: Sequence[Measured]) -> tuple[Measured, ...]:
    """The lowest candidate of each listed phase; of equals the one that kept its start, then by name."""
    best: dict[str, Measured] = {}
    for c in sorted(candidates, key=lambda c: (_height(c), not c.relaxation.is_start, c.prototype.name)):
        if c.relaxation.phase is not None:
            best.setdefault(c.relaxation.phase, c)
    return tuple(best.values())


def _height(candidate: Measured) -> float:
    """Enthalpy in eV/atom; infinitely high where there is none."""
    enthalpy = candidate.relaxation.enthalpy
    return enthalpy if enthalpy is not None and math.isfinite(enthalpy) else math.inf


def _fault(relaxation: Relaxation, tolerances: Tolerances) -> str:
    """Why a relaxation gives no number to trust, or nothing."""
    if relaxation.status == "failed":
        return relaxation.error or "the relaxation failed"
    failed = [name for name, passed in numeric_checks(relaxation, tolerances).items() if not passed]
    return f"failed its checks: {', '.join(failed)}" + _residuals(relaxation) if failed else ""


def _residuals(relaxation: Relaxation) -> str:
    force, stress = _rounded(relaxation.fmax, 3), _rounded(relaxation.smax, 2)
    return f" (force {force} eV/Å, stress {stress} GPa after {relaxation.steps} steps)"


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _at_most(value: float | None, limit: float) -> bool:
    return value is not None and abs(value) <= limit


def _rounded(value: float | None, digits: int) -> float | None:
    """Rounded for reading; None for what is no number, as JSON has no NaN."""
    if value is None or not math.isfinite(value):
        return None
    return round(value, digits) + 0.0  # no -0.0
