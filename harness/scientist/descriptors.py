"""Descriptors of a compound: numbers made from its elements, each with words to speak of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from hepbench.harness.scientist.elements import Row, Table, charges, electrons, number, radius
from hepbench.harness.scientist.formula import Pattern

CATIONS_OF_A_PEROVSKITE = 3
Values = Mapping[str, float]
"""Descriptor → value, for one compound; what is not known is left out."""


@dataclass(frozen=True)
class Ion:
    """An element where it stands in a compound; the charge is 0 when nothing balances."""

    site: str
    row: Row
    charge: int

    @property
    def radius(self) -> float | None:
        """Shannon radius in Å, sixfold coordination."""
        return radius(self.row, self.charge or 2)


Ions = tuple[Ion, ...]
Measure = Callable[[Ions], float | None]


@dataclass(frozen=True)
class Descriptor:
    """A measure of a compound with the words for it, such as "r(A)/r(O)"."""

    words: str
    of: Measure


@dataclass(frozen=True)
class Describer:
    """Describes the compounds of one family from the element table."""

    pattern: Pattern
    table: Table
    catalogue: tuple[Descriptor, ...]

    def values(self, formula: str) -> Values:
        """All descriptors of a compound that can be had."""
        elements = self.pattern.elements(formula)
        if not elements:
            return {}
        balance = charges(elements, self.pattern.counts, self.table) or (0,) * len(elements)
        ions = tuple(
            Ion(site, self.table.get(e, {}), q)
            for site, e, q in zip(self.pattern.sites, elements, balance, strict=True)
        )
        found = ((d.words, d.of(ions)) for d in self.catalogue)
        return {words: value for words, value in found if value is not None and math.isfinite(value)}


def describer(pattern: Pattern, table: Table, formulas: Iterable[str]) -> Describer:
    """A describer with those descriptors that tell the given compounds apart and are known for most."""
    whole = Describer(pattern, table, _catalogue(pattern))
    known = [whole.values(f) for f in formulas]
    useful = []
    for descriptor in whole.catalogue:
        column = [v[descriptor.words] for v in known if descriptor.words in v]
        if len(set(column)) > 1 and len(column) >= 0.8 * len(known):
            useful.append(descriptor)
    return Describer(pattern, table, tuple(useful))


def _catalogue(pattern: Pattern) -> tuple[Descriptor, ...]:
    """Every descriptor of such a formula, the ones that textbooks would try first at the front."""
    varying = [i for i, varies in enumerate(pattern.varying) if varies]
    cations = [i for i in varying if i != pattern.anion]
    # two sites with equally many atoms: these compete for their places
    pairs = [(i, j) for i, j in combinations(varying, 2) if pattern.counts[i] == pattern.counts[j]]
    name = pattern.sites
    return (
        *(_size(pattern, i) for i in cations),
        *(Descriptor(f"|q({name[i]}) - q({name[j]})|", _charge_gap(i, j)) for i, j in _only(pairs, cations)),
        *(
            Descriptor(f"|r({name[i]}) - r({name[j]})|", _gap(_radius(i), _radius(j)))
            for i, j in _only(pairs, cations)
        ),
        *_tolerance(pattern),
        *(Descriptor(f"electronegativity of {name[i]}", _electronegativity(i)) for i in varying),
        *(
            Descriptor(
                f"electronegativity difference of {name[i]} and {name[j]}",
                _gap(_electronegativity(i), _electronegativity(j)),
            )
            for i, j in pairs
        ),
        *(Descriptor(f"d electrons of {name[i]}", _electrons(i, "d")) for i in cations),
        *(Descriptor(f"f electrons of {name[i]}", _electrons(i, "f")) for i in cations),
        *(Descriptor(f"charge of {name[i]}", _charge(i)) for i in cations),
        *(Descriptor(f"period of {name[i]}", _number(i, "period")) for i in varying),
        *(Descriptor(f"group of {name[i]}", _number(i, "group")) for i in varying),
    )


def _only(pairs: list[tuple[int, int]], cations: list[int]) -> list[tuple[int, int]]:
    return [(i, j) for i, j in pairs if i in cations and j in cations]


def _size(pattern: Pattern, i: int) -> Descriptor:
    site, anion = pattern.sites[i], pattern.sites[-1]
    if pattern.varying[pattern.anion]:
        return Descriptor(f"r({site})", _radius(i))
    return Descriptor(f"r({site})/r({anion})", _ratio(_radius(i), _radius(pattern.anion)))


def _tolerance(pattern: Pattern) -> list[Descriptor]:
    """Goldschmidt's tolerance factor, with the mean radius of the two smaller sites."""
    if len(pattern.sites) != CATIONS_OF_A_PEROVSKITE + 1:
        return []

    def factor(ions: Ions) -> float | None:
        a, b, c, x = (ion.radius for ion in ions)
        if a is None or b is None or c is None or x is None:
            return None
        return (a + x) / (math.sqrt(2) * ((b + c) / 2 + x))

    return [Descriptor("tolerance factor", factor)]


def _radius(i: int) -> Measure:
    return lambda ions: ions[i].radius


def _charge(i: int) -> Measure:
    return lambda ions: float(ions[i].charge)


def _charge_gap(i: int, j: int) -> Measure:
    return _gap(_charge(i), _charge(j))


def _electronegativity(i: int) -> Measure:
    return _number(i, "electronegativity_pauling")


def _number(i: int, key: str) -> Measure:
    return lambda ions: number(ions[i].row, key)


def _electrons(i: int, shell: str) -> Measure:
    return lambda ions: electrons(ions[i].row, shell, ions[i].charge or 2)


def _gap(first: Measure, second: Measure) -> Measure:
    def measure(ions: Ions) -> float | None:
        a, b = first(ions), second(ions)
        return None if a is None or b is None else abs(a - b)

    return measure


def _ratio(first: Measure, second: Measure) -> Measure:
    def measure(ions: Ions) -> float | None:
        a, b = first(ions), second(ions)
        return a / b if a is not None and b else None

    return measure
