"""The table of rules in docs/protocol.md is that of the rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from hepbench.harness.protocol.rules import ProtocolRules

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"


def bounds(field: FieldInfo) -> str:
    """Such as "0.5 < x ≤ 1"; of words, those that can be given."""
    found: dict[str, Any] = {
        name: getattr(m, name)
        for m in field.metadata
        for name in ("gt", "ge", "lt", "le")
        if hasattr(m, name)
    }
    if not found:
        return "true, false" if field.annotation is bool else "off, warn, refuse"
    low = f"{found['gt']:g} < " if "gt" in found else f"{found['ge']:g} ≤ "
    high = f" < {found['lt']:g}" if "lt" in found else f" ≤ {found['le']:g}"
    return f"{low}x{high}"


def test_every_rule_stands_in_the_table_with_its_default_and_bounds() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, field in ProtocolRules.model_fields.items():
        default = str(field.default).lower() if isinstance(field.default, bool) else field.default
        assert f"| `{name}` | {default} | {bounds(field)} | {field.description} |" in page
