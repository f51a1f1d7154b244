"""Several models at once: Holm's correction, and ranks as groups that the data can tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values that keep the family-wise error (Holm, Scand. J. Stat. 6, 65, 1979).

    Args:
        p_values: One for each comparison, in any order.

    Returns:
        The adjusted values in the same order.
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in adjusted]


def tie_groups(
    scores: Mapping[str, float], p_values: Mapping[frozenset[str], float], *, alpha: float = 0.05
) -> dict[str, int]:
    """Groups of entries that cannot be separated from their group's leader.

    The best entry leads the first group and is compared with all others; the p-values of these comparisons
    are corrected after Holm. From the best down, the first entry that differs leads the next group, and is
    compared with all entries that are left.

    Args:
        scores: Entry → score, higher is better.
        p_values: Uncorrected p of each pair of entries.
        alpha: Level of significance.

    Returns:
        Entry → number of its group, from 1, in order of rank.
    """
    groups: dict[str, int] = {}
    left = sorted(scores, key=lambda name: (-scores[name], name))
    number = 0
    while left:
        number += 1
        leader, *others = left
        adjusted = holm([p_values[frozenset((leader, other))] for other in others])
        tied = next((n for n, p in enumerate(adjusted) if p <= alpha), len(others))
        groups |= dict.fromkeys([leader, *others[:tied]], number)
        left = others[tied:]
    return groups
