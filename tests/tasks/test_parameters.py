"""Words that a parameter knows, and names of folders that look like them."""

from __future__ import annotations

import pytest
from inspect_ai._util.error import PrerequisiteError

from hepbench.tasks.parameters import parameters


@pytest.mark.parametrize("name", ["journal", "cache"])
@pytest.mark.parametrize("value", ["auto", "off", "./auto", "./of", "records", "of/f", "x" * 300])
def test_words_and_folders_are_taken(name: str, value: str) -> None:
    assert getattr(parameters("ao2", {name: value}), name) == value


@pytest.mark.parametrize(("name", "value"), [("journal", "reqire"), ("journal", "atuo"), ("cache", "of")])
def test_what_is_nearly_a_word_is_no_folder(name: str, value: str) -> None:
    with pytest.raises(PrerequisiteError, match="did you mean"):
        parameters("ao2", {name: value})
