"""Text that came out of logs, made harmless for the form that it goes into."""

from __future__ import annotations

import re

from hepbench.harness.text import clean, shorten

MAX_TEXT = 200
"""Characters of a text in a table's cell."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]|~$])")


def line(text: str, limit: int = MAX_TEXT) -> str:
    """One line of bounded length without control, bidirectional or invisible characters."""
    return shorten(" ".join(clean(text).split()), limit)


def csv_text(text: str) -> str:
    """A cell that no spreadsheet takes for a formula (OWASP: CSV injection)."""
    flat = line(text)
    return f"'{flat}" if flat.startswith(_FORMULA) else flat


def markdown_text(text: str, limit: int = MAX_TEXT) -> str:
    """Markdown, also within a table, that shows the text as it is: no markup, no HTML, no link."""
    escaped = _MARKDOWN.sub(r"\\\1", line(text, limit))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"(?i)\b(https?|ftp|www|mailto)([:.])", r"\1<!-- -->\2", escaped)
