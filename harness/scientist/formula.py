"""Formulas: which elements play which role in the compounds of a family."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_PART = re.compile(r"([A-Z][a-z]?)(\d*)")

Parts = tuple[tuple[str, int], ...]
"""Elements of a formula with their counts, in the order they are written."""


def parts(formula: str) -> Parts:
    """The elements and counts of a formula such as "Sr2FeMoO6"; empty when it is not one."""
    if not formula or _PART.sub("", formula):
        return ()
    return tuple((element, int(count or 1)) for element, count in _PART.findall(formula))


@dataclass(frozen=True)
class Pattern:
    """What the formulas of a family have in common.

    Attributes:
        sites: A name for each position of the formula, such as ("A", "B", "B'", "O").
        counts: Atoms of each position in a formula unit.
        varying: Whether different compounds have different elements there.
    """

    sites: tuple[str, ...]
    counts: tuple[int, ...]
    varying: tuple[bool, ...]

    def elements(self, formula: str) -> tuple[str, ...]:
        """The elements of a formula in the order of the sites; empty when it does not fit the pattern."""
        found = parts(formula)
        return tuple(e for e, _ in found) if tuple(n for _, n in found) == self.counts else ()

    @property
    def anion(self) -> int:
        """The position of the anion: the last, as formulas are written."""
        return len(self.sites) - 1


def pattern_of(formulas: Iterable[str]) -> Pattern | None:
    """The pattern that most of the formulas follow, or None when there is none."""
    read = [p for p in map(parts, formulas) if len(p) > 1]
    if not read:
        return None
    counts = Counter(tuple(n for _, n in p) for p in read).most_common(1)[0][0]
    fitting = [[e for e, _ in p] for p in read if tuple(n for _, n in p) == counts]
    columns = list(zip(*fitting, strict=True))
    varying = tuple(len(set(column)) > 1 for column in columns)
    return Pattern(_names(columns, varying), counts, varying)


def _names(columns: list[tuple[str, ...]], varying: tuple[bool, ...]) -> tuple[str, ...]:
    anion = "X" if varying[-1] else columns[-1][0]
    cations = {1: ("M",) if varying[-1] else ("A",), 2: ("A", "B"), 3: ("A", "B", "B'")}
    positions = len(columns) - 1
    return (*cations.get(positions, tuple(f"A{i + 1}" for i in range(positions))), anion)
