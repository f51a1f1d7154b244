"""The leaderboard as files and as a table for the terminal. The same document gives the same bytes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hepbench.benchmark.leaderboard.plain import csv_text, line, markdown_text
from hepbench.reports.board import MEASURES, PROCESS, Entry, Interval, Leaderboard

FLAGS = {"model": "", "scripted policy": "scripted policy, not an LLM", "floor": "floor, asks no model"}
"""Kind of an entry → what it is marked with."""


def to_json(board: Leaderboard) -> str:
    """The document itself, keys in the order of the schema."""
    return json.dumps(board.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False) + "\n"


def schema_json() -> str:
    """The JSON schema of the document."""
    schema = Leaderboard.model_json_schema(by_alias=True)
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2) + "\n"


def to_csv(board: Leaderboard) -> str:
    """One row for each entry, every number in a column of its own."""
    rows = [_csv_row(entry) for entry in board.entries]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_text(name) for name in columns])
    writer.writerows([[row.get(name, "") for name in columns] for row in rows])
    return out.getvalue()


def _csv_row(entry: Entry) -> dict[str, str | float | int]:
    row: dict[str, str | float | int | None] = {
        "rank": entry.rank,
        "tie_group": entry.tie_group,
        "model": csv_text(entry.model),
        "harness": csv_text(entry.harness),
        "kind": entry.kind,
        "not_ranked": csv_text(entry.not_ranked),
        **_csv_interval("heldout_accuracy", entry.accuracy),
        **_csv_interval("heldout_interpolation", entry.interpolation),
        **_csv_interval("heldout_extrapolation", entry.extrapolation),
        **{name: entry.measures.get(name) for name in MEASURES},
        **{name: entry.process.get(name) for name in PROCESS},
        **entry.step_mix,
        **entry.cost.model_dump(),
        "runs": entry.runs,
        "errors": entry.errors,
    }
    row |= {f"accuracy {csv_text(task.task)}": task.accuracy.value for task in entry.tasks}
    return {name: "" if value is None else value for name, value in row.items()}


def _csv_interval(name: str, interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    return {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}


def percent(interval: Interval | None) -> str:
    """Such as "71 % (58–84)"."""
    if interval is None:
        return "–"
    if interval.low is None or interval.high is None:
        return _mean(interval)
    return f"{_mean(interval)} ({100 * interval.low:.0f}–{100 * interval.high:.0f})"


def _mean(interval: Interval | None) -> str:
    return "–" if interval is None else f"{100 * interval.value:.0f} %"


def number(value: float | None, digits: int = 2) -> str:
    """A number of few digits, or a dash."""
    return "–" if value is None else f"{value:,.{digits}f}"


def main_cells(entry: Entry) -> dict[str, str]:
    """What the first table of every form shows of an entry."""
    return {
        "rank": "–" if entry.rank is None else str(entry.rank),
        "entry": entry.name,
        "held-out accuracy": percent(entry.accuracy),
        "interpolation": percent(entry.interpolation),
        "extrapolation": percent(entry.extrapolation),
        "balanced": number(entry.measures.get("heldout_balanced_accuracy")),
        "regret, meV/atom": number(entry.measures.get("heldout_regret"), 1),
        "Brier": number(entry.measures.get("brier"), 3),
        "runs": f"{entry.runs}" + (f", {entry.errors} failed" if entry.errors else ""),
        "note": "; ".join(note for note in (FLAGS[entry.kind], entry.not_ranked) if note),
    }


def process_cells(entry: Entry) -> dict[str, str]:
    """The protocol's diagnostics of an entry."""
    shown = {title: number(entry.process.get(name)) for name, title in PROCESS.items()}
    return {"entry": entry.name, **shown}


def cost_cells(entry: Entry) -> dict[str, str]:
    """What an entry's runs cost, on average."""
    cost = entry.cost
    return {
        "entry": entry.name,
        "laboratory calls": number(cost.lab_calls, 1),
        "model calls": number(cost.model_calls, 1),
        "tokens": number(cost.tokens, 0),
        "money, $": number(cost.money),
        "wall time, s": number(cost.wall_s, 1),
        "working time, s": number(cost.working_s, 1),
    }


SECTIONS = {
    "Held-out compounds": main_cells,
    "Process (diagnostics; no ranking rests on them)": process_cells,
    "Cost of a run": cost_cells,
}


def explanation(board: Leaderboard) -> str:
    """How to read the table, in a few sentences."""
    suite = ", ".join(
        f"{task.task} {task.conditions.get('task_version', '')}".strip() for task in board.suite
    )
    return (
        f"Suite: {line(suite) or 'none'}. Accuracy is the mean over tasks; in brackets its 95 % interval "
        "over chemical families. Entries of one rank cannot be told apart from the first of them (sign-flip "
        "permutation over families, Holm, 5 %). Samples that failed count as wrong, with the regret of a "
        "missing prediction; their Brier score is unknown, and in no mean."
    )


def to_markdown(board: Leaderboard) -> str:
    """Tables for a README or a pull request."""
    parts = ["# Leaderboard", markdown_text(explanation(board), 2_000)]
    for title, cells in SECTIONS.items():
        rows = [cells(entry) for entry in board.entries]
        parts += [f"## {title}", _markdown_table(rows)] if rows else []
    if board.left_out:
        left = [{"log": out.log, "reason": out.reason} for out in board.left_out]
        parts += ["## Logs that do not count", _markdown_table(left)]
    return "\n\n".join(parts) + "\n"


def _markdown_table(rows: Sequence[Mapping[str, str]]) -> str:
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *([row[c] for c in columns] for row in rows)]
    shown = [[markdown_text(c) for c in cells] if n != 1 else cells for n, cells in enumerate(lines)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in shown)


_MARKS = {"model": "", "scripted policy": "scripted", "floor": "floor"}
_MARKED = '"scripted" is a scripted policy, not an LLM; a "floor" asks no model.'
_NARROWEST = 19
"""Of the column of names: "hepbench/scientist ·" is not broken within a word on 80 columns."""


def _terminal_cells(entry: Entry) -> dict[str, str]:
    """What a terminal of 80 columns has room for; the files have it all."""
    cells = main_cells(entry)
    return {
        "rank": cells["rank"],
        "entry": cells["entry"],
        "accuracy": cells["held-out accuracy"],
        "interp.": _mean(entry.interpolation),
        "extrap.": _mean(entry.extrapolation),
        "regret": cells["regret, meV/atom"],
        "runs": cells["runs"],
        "note": _MARKS[entry.kind],
    }


def to_terminal(board: Leaderboard) -> RenderableType:
    """The main table, how to read it, and the logs that do not count."""
    rows = [_terminal_cells(entry) for entry in board.entries]
    marked = f" {_MARKED}" if any(_MARKS[entry.kind] for entry in board.entries) else ""
    parts: list[RenderableType] = [_rich_table(rows), Text(), Text(explanation(board) + marked)]
    unranked = [entry for entry in board.entries if entry.not_ranked]
    if unranked:
        parts += [Text(), Text("Not ranked:", style="bold")]
        parts += [Text(f"  {line(entry.name)}: {line(entry.not_ranked)}") for entry in unranked]
    if board.left_out:
        parts += [Text(), Text("Logs that do not count:", style="bold")]
        parts += [Text(f"  {line(out.log)}: {line(out.reason)}") for out in board.left_out]
    return Group(*parts)


def _rich_table(rows: Sequence[Mapping[str, str]]) -> RenderableType:
    if not rows:
        return Text("No entry.")
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for name in rows[0]:
        table.add_column(
            Text(name),
            justify="left" if name in ("entry", "note") else "right",
            overflow="fold",
            min_width=_NARROWEST if name == "entry" else None,
        )
    for row in rows:
        table.add_row(*(Text(line(cell)) for cell in row.values()))
    return table


def write_files(board: Leaderboard, folder: Path, html: str) -> list[Path]:
    """Write every form into a folder.

    Args:
        board: The document.
        folder: Made if it is not there.
        html: The page, as `hepbench.reports.pages` makes it.
    """
    texts: Mapping[str, Any] = {
        "leaderboard.json": to_json(board),
        "leaderboard.schema.json": schema_json(),
        "leaderboard.csv": to_csv(board),
        "leaderboard.md": to_markdown(board),
        "leaderboard.html": html,
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in texts]
