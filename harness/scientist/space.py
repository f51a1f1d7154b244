"""The family's compounds as points in the space of their descriptors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hepbench.harness.scientist.descriptors import Describer, Values

Point = tuple[float, ...]


@dataclass(frozen=True)
class Space:
    """Descriptors of the measurable compounds, and the same scaled to [0, 1] on them.

    Attributes:
        describer: Turns any formula of the family into descriptors.
        points: Compound → its scaled descriptors, 0.5 for what is not known.
    """

    describer: Describer | None = None
    points: Mapping[str, Point] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The descriptors in use."""
        return tuple(d.words for d in self.describer.catalogue) if self.describer else ()

    def values(self, compound: str) -> Values:
        """Descriptors of a compound."""
        return self.describer.values(compound) if self.describer else {}

    def distance(self, a: str, b: str) -> float:
        """Root mean square difference of the scaled descriptors of two measurable compounds."""
        p, q = self.points.get(a, ()), self.points.get(b, ())
        return math.dist(p, q) / math.sqrt(len(p)) if p and q else 0.0

    def spread(self, compounds: Sequence[str], seen: Iterable[str]) -> list[str]:
        """Compounds ordered so that each is the one farthest from those seen and all before it."""
        left = dict.fromkeys(compounds, math.inf)
        latest = [self.points[c] for c in seen if c in self.points]
        if not latest and self.points:
            latest = [(0.5,) * len(next(iter(self.points.values())))]
        order: list[str] = []
        while left:
            for compound, nearest in left.items():
                left[compound] = min([nearest, *(math.dist(self.points.get(compound, p), p) for p in latest)])
            farthest = max(left, key=lambda c: left[c])
            del left[farthest]
            order.append(farthest)
            latest = [self.points[farthest]] if farthest in self.points else []
        return order


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
    return Space(describer, points)
