"""The family's compounds as points in the space of their descriptors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hepbench.harness.scientist.descriptors import Describer, Values

FAR = 10.0
"""Farther than any two compounds are in scaled descriptors."""


@dataclass(frozen=True)
class Space:
    """Descriptors of the measurable compounds, and how far apart these are.

    For distances, descriptors are scaled to [0, 1] on the measurable compounds; what is not known is 0.5.

    Attributes:
        describer: Turns any formula of the family into descriptors.
        described: Compound → its descriptors.
        distances: Compound → root mean square differences of its scaled descriptors from those of each
            compound, in the order of `described`.
    """

    describer: Describer | None = None
    described: Mapping[str, Values] = field(default_factory=dict)
    distances: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @cached_property
    def _place(self) -> Mapping[str, int]:
        return {c: i for i, c in enumerate(self.described)}

    @property
    def names(self) -> tuple[str, ...]:
        """The descriptors in use."""
        return tuple(d.words for d in self.describer.catalogue) if self.describer else ()

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


def space(describer: Describer, compounds: Sequence[str]) -> Space:
    """The space of these compounds."""
    known = {c: describer.values(c) for c in compounds}
    limits = []
    for name in (d.words for d in describer.catalogue):
        column = [v[name] for v in known.values() if name in v]
        if column and max(column) > min(column):
            limits.append((name, min(column), max(column)))
    points = {
        c: tuple((values.get(n, (low + high) / 2) - low) / (high - low) for n, low, high in limits)
        for c, values in known.items()
    }
    root = math.sqrt(max(1, len(limits)))
    return Space(
        describer,
        known,
        {c: tuple(math.dist(p, q) / root for q in points.values()) for c, p in points.items()},
    )
