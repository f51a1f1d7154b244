"""What a statement says under its wording: the same claim in other words is not a second hypothesis.

Word order, numbers, comparisons and negations carry meaning and are kept ("above X take rutile" is not
"below X take rutile"). Case, punctuation, look-alike letters, filler words, plural endings and the usual
synonyms of a rule's verbs and comparisons are folded away.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set as AbstractSet
from functools import lru_cache

_LOOK_ALIKES = str.maketrans("асеорхуіјѕһԁԛԝѵοινκ", "aceopxyijshdqwvoivk")
"""Cyrillic and Greek letters that no reader tells from the Latin ones."""

_FILLER_WORDS = """a an the this that these those which who whose it its they their there here of in on at to
    for from by with within among across into as is are was were be been being has have had do does did will
    would can very quite rather really simply just also then thus so such always all any each every both and
    i we think believe hypothesise hypothesize suggest claim state statement hypothesis"""
_FILLER = frozenset(_FILLER_WORDS.split())
"""Words that change no claim. Negations ("not", "unless") and hedges ("mostly", "may") are not among them."""

_GROUPS = (
    "decide determine control govern dictate set drive fix rule",
    "take adopt prefer favour favor choose crystallise crystallize assume exhibit show",
    "above exceed greater larger higher over beyond >",
    "below under less smaller lower <",
    "large big bulky",
    "small little tiny",
    "structure polymorph phase prototype",
    "compound material member",
    "radius radii size",
    "limit threshold cutoff boundary",
)
_CANON = {word: group.split()[0] for group in _GROUPS for word in group.split()}

REMEMBERED = 2_000
"""Longest statement, in characters, of which it is remembered what was made of it: forged ones have more."""

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[<>=≤≥≠±]|[^\W\d_]+\d*")
_ENDINGS = (("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"))


def words(statement: str) -> tuple[str, ...]:
    """The words that carry a statement's claim, folded, in their order."""
    return (_known_words if len(statement) <= REMEMBERED else _words)(statement)


def _words(statement: str) -> tuple[str, ...]:
    text = unicodedata.normalize("NFKC", statement).casefold().translate(_LOOK_ALIKES)
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Mn"))
    stems = [_stem(token) for token in _TOKEN.findall(text) if token not in _FILLER]
    return tuple(_CANON.get(stem, stem) for stem in stems)


_known_words = lru_cache(maxsize=256)(_words)
"""A statement is read when it is proposed, and again whenever its run is folded or replayed."""


def similarity(one: AbstractSet[str], other: AbstractSet[str]) -> float:
    """Share of the words of two statements that they have in common (Jaccard index, 0 to 1)."""
    either = len(one | other)
    return len(one & other) / either if either else 0.0


def numbers(said: AbstractSet[str]) -> frozenset[str]:
    """The numbers among a statement's words."""
    return frozenset(word for word in said if word[0].isdigit())


def _stem(token: str) -> str:
    if token[0].isdigit():
        return token.rstrip("0").rstrip(".") if "." in token else token
    if len(token) > 3 and token.isalpha():  # noqa: PLR2004 - "gas" and "ions" part here
        for ending, instead in _ENDINGS:
            if token.endswith(ending):
                return token.removesuffix(ending) + instead
        if token.endswith("s") and not token.endswith(("ss", "us", "is")):
            return token[:-1]
    return token
