"""Two reference sets of one family beside each other: where do two potentials give another answer?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from hepbench.harness.laboratory.family import Compound, Family
from hepbench.harness.laboratory.reference import ReferenceSet, Truth


@dataclass(frozen=True)
class Row:
    """One compound in two sets. A truth is None where a set does not hold the compound."""

    compound: Compound
    one: Truth | None
    other: Truth | None

    @property
    def comparable(self) -> bool:
        """Whether both sets give an answer."""
        return bool(self.one and self.other and not self.one.left_out and not self.other.left_out)

    @property
    def agrees(self) -> bool:
        """Whether one answer is right in both: their lowest phases, ties included, have one in common."""
        if self.one is None or self.other is None or not self.comparable:
            return False
        return bool(set(self.one.labels) & set(self.other.labels))

    @property
    def regret(self) -> float | None:
        """What the first set's lowest phase costs in the second, meV/atom above its lowest.

        None where they do not compare, or the second set has no candidate in that phase.
        """
        if self.one is None or self.other is None or not self.comparable:
            return None
        return min(
            (self.other.above_lowest[p] for p in self.one.labels if p in self.other.above_lowest),
            default=None,
        )


@dataclass(frozen=True)
class Comparison:
    """Two sets of one family.

    Attributes:
        family: Whose compounds.
        one: The first set.
        other: The second set.
        rows: In the family's order.
    """

    family: Family
    one: ReferenceSet
    other: ReferenceSet
    rows: tuple[Row, ...]

    def agreement(self) -> Iterator[tuple[str, int, int]]:
        """(chemical family, compounds that agree, compounds that compare); last the sum, as "all"."""
        groups = dict.fromkeys(row.compound.chemical_family for row in self.rows)
        for group in groups:
            yield (group, *_count([r for r in self.rows if r.compound.chemical_family == group]))
        yield ("all", *_count(self.rows))

    def volume_ratio(self) -> float | None:
        """Mean over the structures that are one listed phase in both sets: second volume over the first."""
        ratios = [
            again.volume / record.volume
            for key, record in self.one.relaxations.items()
            if (again := self.other.relaxations.get(key)) is not None
            if record.phase is not None and record.phase == again.phase
            if record.volume is not None and again.volume is not None
        ]
        return fmean(ratios) if ratios else None

    def differing_conditions(self) -> tuple[str, ...]:
        """What else than the weights differs, so that nobody blames the potential for it."""
        mine, others = self.one.provenance, self.other.provenance
        names = ("settings", "versions", "dtype", "device")
        return tuple(name for name in names if getattr(mine, name) != getattr(others, name))


def compare(family: Family, one: ReferenceSet, other: ReferenceSet) -> Comparison:
    """Lay two sets of a family beside each other."""
    rows = [Row(c, _truth(one, c.formula), _truth(other, c.formula)) for c in family.compounds]
    return Comparison(family, one, other, tuple(rows))


HEAD = ("compound", "chemical family", "{one} (gap)", "{other} (gap)", "same", "cost")


def cells(row: Row) -> tuple[str, ...]:
    """A row as text; the gap to the next phase and the cost (`Row.regret`) in meV/atom."""
    cost = "" if row.agrees or row.regret is None else f"{row.regret:.1f}"
    same = "–" if not row.comparable else "yes" if row.agrees else "no"
    return (
        row.compound.formula,
        row.compound.chemical_family,
        _answer(row.one),
        _answer(row.other),
        same,
        cost,
    )


def summary(found: Comparison) -> list[str]:
    """What the table comes to, in lines."""
    counts = [f"{group} {same} of {size}" for group, same, size in found.agreement() if size]
    lines = [f"same lowest phase, ties included: {counts.pop() if counts else 'nothing compares'}"]
    if counts:
        lines.append(f"by chemical family: {', '.join(counts)}")
    ratio = found.volume_ratio()
    if ratio is not None:
        names = (found.other.provenance.potential, found.one.provenance.potential)
        lines.append(f"volume of the same phases, {names[0]} over {names[1]}: {ratio:.3f} on average")
    if found.differing_conditions():
        lines.append(f"beside the potential, these differ: {', '.join(found.differing_conditions())}")
    return lines


def _truth(reference: ReferenceSet, formula: str) -> Truth | None:
    try:
        return reference.truth(formula)
    except KeyError:
        return None


def _count(rows: Sequence[Row]) -> tuple[int, int]:
    return sum(row.agrees for row in rows), sum(row.comparable for row in rows)


def _answer(truth: Truth | None) -> str:
    if truth is None:
        return "not in the set"
    if truth.left_out:
        return "left out"
    gap = "" if truth.gap is None else f" ({truth.gap:.1f})"
    return " = ".join(truth.labels) + gap
