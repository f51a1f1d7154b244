"""Where a compound stands on the map of its family: periodic table, matrix of elements, or rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_NOBLE = (2, 10, 18, 36, 54, 86, 118)
_LANTHANUM, _LUTETIUM, _ACTINIUM, _LAWRENCIUM = 57, 71, 89, 103
F_BLOCK = ("4f", "5f")
"""Names of the two rows below the table."""


class Place(NamedTuple):
    """Column and row on a map, and the text that stands there."""

    x: str
    y: str
    text: str


class FamilyMap(NamedTuple):
    """Places of the compounds, and the columns and rows in order."""

    kind: str
    places: dict[str, Place]
    columns: list[str]
    rows: list[str]


def atomic_number(symbol: str) -> int | None:
    """The element's number, or None when it is no element."""
    from ase.data import atomic_numbers

    return atomic_numbers.get(symbol) or None


def place_of_element(symbol: str) -> tuple[str, str] | None:
    """Column (1 to 18) and row (period, or "4f" and "5f" below it) of an element; None for anything else."""
    z = atomic_number(symbol)
    if z is None:
        return None
    for first, last, row in ((_LANTHANUM, _LUTETIUM, "4f"), (_ACTINIUM, _LAWRENCIUM, "5f")):
        if first <= z < last:
            return str(z - first + 3), row
    period = next(n for n, noble in enumerate(_NOBLE, start=1) if z <= noble)
    from_end = _NOBLE[period - 1] - z
    from_start = z - (0 if period == 1 else _NOBLE[period - 2])
    s_block = 1 if period == 1 else 2
    return str(from_start if from_start <= s_block else 18 - from_end), str(period)


def family_map(
    compositions: Mapping[str, Sequence[Mapping[str, Any]]], families: Mapping[str, str]
) -> FamilyMap:
    """A map for compounds.

    The elements that differ between the compounds decide: one role gives the periodic table, two give a
    matrix, anything else a row for each chemical family.

    Args:
        compositions: Compound → its sites with `role` and `element`.
        families: Compound → chemical family.
    """
    elements = {
        name: {str(site["role"]): str(site["element"]) for site in sites}
        for name, sites in compositions.items()
    }
    roles = sorted({role for sites in elements.values() for role in sites})
    varying = [r for r in roles if len({sites.get(r, "") for sites in elements.values()}) > 1]
    if len(varying) == 1:
        return _periodic(elements, varying[0]) or _rows(families)
    return _matrix(elements, *varying) if len(varying) == 2 else _rows(families)  # noqa: PLR2004


def _periodic(elements: Mapping[str, Mapping[str, str]], role: str) -> FamilyMap | None:
    places: dict[str, Place] = {}
    for name, sites in elements.items():
        found = place_of_element(sites.get(role, ""))
        if found is None:
            return None
        places[name] = Place(*found, sites[role])
    periods = sorted({p.y for p in places.values() if p.y not in F_BLOCK})
    below = [row for row in F_BLOCK if any(p.y == row for p in places.values())]
    return FamilyMap("periodic table", places, [str(n) for n in range(1, 19)], [*periods, *below])


def _matrix(elements: Mapping[str, Mapping[str, str]], first: str, second: str) -> FamilyMap:
    """The role with fewer elements makes the columns."""
    counts = {role: len({sites.get(role, "") for sites in elements.values()}) for role in (first, second)}
    across, down = sorted((first, second), key=lambda role: counts[role])
    places = {
        name: Place(sites.get(across, ""), sites.get(down, ""), name) for name, sites in elements.items()
    }
    return FamilyMap(
        "matrix of elements",
        places,
        sorted({p.x for p in places.values()}, key=_by_number),
        sorted({p.y for p in places.values()}, key=_by_number),
    )


def _rows(families: Mapping[str, str]) -> FamilyMap:
    places: dict[str, Place] = {}
    counts: dict[str, int] = {}
    for name, family in families.items():
        counts[family] = counts.get(family, 0) + 1
        places[name] = Place(str(counts[family]), family, name)
    columns = [str(n) for n in range(1, max(counts.values(), default=0) + 1)]
    return FamilyMap("chemical families", places, columns, sorted(counts))


def _by_number(symbol: str) -> tuple[int, str]:
    return atomic_number(symbol) or len(_NOBLE) * 100, symbol
