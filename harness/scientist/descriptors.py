"""Descriptors of a compound: numbers made from its elements, each with words to speak of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from hepbench.harness.scientist.elements import Row, Table, charges, electrons, number, radius
from hepbench.harness.scientist.formula import Pattern

CATIONS_OF_A_PEROVSKITE = 3
SLIGHT = 0.05
KINSHIP: Mapping[str, float] = {"period": SLIGHT, "group": 1.0}
"""Relatives stand in the same group rather than in the same period, as in any structure map since Pettifor,
J. Phys. C 19, 285 (1986): the weights of the two in a squared distance, each scaled to its range. Where two
cations share a sublattice, relatives have the differences in charge and in size in common (Anderson et al.,
Prog. Solid State Chem. 22, 197 (1993)), and the elements themselves count slightly."""
OF_BOTH: Mapping[str, float] = {"period": SLIGHT, "group": SLIGHT}
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
    """A measure of a compound with the words for it, such as "r(A)/r(O)".

    Attributes:
        words: What it is called.
        of: The measure.
        kinship: How much it counts when relatives are looked for; 0 is not at all.
        in_rules: Whether rules may speak of it.
    """

    words: str
    of: Measure
    kinship: float = 0.0
    in_rules: bool = True


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
    """Every descriptor of such a formula, the ones that textbooks would try first at the front.

    B and B' may be written in either order, so nothing is said of one of them alone.
    """
    varying = [i for i, varies in enumerate(pattern.varying) if varies]
    cations = [i for i in varying if i != pattern.anion]
    # two sites with equally many atoms: these compete for their places
    pairs = [(i, j) for i, j in combinations(varying, 2) if pattern.counts[i] == pattern.counts[j]]
    name = pattern.sites
    alike = [(i, j) for i, j in pairs if name[j] == f"{name[i]}'"]
    single = [i for i in varying if not any(i in pair for pair in alike)]
    return (
        *(_size(pattern, i) for i in cations if i in single),
        *(
            Descriptor(f"|q({name[i]}) - q({name[j]})|", _charge_gap(i, j), 1.0 if alike else 0.0)
            for i, j in _only(pairs, cations)
        ),
        *(
            Descriptor(f"|r({name[i]}) - r({name[j]})|", _gap(_radius(i), _radius(j)), 1.0 if alike else 0.0)
            for i, j in _only(pairs, cations)
        ),
        *_tolerance(pattern),
        *(Descriptor(f"electronegativity of {name[i]}", _electronegativity(i)) for i in single),
        *(
            Descriptor(
                f"electronegativity difference of {name[i]} and {name[j]}",
                _gap(_electronegativity(i), _electronegativity(j)),
            )
            for i, j in pairs
        ),
        *(
            Descriptor(f"{shell} electrons of {name[i]}", _electrons(i, shell))
            for shell in "df"
            for i in cations
            if i in single
        ),
        *(Descriptor(f"charge of {name[i]}", _charge(i)) for i in cations if i in single),
        *(
            Descriptor(f"{key} of {name[i]}", _number(i, key), kinship)
            for key, kinship in KINSHIP.items()
            for i in single
        ),
        *(d for i, j in alike for d in _of_both(i, j, f"{name[i]} and {name[j]}")),
    )


def _of_both(i: int, j: int, names: str) -> Iterator[Descriptor]:
    """What can be said of two sites whatever their order: the larger, the smaller, and the difference."""
    for what, first, second in (
        ("electronegativity", _electronegativity(i), _electronegativity(j)),
        ("number of d electrons", _electrons(i, "d"), _electrons(j, "d")),
        ("period", _number(i, "period"), _number(j, "period")),
        ("group", _number(i, "group"), _number(j, "group")),
    ):
        kinship = OF_BOTH.get(what, 0.0)
        if what != "electronegativity":
            yield Descriptor(f"difference in {what} of {names}", _gap(first, second))
        yield Descriptor(f"larger {what} of {names}", _of_two(max, first, second), kinship)
        yield Descriptor(f"smaller {what} of {names}", _of_two(min, first, second), kinship)


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
    return _of_two(lambda a, b: abs(a - b), first, second)


def _of_two(joined: Callable[[float, float], float], first: Measure, second: Measure) -> Measure:
    def measure(ions: Ions) -> float | None:
        a, b = first(ions), second(ions)
        return None if a is None or b is None else joined(a, b)

    return measure


def _ratio(first: Measure, second: Measure) -> Measure:
    def measure(ions: Ions) -> float | None:
        a, b = first(ions), second(ions)
        return a / b if a is not None and b else None

    return measure
