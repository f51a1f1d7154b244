"""A comparison for the terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hepbench.benchmark.compare.build import Comparison, Difference, DifferingItem
from hepbench.benchmark.leaderboard.plain import line, markdown_text

_ALPHA = 0.05
MOST_ITEMS = 40
"""Compounds that the terminal and Markdown list; JSON has them all."""


def to_json(found: Comparison) -> str:
    """The document."""
    return json.dumps(found.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"


def verdict(found: Comparison) -> str:
    """The answer in one or two sentences."""
    suite = found.suite
    better = found.b if suite.difference.value > 0 else found.a
    shown = f"B − A = {_points(suite.difference.value)} {_bounds(suite)}, p = {suite.p:.3g}."
    if suite.p <= _ALPHA:
        return f"{line(better)} is better: {shown}"
    return f"They cannot be told apart: {shown}{_could(suite.smallest_detectable)}"


def _could(reach: float | None) -> str:
    if reach is None:
        return ""
    if reach > 1:
        return " With so few chemical families, no difference at all would have been found."
    return f" A difference of {_points(reach, sign=False)} would have been found."


def _points(value: float, *, sign: bool = True) -> str:
    return f"{100 * value:+.1f} points" if sign else f"{100 * value:.1f} points"


def _bounds(found: Difference) -> str:
    low, high = found.difference.low, found.difference.high
    return "(no interval)" if low is None or high is None else f"({100 * low:+.1f} to {100 * high:+.1f})"


def _row(found: Difference) -> list[str]:
    reach = found.smallest_detectable
    return [
        found.of,
        f"{100 * found.a:.1f} %",
        f"{100 * found.b:.1f} %",
        f"{100 * found.difference.value:+.1f} {_bounds(found)}",
        f"{found.p:.3g}",
        "–" if reach is None else f"{100 * reach:.1f}",
        f"{found.difference.items}/{found.difference.clusters}",
    ]


def _columns(found: Comparison) -> list[str]:
    a, b = (f"{side}: {line(name, 40)}" for side, name in (("A", found.a), ("B", found.b)))
    return ["held-out accuracy", a, b, "B − A, points (95 %)", "p", "detectable", "compounds/families"]


def _item(item: DifferingItem) -> list[str]:
    shares = [f"{item.a:.0%} {item.a_predicted}", f"{item.b:.0%} {item.b_predicted}"]
    return [item.compound, item.task, item.cluster, item.part, " or ".join(item.truth), *shares]


_ITEM_COLUMNS = ["compound", "task", "family", "part", "truth", "A right, says", "B right, says"]


def to_terminal(found: Comparison) -> RenderableType:
    """Verdict, table of differences, compounds that differ."""
    rows = [_row(d) for d in (found.suite, *found.tasks, *found.within)]
    parts: list[RenderableType] = [Text(verdict(found), style="bold"), Text(), _table(_columns(found), rows)]
    parts += [Text(f"Note: {line(note)}.") for note in _all_notes(found)]
    if found.items:
        parts += [Text(f"\nCompounds on which they differ ({len(found.items)}):")]
        parts += [_table(_ITEM_COLUMNS, [_item(item) for item in found.items[:MOST_ITEMS]])]
    parts += [Text(f"Not counted: {line(left.log)}: {line(left.reason)}") for left in found.left_out]
    return Group(*parts)


def _all_notes(found: Comparison) -> list[str]:
    differences = (found.suite, *found.tasks, *found.within)
    return [*found.notes, *dict.fromkeys(d.difference.note for d in differences if d.difference.note)]


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        table.add_column(Text(name))
    for row in rows:
        table.add_row(*(Text(line(cell, 80)) for cell in row))
    return table


def to_markdown(found: Comparison) -> str:
    """The same for a pull request."""
    rows = [_row(d) for d in (found.suite, *found.tasks, *found.within)]
    parts = [f"**{markdown_text(verdict(found), 2_000)}**", _markdown(_columns(found), rows)]
    parts += [f"Note: {markdown_text(note)}." for note in _all_notes(found)]
    if found.items:
        parts += [_markdown(_ITEM_COLUMNS, [_item(item) for item in found.items[:MOST_ITEMS]])]
    return "\n\n".join(parts) + "\n"


def _markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [[markdown_text(c) for c in columns], ["---"] * len(columns)]
    lines += [[markdown_text(cell) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
