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
    scores: Mapping[str, float], p_adjusted: Mapping[frozenset[str], float], *, alpha: float = 0.05
) -> dict[str, int]:
    """Groups of entries that cannot be separated from their group's leader.

    Entries are taken from the best score down. An entry whose comparison with the current leader is
    significant opens the next group and leads it.

    Args:
        scores: Entry → score, higher is better.
        p_adjusted: Adjusted p of each pair of entries.
        alpha: Level of significance.

    Returns:
        Entry → number of its group, from 1, in order of rank.
    """
    groups: dict[str, int] = {}
    leader = ""
    for name in sorted(scores, key=lambda name: (-scores[name], name)):
        if not groups:
            leader, groups[name] = name, 1
            continue
        group = groups[leader]
        if p_adjusted[frozenset((leader, name))] <= alpha:
            leader, group = name, group + 1
        groups[name] = group
    return groups
