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
    document = {"schema": "hepbench.comparison/1", **found.model_dump(mode="json")}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


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
    return f"{_signed(value)} points" if sign else f"{100 * value:.1f} points"


def _signed(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:+.1f}"  # no −0.0


def _bounds(found: Difference) -> str:
    low, high = found.difference.low, found.difference.high
    return "(no interval)" if low is None or high is None else f"({_signed(low)} to {_signed(high)})"


def _row(found: Difference) -> list[str]:
    reach = found.smallest_detectable
    return [
        found.of,
        f"{100 * found.a:.1f}",
        f"{100 * found.b:.1f}",
        f"{_signed(found.difference.value)} {_bounds(found)}",
        f"{found.p:.3g}",
        "–" if reach is None else ">100" if reach > 1 else f"{100 * reach:.1f}",
        f"{found.difference.items} ({found.difference.clusters})",
    ]


_COLUMNS = ["held-out accuracy", "A, %", "B, %", "B − A (95 %)", "p", "MDE", "n"]
_COLUMNS_SAY = "B − A and the smallest detectable effect (MDE) in points; n: compounds (families)"
_ITEM_COLUMNS = ["compound", "task", "family", "part", "truth", "A", "B"]


def _sides(found: Comparison) -> list[str]:
    return [f"A: {found.a}", f"B: {found.b}"]


def _legend(found: Comparison) -> str:
    shares = any(0 < share < 1 for item in found.items for share in (item.a, item.b))
    return " (✓ right, ✗ wrong; or the share of runs that were right)" if shares else " (✓ right, ✗ wrong)"


def _item(item: DifferingItem) -> list[str]:
    said = [f"{_mark(item.a)} {item.a_predicted}", f"{_mark(item.b)} {item.b_predicted}"]
    task = item.task.rpartition("/")[2]
    return [item.compound, task, item.cluster, f"{item.part[:6]}.", " or ".join(item.truth), *said]


def _mark(share: float) -> str:
    return {0.0: "✗", 1.0: "✓"}.get(share, f"{100 * share:.0f} %")


def to_terminal(found: Comparison) -> RenderableType:
    """Verdict, table of differences, compounds that differ."""
    rows = [_row(d) for d in (found.suite, *found.tasks, *found.within)]
    parts: list[RenderableType] = [Text(verdict(found), style="bold"), Text()]
    parts += [Text(line(side, 200)) for side in _sides(found)]
    parts += [Text(), _table(_COLUMNS, rows), Text(f"{_COLUMNS_SAY}.")]
    parts += [Text(f"Note: {line(note)}.") for note in _all_notes(found)]
    if found.items:
        parts += [Text(f"\n{len(found.items)} compounds on which they differ{_legend(found)}:")]
        parts += [_table(_ITEM_COLUMNS, [_item(item) for item in found.items[:MOST_ITEMS]])]
    parts += [Text(f"Not counted: {line(left.log)}: {line(left.reason)}") for left in found.left_out]
    return Group(*parts)


def _all_notes(found: Comparison) -> list[str]:
    differences = (found.suite, *found.tasks, *found.within)
    return [*found.notes, *dict.fromkeys(d.difference.note for d in differences if d.difference.note)]


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        table.add_column(Text(name), overflow="fold")
    for row in rows:
        table.add_row(*(Text(line(cell, 80)) for cell in row))
    return table


def to_markdown(found: Comparison) -> str:
    """The same for a pull request."""
    rows = [_row(d) for d in (found.suite, *found.tasks, *found.within)]
    parts = [f"**{markdown_text(verdict(found), 2_000)}**"]
    parts += ["\n".join(f"* {markdown_text(side)}" for side in _sides(found))]
    parts += [_markdown(_COLUMNS, rows), f"{_COLUMNS_SAY}."]
    parts += [f"Note: {markdown_text(note)}." for note in _all_notes(found)]
    if found.items:
        parts += [f"{len(found.items)} compounds on which they differ{_legend(found)}:"]
        parts += [_markdown(_ITEM_COLUMNS, [_item(item) for item in found.items[:MOST_ITEMS]])]
    return "\n\n".join(parts) + "\n"


def _markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [[markdown_text(c) for c in columns], ["---"] * len(columns)]
    lines += [[markdown_text(cell) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
