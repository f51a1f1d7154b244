"""Quantiles of Student's t, from `scipy.special`: it imports in a tenth of the time of `scipy.stats`."""

from __future__ import annotations

import numpy as np
from scipy import special

from hepbench.benchmark.statistics.clusters import Floats


def student_quantile(probability: float, df: float | Floats) -> Floats:
    """Quantile of Student's t; of the normal distribution where `df` is infinite, NaN where it is NaN."""
    degrees = np.asarray(df, dtype=np.float64)
    finite = np.where(np.isinf(degrees), 1.0, degrees)
    student = special.stdtrit(finite, probability)
    return np.asarray(np.where(np.isinf(degrees), normal_quantile(probability), student), dtype=np.float64)


def normal_quantile(probability: float) -> float:
    """Quantile of the normal distribution."""
    return float(special.ndtri(probability))
