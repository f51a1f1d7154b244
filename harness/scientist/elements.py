"""What the laboratory's element table says: charges that balance, and radii that go with them.

The chemistry that is not in the table stands here and nowhere else: the charges of anions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

Row = Mapping[str, Any]
Table = Mapping[str, Row]
"""Element symbol → its row of `element_properties`."""

ANION_CHARGES = {
    **dict.fromkeys(("O", "S", "Se", "Te"), -2),
    **dict.fromkeys(("N", "P", "As", "Sb"), -3),
    **dict.fromkeys(("F", "Cl", "Br", "I"), -1),
}
"""The charges that anions of these elements carry in simple compounds."""

_METALS_AND_METALLOIDS = """
Li Be Na Mg Al Si K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te
Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Ac Th Pa U Np Pu
"""
ASKED = (*_METALS_AND_METALLOIDS.split(), "O", "S", "Se", "P")
"""What a sealed compound may hold: looked up early, as the laboratory is closed when predictions are due."""


def charges(elements: Sequence[str], counts: Sequence[int], table: Table) -> tuple[int, ...] | None:
    """Formal charges that make a compound neutral, the anion last.

    A single cation takes what neutrality asks. Several cations take common oxidation states where those
    balance, the most alike among equals.

    Returns:
        A charge for each element, or None when nothing balances.
    """
    anion = ANION_CHARGES.get(elements[-1])
    if anion is None:
        return None
    needed = -anion * counts[-1]
    if len(elements) == 2:  # noqa: PLR2004 - one cation, one anion
        charge, rest = divmod(needed, counts[0])
        return None if rest else (charge, anion)
    balanced = [
        states
        for states in product(*(_states(table.get(e, {})) for e in elements[:-1]))
        if sum(q * n for (q, _), n in zip(states, counts[:-1], strict=True)) == needed
    ]
    if not balanced:
        return None
    best = min(balanced, key=lambda states: (sum(rare for _, rare in states), _spread(states)))
    return (*(q for q, _ in best), anion)


def _states(row: Row) -> list[tuple[int, int]]:
    """Positive oxidation states, each with 0 when it is common and 1 when not."""
    common = [q for q in row.get("common_oxidation_states") or () if q > 0]
    known = [q for q in row.get("oxidation_states") or () if q > 0 and q not in common]
    return [(int(q), 0) for q in common] + [(int(q), 1) for q in known]


def _spread(states: Sequence[tuple[int, int]]) -> int:
    values = [q for q, _ in states]
    return max(values) - min(values)


def radius(row: Row, charge: int, coordination: int = 6) -> float | None:
    """The Shannon radius in Å nearest to what is asked: charge of that sign first, then coordination.

    High spin where there is a choice: oxides of the 3d row mostly have it.
    """
    entries = [e for e in _radii(row) if e["charge"] * charge > 0]
    if not entries:
        return None
    best = min(
        entries,
        key=lambda e: (abs(e["charge"] - charge), abs(e["coordination"] - coordination), -float(e["radius"])),
    )
    return float(best["radius"])


def _radii(row: Row) -> Iterator[Row]:
    for entry in row.get("shannon_radii_A") or ():
        if all(isinstance(entry.get(k), int | float) for k in ("charge", "coordination", "radius")):
            yield entry


def electrons(row: Row, shell: str, charge: int) -> float | None:
    """How many d or f electrons the ion has, as the table counts them; None when it does not say."""
    counted = row.get(f"{shell}_electrons")
    value = counted.get(str(charge)) if isinstance(counted, Mapping) else counted
    return float(value) if isinstance(value, int | float) else None


def number(row: Row, key: str) -> float | None:
    """A plain number of the table, or None."""
    value = row.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
