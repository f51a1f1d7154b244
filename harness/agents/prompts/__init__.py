"""The prompts, one Markdown file each, with $-placeholders (`string.Template`)."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template


@cache
def _template(name: str) -> Template:
    return Template((files(__name__) / f"{name}.md").read_text(encoding="utf-8"))


def prompt(name: str, **values: object) -> str:
    """The prompt of that name, filled in.

    Raises:
        KeyError: a placeholder has no value.
        FileNotFoundError: there is no such prompt.
    """
    return _template(name).substitute(values).strip()
