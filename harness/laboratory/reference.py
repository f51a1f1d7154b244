"""A reference set: the relaxed candidates of a family with one potential, as files that a person can read.

    energies.csv        one row a candidate: energy, volume, space group, phase, checks
    structures.extxyz   the relaxed structures, in the table's order, named in `compound` and `prototype`
    provenance.json     potential, weights, settings, versions, the SHA-256 of the two files above, and, for a
                        partial set, which compounds it does not hold and why
    timings.csv         wall times; not part of the set's identity, so that two builds give the same bytes

Reading needs neither pymatgen nor torch, and structures are parsed only when one is asked for.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from hepbench.harness.laboratory.extxyz import read_extxyz
from hepbench.harness.laboratory.records import Provenance, Relaxation

if TYPE_CHECKING:
    from ase import Atoms

TIE = 0.002
"""Phases within this of the lowest, eV/atom, are tied."""
NEAR = 0.005
"""An unconverged candidate up to this above the lowest, eV/atom, might still become the lowest."""
MOST_TIES = 3
"""More phases than this in a tie, and the compound is not asked."""

_COLUMNS = tuple(Relaxation.model_fields)
_DECIMALS = {
    "energy": 6, "enthalpy": 6, "volume": 4, "fmax": 5, "smax": 4, "volume_ratio": 4, "pressure": 4,
}  # fmt: skip


class ReferenceError(ValueError):  # noqa: A001 - the field's word; the builtin of that name is a weakref's
    """A reference set that cannot be used; the message is one line that names the file."""


@dataclass(frozen=True)
class Truth:
    """What the potential says about one compound.

    Attributes:
        compound: Formula.
        labels: The lowest phase, and those tied with it, lowest first. Empty where the compound is left out.
        above_lowest: Label → meV/atom above the lowest listed phase, lowest first.
        left_out: Why the compound cannot be asked; empty when it can.
    """

    compound: str
    labels: tuple[str, ...]
    above_lowest: Mapping[str, float]
    left_out: str = ""

    @property
    def gap(self) -> float | None:
        """meV/atom from the lowest phase to the next that is not tied; None where there is none."""
        return next((v for label, v in self.above_lowest.items() if label not in self.labels), None)


def judge(compound: str, records: Sequence[Relaxation]) -> Truth:
    """The truth of one compound from its candidates, at the pressure that they were relaxed at.

    A candidate competes when it converged and is one of the listed phases. The compound is left out when
    the lowest structure is none of them (and not tied with one), when an unconverged candidate lies below
    or near the lowest, when no candidate competes, or when more than three phases tie.
    """
    found = sorted(
        (r for r in records if r.status == "ok" and r.enthalpy is not None),
        key=lambda r: (r.enthalpy, r.prototype),
    )
    listed = [r for r in found if r.converged and r.phase]
    if not listed:
        return Truth(compound, (), {}, "no candidate converged to a listed phase")
    lowest = _enthalpy(listed[0])
    above: dict[str, float] = {}
    for record in listed:
        above.setdefault(str(record.phase), round(1000 * (_enthalpy(record) - lowest), 3))
    labels = tuple(label for label, value in above.items() if value <= 1000 * TIE)
    return Truth(compound, labels, above, _reason_to_leave_out(found, lowest, labels))


def _reason_to_leave_out(found: Sequence[Relaxation], lowest: float, labels: Sequence[str]) -> str:
    for record in found:
        height = 1000 * (_enthalpy(record) - lowest)
        if not record.converged and height <= 1000 * NEAR:
            return f"unconverged {record.prototype} start at {height:+.1f} meV/atom of the lowest phase"
        if record.converged and record.phase is None and height < -1000 * TIE:
            return f"{record.prototype} start ends {-height:.1f} meV/atom lower, in none of the listed phases"
    if len(labels) > MOST_TIES:
        return f"{len(labels)} phases tie within {1000 * TIE:g} meV/atom"
    return ""


def _enthalpy(record: Relaxation) -> float:
    return math.inf if record.enthalpy is None else record.enthalpy


@dataclass(frozen=True)
class ReferenceSet:
    """A reference set that was read and checked.

    Attributes:
        path: Its folder.
        sha256: Identity of its content: energies, structures and provenance.
        provenance: What the energies depend on.
        relaxations: (formula, prototype name) → record.
        not_held: Formula → why a partial set has nothing of it: its potential does not know an element, or
            nobody asked for it.
    """

    path: Path
    sha256: str
    provenance: Provenance
    relaxations: Mapping[tuple[str, str], Relaxation]
    not_held: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> ReferenceSet:
        """Read a reference set.

        Raises:
            ReferenceError: a file is missing, damaged, or not the one that the provenance names.
        """
        texts = {name: _read(path / name) for name in (_ENERGIES, _STRUCTURES, _PROVENANCE)}
        provenance, hashes, not_held = _parse_provenance(path / _PROVENANCE, texts[_PROVENANCE])
        for name, wanted in hashes.items():
            if _sha256(texts[name]) != wanted:
                raise ReferenceError(
                    f"{path / name} was changed: its SHA-256 is not the one in {_PROVENANCE}"
                )
        records = _parse_energies(path / _ENERGIES, texts[_ENERGIES])
        return cls(path, _sha256(texts[_PROVENANCE]), provenance, records, not_held)

    def relaxation(self, compound: str, prototype: str) -> Relaxation | None:
        """The record of a candidate, or None when the set does not hold it."""
        return self.relaxations.get((compound, prototype))

    def of_compound(self, formula: str) -> tuple[Relaxation, ...]:
        """The records of one compound, in the family's order of prototypes."""
        return tuple(record for (name, _), record in self.relaxations.items() if name == formula)

    def truth(self, formula: str) -> Truth:
        """The lowest phases of a compound; none, and the reason, for one that a partial set does not hold.

        Raises:
            KeyError: the set does not know the compound.
        """
        if formula in self.not_held:
            return Truth(formula, (), {}, self.not_held[formula])
        return self._truths[formula]

    @property
    def left_out(self) -> dict[str, str]:
        """Formula → why the compound is not asked."""
        return dict(self.not_held) | {
            formula: truth.left_out for formula, truth in self._truths.items() if truth.left_out
        }

    def structure(self, compound: str, prototype: str) -> Atoms:
        """The relaxed structure of a candidate.

        Raises:
            KeyError: the set has none, because the candidate is unknown or failed.
        """
        return self._structures[compound, prototype].copy()

    @cached_property
    def _truths(self) -> dict[str, Truth]:
        formulas = dict.fromkeys(formula for formula, _ in self.relaxations)
        return {formula: judge(formula, self.of_compound(formula)) for formula in formulas}

    @cached_property
    def _structures(self) -> dict[tuple[str, str], Atoms]:
        text = (self.path / _STRUCTURES).read_text(encoding="utf-8")
        return {(named["compound"], named["prototype"]): atoms for named, atoms in read_extxyz(text)}


def write_reference(
    path: Path,
    provenance: Provenance,
    records: Sequence[Relaxation],
    structures: Sequence[Atoms],
    seconds: Mapping[tuple[str, str], float],
    not_held: Mapping[str, str] | None = None,
) -> None:
    """Write a reference set.

    Args:
        path: The folder; files of a former set are replaced.
        provenance: What the energies depend on.
        records: In the order of the table.
        structures: Relaxed atoms with `compound` and `prototype` in their `info`, in the table's order.
        seconds: (formula, prototype name) → wall time of the job.
        not_held: Formula → why the set has nothing of it.
    """
    texts = {_ENERGIES: _energies_csv(records).encode(), _STRUCTURES: _extxyz(structures)}
    stated = provenance.model_dump() | {"sha256": {name: _sha256(text) for name, text in texts.items()}}
    if not_held:
        stated[_NOT_HELD] = dict(not_held)
    texts[_PROVENANCE] = (json.dumps(stated, indent=2, sort_keys=True) + "\n").encode()
    rows = "".join(f"{compound},{prototype},{time:.2f}\n" for (compound, prototype), time in seconds.items())
    texts[_TIMINGS] = ("compound,prototype,seconds\n" + rows).encode()
    path.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (path / name).write_bytes(text)


_ENERGIES, _STRUCTURES = "energies.csv", "structures.extxyz"
_PROVENANCE, _TIMINGS = "provenance.json", "timings.csv"
_NOT_HELD = "not_held"


def _energies_csv(records: Sequence[Relaxation]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for record in records:
        writer.writerow([_cell(name, getattr(record, name)) for name in _COLUMNS])
    return out.getvalue()


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.{_DECIMALS[name]}f}" if name in _DECIMALS else str(value)


def _extxyz(structures: Sequence[Atoms]) -> bytes:
    from ase.io import write

    out = io.StringIO()
    for atoms in structures:
        write(out, atoms, format="extxyz")
    return out.getvalue().encode()


def _parse_provenance(path: Path, text: bytes) -> tuple[Provenance, dict[str, str], dict[str, str]]:
    try:
        stated = json.loads(text)
        hashes, lacking = stated.pop("sha256"), stated.pop(_NOT_HELD, {})
        provenance = Provenance.model_validate(stated)
        not_held = {str(formula): str(reason) for formula, reason in lacking.items()}
        return provenance, {name: str(hashes[name]) for name in (_ENERGIES, _STRUCTURES)}, not_held
    except (json.JSONDecodeError, UnicodeDecodeError, ValidationError, KeyError, TypeError, AttributeError):
        raise ReferenceError(f"{path} is damaged: not a provenance with the SHA-256 of its files") from None


def _parse_energies(path: Path, text: bytes) -> dict[tuple[str, str], Relaxation]:
    records: dict[tuple[str, str], Relaxation] = {}
    try:
        rows = list(csv.DictReader(io.StringIO(text.decode(), newline="")))
    except (UnicodeDecodeError, csv.Error):
        raise ReferenceError(f"{path} is damaged: not a CSV table") from None
    for line, row in enumerate(rows, start=2):
        record = _parse_row(path, line, row)
        records[record.compound, record.prototype] = record
    if not records:
        raise ReferenceError(f"{path} is damaged: it has no rows")
    return records


def _parse_row(path: Path, line: int, row: Mapping[str | None, Any]) -> Relaxation:
    try:
        record = Relaxation.model_validate({k: v for k, v in row.items() if v != ""})
    except ValidationError as e:
        first = e.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ReferenceError(f"{path}, line {line}, {where}: {first['msg']}") from None
    numbers = (record.energy, record.enthalpy, record.volume, record.fmax, record.smax, record.volume_ratio)
    if record.status == "ok" and not all(n is not None and math.isfinite(n) for n in numbers):
        raise ReferenceError(f"{path}, line {line}: an energy, volume or residual is missing or not finite")
    return record


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as e:
        raise ReferenceError(f"reference file {path}: {e.strerror or e}") from e


def _sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
