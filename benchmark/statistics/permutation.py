"""Sign-flip permutation over clusters: could this difference be chance?"""

from __future__ import annotations

import numpy as np

from hepbench.benchmark.statistics.clusters import Floats

EXACT_UP_TO = 16
"""Clusters up to which all 2^G sign patterns are enumerated; above, they are drawn."""

DRAWS = 20_000
_TOLERANCE = 1e-9


def sign_flip_p(contributions: Floats, *, seed: int = 0) -> float:
    """Two-sided p of a sum of contributions, one for each cluster, under random signs.

    If the two sides did not differ, each cluster's contribution could as well have had the other sign. Exact
    up to `EXACT_UP_TO` clusters, else by `DRAWS` seeded draws with the observed pattern counted in, so that
    p is never 0 (Phipson & Smyth, Stat. Appl. Genet. Mol. Biol. 9, 39, 2010). With G clusters p is at least
    2^(1−G).

    Args:
        contributions: Shape (clusters,).
        seed: Of the draws.
    """
    moved = contributions[np.abs(contributions) > _TOLERANCE]  # flipping a zero changes nothing
    if moved.size == 0:
        return 1.0
    return _share_as_extreme(_signs(moved.size, seed) @ moved, float(moved.sum()))


def pairwise_sign_flip_p(contributions: Floats, *, seed: int = 0) -> Floats:
    """`sign_flip_p` of the differences of all pairs at once, with the same signs for each pair.

    Args:
        contributions: Shape (entries, clusters): what each cluster adds to each entry's score.
        seed: Of the draws.

    Returns:
        Shape (entries, entries), symmetric.
    """
    entries, clusters = contributions.shape
    flipped = _signs(clusters, seed) @ contributions.T
    sums = contributions.sum(axis=1)
    p = np.ones((entries, entries))
    for a in range(entries):
        for b in range(a + 1, entries):
            p[a, b] = p[b, a] = _share_as_extreme(flipped[:, a] - flipped[:, b], sums[a] - sums[b])
    return p


def _share_as_extreme(flipped: Floats, observed: float) -> float:
    """Share of sums as far from zero as the observed one, which is counted in where signs are drawn."""
    extreme = int(np.count_nonzero(np.abs(flipped) >= abs(observed) - _TOLERANCE))
    return (extreme + 1) / (DRAWS + 1) if len(flipped) == DRAWS else extreme / len(flipped)


def _signs(n: int, seed: int) -> Floats:
    """Sign patterns; shape (patterns, n)."""
    if n <= EXACT_UP_TO:
        return _all_signs(n)
    return np.random.default_rng(seed).choice(np.array([-1.0, 1.0]), size=(DRAWS, n))


def _all_signs(n: int) -> Floats:
    """Sign patterns with the first sign fixed, which by symmetry are enough; shape (2^(n−1), n)."""
    bits = (np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) & 1
    return np.asarray(1.0 - 2.0 * bits, dtype=np.float64)
