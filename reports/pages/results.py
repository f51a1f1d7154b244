"""A laboratory result in a line: what was asked, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hepbench.harness.protocol import events as ev
from hepbench.harness.text import clean, shorten

_LISTED = 4
"""Values of a list, and phases of a ranking, that are named."""

_LENGTH = 400
_SUFFIX = 30
"""Characters by which a text that is cut says how long it was."""


def asked(arguments: Mapping[str, Any]) -> str:
    """A call's arguments. Words speak for themselves, a number needs its name, and a zero says nothing."""
    shown = (_argument(name, value) for name, value in arguments.items())
    return _one_line((text for text in shown if text), 200)


def _argument(name: str, value: object) -> str:
    if isinstance(value, list):
        return _listed([str(item) for item in value])
    if isinstance(value, str):
        return value
    return f"{_words(name)} {value}" if value else ""


def outcome(body: ev.LabResultRecorded) -> str:
    """What was measured; empty for tables and lists, which the log itself has.

    Args:
        body: The result. Its answer may be anything: it comes from a log.
    """
    answer = body.answer
    if isinstance(answer.get("ranking"), list):
        return _one_line(_comparison(answer), _LENGTH)
    if not body.measurement:
        return ""
    told = {"result", "trusted", *body.arguments}
    facts = (
        f"{_words(name)} {value}"
        for name, value in answer.items()
        if name not in told and isinstance(value, str | int | float) and not isinstance(value, bool)
    )
    return _one_line(facts, _LENGTH)


def _one_line(parts: Iterable[str], length: int) -> str:
    return shorten(" ".join(clean("; ".join(parts)).split()), length - _SUFFIX)


def _comparison(answer: Mapping[str, Any]) -> list[str]:
    rows = [row for row in answer["ranking"] if isinstance(row, dict)]
    parts = [f"lowest {answer.get('lowest') or 'none'}"]
    others = [f"{row.get('phase')} +{row.get('above_lowest_meV_per_atom')}" for row in rows[1:]]
    parts += [f"{_listed(others)} meV/atom"] if others else []
    for name, words, second in (("changed", "became", "became"), ("failed", "failed", "reason")):
        found = answer.get(name)
        rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
        pairs = [f"{row.get('prototype')} ({row.get(second) or 'another structure'})" for row in rows]
        parts += [f"{words}: {_listed(pairs)}"] if pairs else []
    return parts


def _listed(texts: Sequence[str]) -> str:
    more = len(texts) - _LISTED
    return ", ".join(texts[:_LISTED]) + (f" and {more} more" if more > 0 else "")


_UNITS = {
    "_eV_per_atom": " (eV/atom)",
    "_meV_per_atom": " (meV/atom)",
    "_A3_per_atom": " (Å³/atom)",
    "_GPa": " (GPa)",
}


def _words(name: str) -> str:
    for ending, unit in _UNITS.items():
        if name.endswith(ending):
            return name.removesuffix(ending).replace("_", " ") + unit
    return name.replace("_", " ")
