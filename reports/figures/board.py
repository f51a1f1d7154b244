"""The figures of the leaderboard page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hepbench.harness.steps import CATEGORIES
from hepbench.harness.text import clean, shorten
from hepbench.reports.board import Entry, Leaderboard
from hepbench.reports.figures.run import Figure, step_mix

COSTS = {
    "money": "US dollars",
    "tokens": "tokens",
    "model_calls": "model calls",
    "lab_calls": "laboratory calls",
}
SCALING = {
    "hypothesis_count": "hypotheses",
    "generation_depth": "depth",
    "resolution_rate": "resolved",
    "belief_flips": "belief flips",
}
MECHANISMS = {
    "mix_de_novo": "de novo",
    "mix_inspired_by": "inspired by",
    "mix_refine": "refined",
    "mix_merge": "merged",
}


def board_figures(board: Leaderboard) -> dict[str, Figure | list[Any]]:
    """The data of every figure that the entries give ground for."""
    if not board.entries:
        return {}
    figures: dict[str, Figure | list[Any]] = {"accuracy": [_accuracy(entry) for entry in board.entries]}
    cost = _cost(board.entries)
    if cost["axes"]:
        figures["cost"] = cost
    with_registry = [entry for entry in board.entries if "hypothesis_count" in entry.process]
    if with_registry:
        figures["scaling"] = _scaling(with_registry)
        figures["mechanisms"] = _mechanisms(with_registry)
    mixes = {
        shown(entry.name): {str(c): entry.step_mix.get(f"step_{c}", 0.0) for c in CATEGORIES}
        for entry in board.entries
        if entry.step_mix
    }
    if mixes:
        figures["steps"] = step_mix(mixes)
    return figures


def shown(name: str) -> str:
    """An entry's name as a figure takes it."""
    return shorten(" ".join(clean(name).split()), 80)


def _accuracy(entry: Entry) -> dict[str, Any]:
    return {
        "name": shown(entry.name),
        "kind": entry.kind,
        "accuracy": entry.accuracy.value,
        "low": entry.accuracy.low,
        "high": entry.accuracy.high,
        "rank": entry.rank,
    }


def _cost(entries: Sequence[Entry]) -> Figure:
    rows = [{**_accuracy(entry), **{key: getattr(entry.cost, key) for key in COSTS}} for entry in entries]
    axes = [{"key": key, "label": label} for key, label in COSTS.items() if any(row[key] for row in rows)]
    for row in rows:
        row["front"] = [axis["key"] for axis in axes if _on_front(row, rows, axis["key"])]
    return {"rows": rows, "axes": axes}


def _on_front(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], key: str) -> bool:
    """Whether no other entry is at least as accurate for less, nor better for the same (Pareto)."""
    if row[key] is None:
        return False
    mine = (row["accuracy"], -row[key])
    others = [(other["accuracy"], -other[key]) for other in rows if other[key] is not None]
    return not any(o != mine and o[0] >= mine[0] and o[1] >= mine[1] for o in others)


def _scaling(entries: Sequence[Entry]) -> Figure:
    measures = {key: title for key, title in SCALING.items() if any(key in e.process for e in entries)}
    values = [
        {"name": shown(entry.name), "measure": title, "value": entry.process[key]}
        for entry in entries
        for key, title in measures.items()
        if key in entry.process
    ]
    most = {title: max(e.process.get(key, 0.0) for e in entries) or 1.0 for key, title in measures.items()}
    return {
        "values": values,
        "measures": list(measures.values()),
        "most": {**most, "resolved": 1.0},
        "names": [shown(e.name) for e in entries],
    }


def _mechanisms(entries: Sequence[Entry]) -> Figure:
    shares = [
        {"name": shown(entry.name), "category": title, "share": entry.process.get(key, 0.0)}
        for entry in entries
        for key, title in MECHANISMS.items()
    ]
    return {"rows": [{"name": shown(e.name)} for e in entries], "shares": shares}
