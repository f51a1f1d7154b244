"""A compound as numbers: what its elements say, without any calculation.

The reference points that need no model work in this space, and the reader of a record is given it. Element
data come from `laboratory.elements`, which imports pymatgen's periodic table at the first use.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from pydantic import BaseModel, ConfigDict

from hepbench.harness.laboratory.elements import element_row

KNOWN_SHARE = 0.8
"""A descriptor is used when it is known for this share of the compounds; the mean stands for the rest."""

_COORDINATION = 6

Values = Mapping[str, float]
"""Descriptor → value; what is not known is left out."""


class Site(BaseModel):
    """A role in a compound: the element that plays it, and its formal charge in e (None if not given)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: str
    element: str
    charge: int | None = None


def describe(sites: Sequence[Site]) -> dict[str, float]:
    """The descriptors of a compound.

    Per role: Pauling electronegativity, group, period, charge (e), Shannon radius (Å, sixfold or the nearest
    coordination), d and f electrons of the ion. Per pair of roles: absolute differences of electronegativity,
    charge and radius.
    """
    single = {site.role: _of_site(site) for site in sites}
    values = {f"{name} of {role}": v for role, found in single.items() for name, v in found.items()}
    for a, b in combinations(single, 2):
        for name in ("electronegativity", "charge", "radius"):
            if name in single[a] and name in single[b]:
                values[f"difference in {name} of {a} and {b}"] = abs(single[a][name] - single[b][name])
    return values


def _of_site(site: Site) -> dict[str, float]:
    row = element_row(site.element)
    found: dict[str, Any] = {
        "radius": _radius(row, site.charge),
        "electronegativity": row["electronegativity_pauling"],
        "charge": site.charge,
        "d electrons": row["d_electrons"].get(str(site.charge)),
        "f electrons": row["f_electrons"].get(str(site.charge)),
        "period": row["period"],
        "group": row["group"],
    }
    return {k: float(v) for k, v in found.items() if v is not None and math.isfinite(v)}


def _radius(row: Mapping[str, Any], charge: int | None) -> float | None:
    """Shannon's effective radius in Å: sixfold, else of the nearest coordination; high spin first."""
    radii = [r for r in row["shannon_radii_A"] if r["charge"] == charge and "geometry" not in r]
    if not radii:
        return None
    nearest = min(radii, key=lambda r: (abs(r["coordination"] - _COORDINATION), r["spin"] != "high"))
    return float(nearest["radius"])


def table(described: Mapping[str, Values], among: Iterable[str]) -> tuple[list[str], dict[str, list[float]]]:
    """Compounds as rows of one table.

    Args:
        described: Compound → its descriptors.
        among: The compounds that decide which descriptors are used: known for most of them, and not the
            same for all. Their mean stands where a value is not known.

    Returns:
        The names of the columns, and compound → row.
    """
    known = [described[c] for c in among]
    means: dict[str, float] = {}
    for name in dict.fromkeys(name for values in known for name in values):
        column = [values[name] for values in known if name in values]
        if len(column) >= KNOWN_SHARE * len(known) and len(set(column)) > 1:
            means[name] = sum(column) / len(column)
    return list(means), {
        c: [values.get(name, mean) for name, mean in means.items()] for c, values in described.items()
    }
