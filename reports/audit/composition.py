"""Formulas as compositions: O2Th, Th1O2 and ThO₂ are one compound, whoever writes it how."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import reduce
from math import gcd

_PART = re.compile(r"([A-Z][a-z]?)(\d*)")

Composition = frozenset[tuple[str, int]] | str


def composition(formula: str) -> Composition:
    """The reduced composition of a flat formula; a text that is none stands for itself, folded."""
    text = "".join(unicodedata.normalize("NFKC", formula).split())
    parts = _PART.findall(text)
    if not parts or "".join(element + count for element, count in parts) != text:
        return text.casefold()
    counts: Counter[str] = Counter()
    for element, count in parts:
        counts[element] += int(count[:6] or "1")
    divisor = reduce(gcd, counts.values()) or 1
    return frozenset((element, count // divisor) for element, count in counts.items())
