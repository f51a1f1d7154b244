"""When a record and a transcript say the same: JSON values up to what cleaning and parsing change."""

from __future__ import annotations

import math

from hepbench.harness.text import bounded, clean

_KEPT = 40
"""Items of a list that a record of a refused call keeps."""


def differ(one: object, other: object) -> bool:
    """Whether two values say different things; a number given as text, or text that was cleaned, does not.

    Args:
        one: As the transcript has it.
        other: As the record keeps it.
    """
    if one == other or bounded(one) == other:
        return isinstance(one, bool) is not isinstance(other, bool)
    if isinstance(one, str) and isinstance(other, str):
        return clean(one) != clean(other)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one[:_KEPT]) != len(other[:_KEPT]) or any(map(differ, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() != other.keys() or any(differ(one[k], other[k]) for k in one)
    return _plain(one) != _plain(other)


def _plain(value: object) -> object:
    if value is None or value in ([], ()):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return repr(value)
    return _number(value)


def _number(value: float | str) -> float | str:
    """A number, even one given as text; NaN as a word, as it does not equal itself."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return str(value)
    return "nan" if math.isnan(number) else number
