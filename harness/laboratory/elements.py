"""Element data for an agent: what a chemist would look up before stating a rule.

The numbers come from pymatgen's table; only the d and f counts of ions are worked out here. pymatgen's
periodic table is imported at the first use, which takes a quarter of a second.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from importlib.metadata import version
from itertools import takewhile
from typing import Any

from hepbench.harness.text import clean

UNITS: Mapping[str, str] = {
    "electronegativity_pauling": "Pauling scale",
    "ionization_energies_eV": "eV, first to sixth",
    "shannon_radii_A": "Å, effective ionic radius; charge in e, coordination number, spin where it matters",
    "d_electrons": "charge of the ion → electrons in its (n-1)d shell, n = period; s electrons leave first",
    "f_electrons": "charge of the ion → electrons in its (n-2)f shell; 14 for a filled shell below 5d",
}
"""What the numbers of an element's row are in; it stands in every answer."""

_IONIZATION_ENERGIES = 6
_ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV")
_GEOMETRY = {"SQ": "square planar", "PY": "pyramidal"}
_SPIN = {"": "", "High Spin": "high", "Low Spin": "low"}
_F_SERIES = {6: (57, 71, 54), 7: (89, 103, 86)}  # period → first Z, last Z, electrons of the noble-gas core
# Divalent ions whose last electron sits in a d or s shell, or of which nothing certain is known; the other
# divalent lanthanides and actinides are f^n. NIST Atomic Spectra Database, ground states of M2+.
_DIVALENT_NOT_FN = frozenset((57, 64, 71, 89, 90, 91, 92, 93, 96, 103))


class UnknownElementError(ValueError):
    """A symbol that is no element's; the message is one line."""


def _periodic_table() -> Any:
    """Pymatgen's `Element`, imported at the first use."""
    from pymatgen.core.periodic_table import Element

    return Element


def is_loaded() -> bool:
    """Whether look-ups are quick: the periodic table has been imported."""
    return "pymatgen.core.periodic_table" in sys.modules


@cache
def symbols() -> frozenset[str]:
    """The symbols of the 118 elements."""
    return frozenset(element.symbol for element in _periodic_table())


@cache
def _names() -> Mapping[str, str]:
    """English names of the elements, folded, to symbols."""
    return {str(element.data["Name"]).casefold(): element.symbol for element in _periodic_table()}


def require_elements(names: Iterable[str]) -> None:
    """Raise UnknownElementError, naming what is unknown, unless every name is an element's symbol."""
    unknown = [name for name in names if name not in symbols()]
    if unknown:
        shown = ", ".join(f"{clean(name)[:20]!r}{_meant(name)}" for name in unknown[:5])
        raise UnknownElementError(f"not the symbol of an element: {shown}.")


def _meant(name: str) -> str:
    """A hint for the usual slips: a name, an ion, or a symbol in the wrong case."""
    letters = "".join(takewhile(str.isalpha, name.strip()))
    symbol = _names().get(letters.casefold(), letters.capitalize())
    return f" (did you mean {symbol!r}?)" if symbol in symbols() else ""


@lru_cache(maxsize=128)
def element_row(symbol: str) -> dict[str, Any]:
    """All that the laboratory knows of an element. The row is shared: do not change it.

    Args:
        symbol: For example "Ti".

    Raises:
        UnknownElementError: there is no such element.
    """
    require_elements([symbol])
    element = _periodic_table()(symbol)
    data = element.data
    ionization = data.get("Ionization energies") or []
    radii = _shannon_radii(data.get("Shannon radii") or {})
    charges = sorted({*element.oxidation_states, *(row["charge"] for row in radii)})
    group, period = int(element.group), int(element.row)
    return {
        "element": symbol,
        "atomic_number": int(element.Z),
        "group": group,
        "period": period,
        "block": str(element.block),
        "electronegativity_pauling": data.get("X"),
        "electron_configuration": data.get("Electronic structure", {}).get("0"),
        "oxidation_states": list(element.oxidation_states),
        "common_oxidation_states": list(element.common_oxidation_states),
        "ionization_energies_eV": [e and round(float(e), 4) for e in ionization[:_IONIZATION_ENERGIES]],
        "shannon_radii_A": radii,
        "d_electrons": _by_charge(charges, lambda q: d_electrons(element.Z, group, period, q)),
        "f_electrons": _by_charge(charges, lambda q: f_electrons(element.Z, group, period, q)),
    }


@cache
def provenance() -> dict[str, str]:
    """Where the numbers come from."""
    return {
        "table": f"pymatgen-core {version('pymatgen-core')}",
        "electronegativity": "Pauling scale, as in pymatgen",
        "radii": "Shannon, Acta Cryst. A 32, 751 (1976)",
        "ionization energies": "NIST Atomic Spectra Database, as in pymatgen",
        "d and f electrons": "counted by hepbench from group and period",
    }


def d_electrons(number: int, group: int, period: int, charge: int) -> int | None:
    """Electrons in an ion's (n-1)d shell, n = period, as ligand-field theory counts them.

    A d-block ion of group g and charge q has g - q of them (at most 10): the s electrons go first. A p-block
    ion keeps its filled shell from the fourth period on (Pb4+ is d10), an s-block ion has none.

    Args:
        number: Atomic number.
        group: 1 to 18; 3 for all lanthanides and actinides.
        period: 1 to 7.
        charge: In units of e.

    Returns:
        The count, or None where the rule does not give one.
    """
    if _is_f_series(number, period):
        return None if f_electrons(number, group, period, charge) is None else 0
    if group <= 2 or number == _HELIUM:  # noqa: PLR2004 - the s block
        return 0
    if group > 12:  # noqa: PLR2004 - the p block
        return 10 if period > 3 else 0  # noqa: PLR2004 - 3d is the first d shell
    return min(10, group - charge) if 0 < charge <= group else None


def f_electrons(number: int, group: int, period: int, charge: int) -> int | None:
    """Electrons in an ion's (n-2)f shell, n = period: 4f in the sixth, 5f in the seventh.

    A lanthanide or actinide of charge 3 or more has left only f electrons outside its noble-gas core (Ce4+
    is 4f0, U4+ 5f2). Elements behind them in the period have the shell filled.

    Args:
        number: Atomic number.
        group: 1 to 18; 3 for all lanthanides and actinides.
        period: 1 to 7.
        charge: In units of e.

    Returns:
        The count, or None where the rule does not give one: La2+ and Gd2+, for example, keep a 5d electron.
    """
    if not _is_f_series(number, period):
        return 14 if period in _F_SERIES and group > 3 else 0  # noqa: PLR2004 - behind the f block
    uncertain = charge < 2 or (charge == 2 and number in _DIVALENT_NOT_FN)  # noqa: PLR2004 - divalent
    left = number - _F_SERIES[period][2] - charge
    return None if uncertain or left < 0 else min(14, left)


_HELIUM = 2


def _is_f_series(number: int, period: int) -> bool:
    first, last, _ = _F_SERIES.get(period, (0, -1, 0))
    return first <= number <= last


def _by_charge(charges: Iterable[int], count: Callable[[int], int | None]) -> dict[str, int]:
    counted = {str(charge): count(charge) for charge in charges}
    return {charge: n for charge, n in counted.items() if n is not None}


def _shannon_radii(table: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Pymatgen's nested table as rows, sorted by charge and coordination."""
    rows = [
        _shannon_row(int(charge), coordination, spin, values["ionic_radius"])
        for charge, by_coordination in table.items()
        if charge  # pymatgen lists one radius of Eu without its charge
        for coordination, by_spin in by_coordination.items()
        for spin, values in by_spin.items()
    ]
    return sorted(rows, key=lambda row: (row["charge"], row["coordination"], row["spin"]))


def _shannon_row(charge: int, coordination: str, spin: str, radius: float) -> dict[str, Any]:
    shape = coordination[-2:] if coordination[-2:] in _GEOMETRY else ""
    row: dict[str, Any] = {
        "charge": charge,
        "coordination": _ROMAN.index(coordination.removesuffix(shape)) + 1,
        "spin": _SPIN[spin],
        "radius": float(radius),
    }
    return row | {"geometry": _GEOMETRY[shape]} if shape else row
