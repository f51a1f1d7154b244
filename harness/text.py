"""Text that goes to agents and into records: readable JSON, bounded and clean."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from typing import Any

MAX_SHOWN = 300
"""Characters of a string that are kept where a refused call's arguments are recorded."""

CLEANED = "… (cleaned)"
"""What follows a text in such a record whose control characters or outer spaces were taken away."""

_DEEP, _HUGE = "…", "an integer beyond 64 bits"
_STAND_INS = frozenset({_DEEP, _HUGE})
_MAX_ITEMS = 40
_MAX_DEPTH = 6
_MAX_INT = 2**63
_MAX_NESTING = 20
_LARGEST = int(sys.float_info.max)


def to_text(answer: Mapping[str, Any]) -> str:
    """An answer as JSON that reads like a table: a line for each key and each object of a list."""
    lines = [f"{json.dumps(key)}: {_value_text(value)}" for key, value in answer.items()]
    return "{\n " + ",\n ".join(lines) + "\n}"


def _value_text(value: object) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n  " + ",\n  ".join(_one_line(item) for item in value) + "\n ]"
    return _one_line(value)


def _one_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def clean(text: str) -> str:
    """Text that every encoder takes: lone surrogates and control characters replaced (tab, newline kept)."""
    if text.isprintable():
        return text.strip()
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in encodable(text)).strip()


def without_login(place: str) -> str:
    """A URL without user, password and query, which may hold one; anything else as it is."""
    scheme, found, rest = place.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}" if found else place


def shorten(text: str, limit: int = MAX_SHOWN) -> str:
    """At most `limit` characters of a text, saying how long the whole was."""
    if len(text) <= limit:
        return text
    return f"{clean(text[:limit])}… ({len(text)} characters)"


def bounded(value: object, depth: int = 0) -> Any:
    """A JSON value cut to a harmless size: what a record keeps of arguments that may be hostile."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _bounded_number(value)
    if depth >= _MAX_DEPTH:
        return _DEEP
    if isinstance(value, Mapping):
        items = list(value.items())[:_MAX_ITEMS]
        return {clean(str(k)[:80]): bounded(v, depth + 1) for k, v in items}
    if isinstance(value, list | tuple):
        return [bounded(v, depth + 1) for v in value[:_MAX_ITEMS]]
    text = str(value)
    kept = shorten(text if len(text) > MAX_SHOWN else clean(text))
    return kept if kept == text or len(text) > MAX_SHOWN else kept + CLEANED


def is_whole(value: object) -> bool:
    """Whether `bounded` kept a value as it was."""
    if isinstance(value, str):
        return len(value) < MAX_SHOWN and not value.endswith(CLEANED) and value not in _STAND_INS
    if isinstance(value, dict):
        return len(value) < _MAX_ITEMS and all(map(is_whole, value.values()))
    return not isinstance(value, list) or (len(value) < _MAX_ITEMS and all(map(is_whole, value)))


def _bounded_number(value: float) -> float | str:
    if isinstance(value, int):
        return value if abs(value) < _MAX_INT else _HUGE
    return value if math.isfinite(value) else str(value)  # JSON has no NaN and no infinities


def harmless(value: Any, depth: int = 0) -> Any:
    """A JSON value of a model's call in a form that schemas, events and the log can take.

    Integers beyond a float and lists or objects nested too deeply become text, which a schema refuses in
    words; lone surrogates are replaced. Any of them would otherwise end the sample, or the whole eval when
    its log is written: with an OverflowError, a RecursionError, or a UnicodeEncodeError.
    """
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict | list) and depth >= _MAX_NESTING:
        return "a value that is nested too deeply"
    if isinstance(value, dict):
        return {encodable(str(k)): harmless(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [harmless(v, depth + 1) for v in value]
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "an integer beyond the range of numbers"
    return value


def encodable(text: str) -> str:
    """Text without lone surrogates, which UTF-8 has no bytes for."""
    return text.encode("utf-8", "replace").decode("utf-8")
