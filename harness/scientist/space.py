"""The family's compounds as points in the space of their descriptors."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hepbench.harness.scientist.descriptors import Describer, Values

FAR = 10.0
"""Farther than any two compounds are in scaled descriptors."""
NO_CLOSER = 0.1
"""Below this distance relatives count alike: a tenth of the way across the groups of the family."""


@dataclass(frozen=True)
class Axis:
    """A descriptor as a direction of the space.

    Attributes:
        name: The descriptor.
        low: Its least value on the measurable compounds.
        span: Its range on these.
        weight: What its square counts.
    """

    name: str
    low: float
    span: float
    weight: float

    def place(self, values: Values) -> float:
        """The coordinate of a compound; the middle of the range where the value is not known."""
        value = values.get(self.name)
        scaled = 0.5 if value is None else (value - self.low) / self.span
        return math.sqrt(self.weight) * scaled


@dataclass(frozen=True)
class Space:
    """The measurable compounds as relatives of each other, and their descriptors.

    Distances are taken over the descriptors that tell kinship, each scaled to its range on the measurable
    compounds and weighted. A family of which none of these is known takes all its descriptors alike.

    Attributes:
        describer: Turns any formula of the family into descriptors.
        described: Compound → its descriptors.
        axes: What distances are taken over.
        distances: Compound → distance from each compound, in the order of `described`.
    """

    describer: Describer | None = None
    described: Mapping[str, Values] = field(default_factory=dict)
    axes: tuple[Axis, ...] = ()
    distances: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @cached_property
    def _place(self) -> Mapping[str, int]:
        return {c: i for i, c in enumerate(self.described)}

    @property
    def names(self) -> tuple[str, ...]:
        """The descriptors that rules may speak of."""
        return tuple(d.words for d in self.describer.catalogue if d.in_rules) if self.describer else ()

    def values(self, compound: str) -> Values:
        """Descriptors of a compound, also of one that cannot be measured."""
        if compound in self.described:
            return self.described[compound]
        return self.describer.values(compound) if self.describer else {}

    def distance(self, a: str, b: str) -> float:
        """How far apart two measurable compounds are; 0 for others, of which nothing is known."""
        return self.distances[a][self._place[b]] if a in self._place and b in self._place else 0.0

    def typical(self, number: int) -> list[str]:
        """The compounds that best stand for all: each brings them nearest, in sum, to those chosen."""
        near = [FAR] * len(self.described)
        chosen: list[str] = []
        while len(chosen) < min(number, len(near)):
            left = [c for c in self.described if c not in chosen]
            best = min(left, key=lambda c: sum(map(min, near, self.distances[c])))
            near = [*map(min, near, self.distances[best])]
            chosen.append(best)
        return chosen

    def newest(self, compounds: Sequence[str], seen: Iterable[str]) -> list[str]:
        """Compounds ordered so that each is the one farthest from those seen and all before it."""
        left = {c: self.novelty(c, seen) for c in compounds}
        order: list[str] = []
        while left:
            farthest = max(left, key=lambda c: left[c])
            order.append(farthest)
            del left[farthest]
            left = {c: min(d, self.distance(c, farthest)) for c, d in left.items()}
        return order

    def novelty(self, compound: str, seen: Iterable[str]) -> float:
        """Distance to the nearest of those seen."""
        return min((self.distance(compound, c) for c in seen), default=FAR)


def closeness(distance: float) -> float:
    """What a compound at that distance counts in an average over relatives, 1 / (0.01 + d²)³."""
    return (NO_CLOSER**2 + distance**2) ** -3


def apart(axes: Sequence[Axis], a: Values, b: Values) -> float:
    """The distance of any two compounds, by their descriptors."""
    return math.dist([x.place(a) for x in axes], [x.place(b) for x in axes])


def space(describer: Describer, compounds: Sequence[str]) -> Space:
    """The space of these compounds."""
    known = {c: describer.values(c) for c in compounds}
    kin = [d for d in describer.catalogue if d.kinship]
    axes = tuple(_axes(((d.words, d.kinship) for d in kin), known.values()))
    if not axes:
        axes = tuple(_axes(((d.words, 1.0) for d in describer.catalogue), known.values()))
    points = {c: tuple(x.place(values) for x in axes) for c, values in known.items()}
    distances = {c: tuple(math.dist(p, q) for q in points.values()) for c, p in points.items()}
    return Space(describer, known, axes, distances)


def _axes(weights: Iterable[tuple[str, float]], known: Collection[Values]) -> Iterator[Axis]:
    for name, weight in weights:
        column = [v[name] for v in known if name in v]
        if column and max(column) > min(column):
            yield Axis(name, min(column), max(column) - min(column), weight)
