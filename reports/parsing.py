"""JSON from anybody: bounded in size and depth, and no more of it made into objects than somebody asks for.

A log holds its record some eight times: in the store, in the state before and after, and in every change of
either. Making all of that into Python objects takes most of the time of reading it, so a sample is split into
the texts of its values, and each is parsed when it is looked at.
"""

from __future__ import annotations

import gc
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
from pydantic_core import from_json

MEGABYTE = 1_000_000
LIMIT_VARIABLE = "HEPBENCH_MAX_SAMPLE_MB"
"""Environment variable that allows larger samples to who knows where a log comes from."""

MAX_MEMBER_MB = 32
"""Unpacked megabytes of one member: a run of some 1,200 turns. Parsing takes about five times that."""

MAX_VALUES = 2_500_000
"""JSON values of one member, roughly: small ones cost more memory than their text."""

_BYTES_OF_A_VALUE = 12
"""Text of a value in a log, at the least: 20 bytes and more were seen."""

_MAX_NESTING = 200
"""As Pydantic's parser has it."""

_NAN = b"NaN"
_MARK = b'"\xff"'
"""Stands for NaN while a text is split; its byte stands in no UTF-8.

Put into a string by mistake, it would end the string, and what follows would be no JSON: msgspec refuses it.
"""

_NOT_A_NUMBER = re.compile(rb"NaN(?<=[:,\[\s]NaN)(?=[,\]}\s])")  # begins with what is rare, so it is quick
_MOST_MARKS = 100_000
"""A text with more of them is parsed whole: no log has so many, and each costs memory."""

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECTS = msgspec.json.Decoder(list[dict[str, msgspec.Raw]] | None)


class ContentError(ValueError):
    """A file's content is damaged, or more than is read; the message is one line."""


def member_limit() -> int:
    """Unpacked bytes that one member may have."""
    asked = os.environ.get(LIMIT_VARIABLE, "")
    return (int(asked) if asked.isdecimal() else MAX_MEMBER_MB) * MEGABYTE


def too_large(name: str, limit: int) -> str:
    """The line for what unpacks to more than is read."""
    size = f"{name} unpacks to more than {limit // MEGABYTE} MB"
    return f"{size}; if you trust the log, set {LIMIT_VARIABLE} higher"


class JSONObject(Mapping[str, Any]):
    """A JSON object whose values are parsed when they are asked for, and kept.

    Args:
        texts: Name → JSON of the value; NaN may be marked in it.
        values: Name → what was parsed already.
    """

    __slots__ = ("_texts", "_values")

    def __init__(self, texts: Mapping[str, msgspec.Raw], values: Mapping[str, Any] | None = None) -> None:
        self._texts = texts
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            self._values[name] = _value(_unmarked(self._texts[name]), name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts or self._values)

    def __len__(self) -> int:
        return len(self._texts or self._values)

    def text(self, name: str) -> bytes:
        """The JSON of a value, as it stands in the file where it could be split; empty if there is none.

        Two values of the same text are the same.
        """
        if name in self._texts:
            return _unmarked(self._texts[name])
        return json.dumps(self._values[name]).encode() if name in self._values else b""

    def texts(self, name: str) -> list[bytes]:
        """The JSON of each value of a list, likewise; none if it is no list."""
        with suppress(msgspec.MsgspecError, KeyError):
            return [_unmarked(text) for text in _LIST.decode(self._texts[name])]
        found = self.get(name)
        return [json.dumps(value).encode() for value in found] if isinstance(found, list) else []

    def object(self, name: str) -> JSONObject:
        """An object; an empty one if the value is none."""
        with suppress(msgspec.MsgspecError, KeyError):
            return JSONObject(_OBJECT.decode(self._texts[name]))
        found = self.get(name)
        return JSONObject({}, found if isinstance(found, dict) else {})

    def objects(self, name: str) -> list[JSONObject]:
        """The objects of a list; none for null, or if there is no such value.

        Raises:
            ContentError: it is something else.
        """
        with suppress(msgspec.MsgspecError, KeyError):
            return [JSONObject(texts) for texts in _OBJECTS.decode(self._texts[name]) or ()]
        found = self.get(name)
        if found is not None and not (isinstance(found, list) and all(isinstance(v, dict) for v in found)):
            raise ContentError(f"its {name} are not a list of objects")
        return [JSONObject({}, value) for value in found or ()]


def parse_object(text: bytes, name: str) -> JSONObject:
    """A JSON object of bounded size.

    Raises:
        ContentError: as for `parse`, or it is another value.
    """
    _check_size(text, name)
    try:
        return JSONObject(_OBJECT.decode(_marked(text)))
    except (msgspec.MsgspecError, RecursionError, ValueError):  # what cannot be split, the parser decides
        value = parse(text, name)
    if not isinstance(value, dict):
        raise ContentError(f"{name} is not a JSON object")
    return JSONObject({}, value)


def parse(text: bytes, name: str) -> Any:
    """A JSON value of bounded size.

    Raises:
        ContentError: it is not JSON, is nested too deeply, or has too many values.
    """
    _check_size(text, name)
    with no_collections():
        return _value(text, name)


@contextmanager
def no_collections() -> Iterator[None]:
    """Without Python's search for cycles: parsed JSON has none, and the search takes as long as parsing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _check_size(text: bytes, name: str) -> None:
    most = max(MAX_VALUES, member_limit() // _BYTES_OF_A_VALUE)
    if len(text) > most and sum(text.count(mark) for mark in (b",", b"[", b"{")) > most:
        raise ContentError(f"{name} has more values than any log; {LIMIT_VARIABLE} raises the limit")


def _marked(text: bytes) -> bytes:
    """The text with NaN, which Inspect writes for an unscored sample and JSON does not know, as a string.

    Raises:
        ValueError: it is not in UTF-8.
    """
    text.decode()  # what nobody looks at is checked nowhere else, and the mark must be no text
    return _NOT_A_NUMBER.sub(_MARK, text, count=_MOST_MARKS)


def _unmarked(raw: msgspec.Raw) -> bytes:
    return bytes(raw).replace(_MARK, _NAN)


def _value(text: bytes, name: str) -> Any:
    try:
        return _parsed(text)
    except RecursionError:
        raise ContentError(f"{name} is nested too deeply") from None
    except ValueError as e:
        raise ContentError(f"{name} is not JSON: {e}") from e


def _parsed(text: bytes) -> Any:
    """Pydantic's parser takes half the time; what it refuses, such as a lone surrogate, Python's decides.

    Both give values that are nested no deeper than functions that call themselves can go.
    """
    try:
        return from_json(text)
    except ValueError:
        return _cut(json.loads(text), _MAX_NESTING)


def _cut(value: Any, levels: int) -> Any:
    if not isinstance(value, dict | list):
        return value
    if not levels:
        return "a value that is nested too deeply"
    if isinstance(value, list):
        return [_cut(item, levels - 1) for item in value]
    return {key: _cut(item, levels - 1) for key, item in value.items()}
