"""Clusters of items, and the cluster-robust variance of a mean over items.

All functions take values of shape (..., items), so that a simulation of thousands of data sets is one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

TINY = 1e-12
"""Below it, a variance or a standard error is rounding alone: nothing scatters."""

Floats = NDArray[np.float64]
Correction = Literal["CR1", "CR2"]


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which cluster each item belongs to.

    Attributes:
        codes: Cluster number of each item, from 0.
        names: Name of each cluster.
    """

    codes: NDArray[np.int64]
    names: tuple[str, ...]

    @classmethod
    def of(cls, labels: Sequence[str]) -> Clusters:
        """Clusters from one label for each item."""
        names, codes = np.unique(np.asarray(labels, dtype=np.str_), return_inverse=True)
        return cls(codes.astype(np.int64), tuple(str(name) for name in names))

    @cached_property
    def sizes(self) -> Floats:
        """Items in each cluster."""
        return np.bincount(self.codes, minlength=len(self.names)).astype(np.float64)

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.codes)

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return len(self.names)

    def sums(self, values: Floats) -> Floats:
        """Sums over the items of each cluster; shape (..., items) → (..., clusters)."""
        member = np.eye(self.n_clusters)[self.codes]
        return np.asarray(values @ member, dtype=np.float64)

    @cached_property
    def degrees_of_freedom(self) -> float:
        """Degrees of freedom of the CR2 variance: clusters − 1, and less where the clusters are unequal.

        Satterthwaite's approximation for independent items of equal variance, after Bell & McCaffrey,
        Survey Methodology 28, 169 (2002). It is clusters − 1 exactly when all clusters have the same size,
        and never more than that here. NaN for a single cluster.
        """
        if self.n_clusters == 1:
            return float("nan")
        n = self.n_items
        covariance = np.diag(self.sizes) - np.outer(self.sizes, self.sizes) / n
        scale = np.sqrt(1 / (1 - self.sizes / n))
        quadratic = covariance * np.outer(scale, scale)
        found = np.trace(quadratic) ** 2 / np.sum(quadratic**2)
        return float(min(found, self.n_clusters - 1))


def cluster_variance(values: Floats, clusters: Clusters, correction: Correction = "CR2") -> Floats:
    """Cluster-robust variance of the mean over items.

    With e the items' deviations from the mean, n items, G clusters of n_g items each:

    * CR1 = G/(G−1) Σ_g (Σ_{i∈g} e_i)² / n², what most software computes;
    * CR2 = Σ_g (Σ_{i∈g} e_i)² / (1 − n_g/n) / n², unbiased for independent items also where the clusters
      are unequal. For equal clusters both are the same.

    Args:
        values: Shape (..., items).
        clusters: The items' clusters.
        correction: Which small-sample correction.

    Returns:
        Shape (...). NaN where there is a single cluster.
    """
    if clusters.n_clusters == 1:
        return np.full(values.shape[:-1], np.nan)
    n = clusters.n_items
    deviations = clusters.sums(values - values.mean(axis=-1, keepdims=True))
    if correction == "CR1":
        weights = np.full(clusters.n_clusters, clusters.n_clusters / (clusters.n_clusters - 1))
    else:
        weights = 1 / (1 - clusters.sizes / n)
    return np.asarray((deviations**2 @ weights) / n**2, dtype=np.float64)
