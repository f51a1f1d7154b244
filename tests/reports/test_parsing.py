"""JSON objects that are parsed value by value: the same as parsed whole, whatever stands in them."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hepbench.reports.parsing import ContentError, JSONObject, parse, parse_object

WORDS = st.sampled_from(
    ["NaN", ":NaN,", "[NaN]", '"NaN"', "a: NaN }", "\\", '"', "\u2028", "é", "events", ""]
)
TEXTS = st.one_of(WORDS, st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=20,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=5)
LAYOUTS = st.sampled_from([{"separators": (",", ":")}, {}, {"indent": 1}, {"indent": "\t"}])


def told(value: Any) -> str:
    """A value as text, in which NaN equals itself and a float is no integer."""
    return json.dumps(value)


@given(OBJECTS, LAYOUTS, st.booleans())
def test_value_by_value_is_the_same_as_whole(value: Any, layout: dict[str, Any], ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, **layout).encode()
    found = parse_object(text, "x")
    assert list(found) == list(value)
    assert len(found) == len(value)
    assert told({name: found[name] for name in found}) == told(parse(text, "x"))
    assert all(told(parse(found.text(name), name)) == told(value[name]) for name in value)


@given(st.lists(OBJECTS, max_size=4), OBJECTS, st.lists(VALUES, max_size=4))
def test_parts_are_the_same_as_the_whole(objects: list[Any], inner: Any, values: list[Any]) -> None:
    text = json.dumps({"objects": objects, "inner": inner, "values": values}).encode()
    found = parse_object(text, "x")
    assert told([dict(part) for part in found.objects("objects")]) == told(objects)
    assert told(dict(found.object("inner"))) == told(inner)
    assert told([parse(part, "x") for part in found.texts("values")]) == told(values)


def test_an_object_is_split_even_with_a_number_that_is_none() -> None:
    deep = b"[" * 300 + b"]" * 300
    found = parse_object(b'{"deep": %b, "a": [1,   2], "unscored": NaN}' % deep, "x")
    assert found.text("a") == b"[1,   2]"  # as it stands there: it was not parsed
    assert found["a"] == [1, 2]
    assert math.isnan(found["unscored"])
    assert "a value that is nested too deeply" in json.dumps(found["deep"])


@pytest.mark.parametrize("text", [b"[1]", b"null", b'"a"', b"3", b"NaN"])
def test_what_is_no_object_is_refused(text: bytes) -> None:
    with pytest.raises(ContentError, match="x is not a JSON object"):
        parse_object(text, "x")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b'{"a"',
        b'{"a": 1,}',
        b'{"a": 1} x',
        b'{"a": "\xff"}',
        b'{"a": NaN, "b": "\xff"}',
        b'{"a":"x":NaN,"b":1}',
        b'{"a": nan}',
        b'{"\xff": 1}',
        b'{"a": ' + b"[" * 100_000,
    ],
)
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(ContentError) as refused:
        dict(parse_object(text, "x"))
    assert "\n" not in str(refused.value)


def test_the_last_of_several_values_of_one_name_counts() -> None:
    """As for Inspect; a second record could be hidden behind the first one otherwise."""
    text = b'{"store": {"a": 1}, "events": [{"event": "x"}], "events": [{"event": "y"}], "store": {"a": 2}}'
    found = parse_object(text, "x")
    assert found["store"] == parse(text, "x")["store"] == {"a": 2} == dict(found.object("store"))
    assert [part["event"] for part in found.objects("events")] == ["y"]


@pytest.mark.parametrize("value", ['"attachment://1"', "[1]", '[{"a": 1}, null]', "{}", "7"])
def test_events_that_are_no_objects_are_refused(value: str) -> None:
    found = parse_object(f'{{"events": {value}}}'.encode(), "x")
    with pytest.raises(ContentError, match="its events are not a list of objects"):
        found.objects("events")


def test_what_is_not_there_is_empty() -> None:
    for text in (b"{}", b'{"a": null}'):
        found = parse_object(text, "x")
        assert found.get("a") is None
        assert (found.objects("a"), dict(found.object("a")), found.texts("a")) == ([], {}, [])
    assert parse_object(b"{}", "x").text("a") == b""
    assert isinstance(found, JSONObject)


@pytest.mark.parametrize(
    "text", [b'{"a": [%b1]}' % (b"NaN," * 150_000), b'{"a": "%b"}' % (b" NaN" * 150_000)]
)
def test_very_many_nans_are_read_whole(text: bytes) -> None:
    assert told(parse_object(text, "x")["a"]) == told(json.loads(text)["a"])
