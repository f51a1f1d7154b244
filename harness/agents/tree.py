"""A shallow classification tree: Gini impurity, axis-parallel cuts, deterministic.

After Breiman, Friedman, Olshen & Stone, Classification and Regression Trees (1984). A few dozen compounds
and a handful of descriptors need no more than this, and no further dependency.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

MAX_DEPTH = 3
MIN_LEAF = 2
"""Compounds that a leaf must hold."""

Case = tuple[Sequence[float], str]
"""Descriptor values and label."""


@dataclass(frozen=True)
class Leaf:
    """An end of the tree, with the labels that came here."""

    counts: Counter[str]

    @property
    def label(self) -> str:
        """The most frequent label; the first by name among equals."""
        return min(self.counts, key=lambda label: (-self.counts[label], label))

    @property
    def confidence(self) -> float:
        """Laplace's estimate of how often the leaf's label is right: (n + 1) / (N + 2)."""
        return (self.counts[self.label] + 1) / (self.counts.total() + 2)


@dataclass(frozen=True)
class Cut:
    """A question: is the value in this column at most the limit?"""

    column: int
    limit: float
    below: Node
    above: Node


Node = Leaf | Cut


def grow(cases: Sequence[Case], depth: int = MAX_DEPTH) -> Node:
    """The tree for these cases.

    Raises:
        ValueError: there is no case.
    """
    if not cases:
        raise ValueError("a tree needs at least one case")
    cut = _best_cut(cases) if depth else None
    if cut is None:
        return Leaf(Counter(label for _, label in cases))
    below, above = _parted(cases, *cut)
    return Cut(*cut, grow(below, depth - 1), grow(above, depth - 1))


def leaf_of(node: Node, values: Sequence[float]) -> Leaf:
    """The leaf in which these values end."""
    while isinstance(node, Cut):
        node = node.below if values[node.column] <= node.limit else node.above
    return node


def words(node: Node, names: Sequence[str]) -> str:
    """The tree as a rule in words."""
    if isinstance(node, Leaf):
        return node.label
    below, above = words(node.below, names), words(node.above, names)
    return f"({names[node.column]} ≤ {node.limit:.4g}: {below}; else {above})"


def _best_cut(cases: Sequence[Case]) -> tuple[int, float] | None:
    """The cut that lowers the impurity most; the first column and the lowest limit among equals."""
    best, chosen = _impurity(cases) - 1e-9, None
    for column in range(len(cases[0][0])):
        points = sorted({values[column] for values, _ in cases})
        for low, high in pairwise(points):
            limit = (low + high) / 2
            parts = _parted(cases, column, limit)
            left = sum(map(_impurity, parts))
            if min(map(len, parts)) >= MIN_LEAF and left < best - 1e-9:
                best, chosen = left, (column, limit)
    return chosen


def _parted(cases: Sequence[Case], column: int, limit: float) -> tuple[list[Case], list[Case]]:
    below = [case for case in cases if case[0][column] <= limit]
    return below, [case for case in cases if case[0][column] > limit]


def _impurity(cases: Sequence[Case]) -> float:
    """Gini impurity times the number of cases."""
    counts = Counter(label for _, label in cases)
    return len(cases) - sum(n * n for n in counts.values()) / max(1, len(cases))
