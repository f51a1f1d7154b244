"""The figures of one run's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hepbench.harness.steps import CATEGORIES
from hepbench.harness.text import clean, shorten
from hepbench.reports.figures.family_map import FamilyMap, Place, family_map
from hepbench.reports.pages.run_data import History, RunData, generations

Figure = dict[str, Any]

TIP = 300
"""Characters of a text that a tip shows; the page has the whole."""


Flow = Mapping[str, Mapping[str, int]]
"""How often a step category (row) was followed by another (column)."""


def run_figures(
    data: RunData, beside: Mapping[str, Mapping[str, float]], other_flow: Flow | None = None
) -> dict[str, Figure]:
    """The data of every figure that the run gives ground for.

    Args:
        data: The run.
        beside: Name of another harness → its mean step mix, for comparison.
        other_flow: The step flow of the harness that this one is held against.
    """
    figures: dict[str, Figure] = {}
    if data.histories:
        figures["tree"] = tree(data.histories)
        figures["beliefs"] = beliefs(data)
    shares = {c: data.run.record.scores.get(f"step_{c}") for c in CATEGORIES}
    if any(shares.values()):
        own = {"this run": {str(c): share or 0.0 for c, share in shares.items()}}
        figures["mix"] = step_mix({**own, **beside})
    if data.run.record.flow:
        figures["flow"] = flow(data.run.record.flow)
    if other_flow:
        figures["flow_beside"] = flow(other_flow)
    figures["map"] = prediction_map(data)
    if any(p.above_lowest for p in data.predictions):
        figures["energies"] = energies(data)
    return figures


def tree(histories: Sequence[History]) -> Figure:
    """Hypotheses by generation; children stand near their parents."""
    columns = generations(histories)
    rows: dict[str, float] = {}
    for column in range(max(columns.values()) + 1):
        members = [h for h in histories if columns[h.now.id] == column]
        members.sort(key=lambda h: _mean([rows[p] for p in h.now.parents if p in rows]))
        rows |= {h.now.id: float(n) for n, h in enumerate(members)}
    depth = max(rows.values())
    for column in set(columns.values()):  # a short column stands in the middle
        names = [name for name in rows if columns[name] == column]
        shift = (depth - (len(names) - 1)) / 2
        rows |= {name: rows[name] + shift for name in names}
    nodes = [
        {
            "id": h.now.id,
            "x": columns[h.now.id],
            "y": rows[h.now.id],
            "state": h.now.state,
            "belief": h.now.belief,
            "mechanism": h.now.mechanism,
            "parents": list(h.now.parents),
            "statement": shorten(clean(h.now.statement), TIP),
        }
        for h in histories
    ]
    links = [
        {
            "x1": columns[p],
            "y1": rows[p],
            "x2": columns[h.now.id],
            "y2": rows[h.now.id],
            "mechanism": h.now.mechanism,
        }
        for h in histories
        for p in h.now.parents
        if p in rows
    ]
    return {"nodes": nodes, "links": links, "columns": max(columns.values()) + 1, "rows": depth + 1}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def beliefs(data: RunData) -> Figure:
    """Each hypothesis's belief over the run, with the evidence that moved it."""
    points = [
        {
            "id": h.now.id,
            "seq": point.seq,
            "belief": point.belief,
            "state": h.now.state,
            "stance": point.stance or "prior",
            "evidence": point.evidence,
            "trusted": point.trusted,
            "text": shorten(clean(point.text), TIP),
        }
        for h in data.histories
        for point in h.beliefs
    ]
    lines = [{"id": h.now.id, "belief": h.now.belief, "state": h.now.state} for h in data.histories]
    rules = data.state.rules
    return {
        "points": points,
        "lines": lines,
        "last": max(1, data.state.length),
        "support": rules.support_threshold,
        "refute": rules.refute_threshold,
    }


def step_mix(mixes: Mapping[str, Mapping[str, float]]) -> Figure:
    """Shares of step categories, a bar for each name; `mixes` has them without "step_"."""
    used = [c for c in CATEGORIES if any(mix.get(c) for mix in mixes.values())]
    shares = [
        {"name": name, "category": c, "share": mix.get(c, 0.0)} for name, mix in mixes.items() for c in used
    ]
    return {"rows": [{"name": name} for name in mixes], "shares": shares, "categories": used}


def flow(matrix: Mapping[str, Mapping[str, int]]) -> Figure:
    """Which step follows which; categories that never occur are left out."""
    used = [
        c for c in CATEGORIES if any(matrix.get(c, {}).values()) or any(row.get(c) for row in matrix.values())
    ]
    cells = [{"from": a, "to": b, "count": int(matrix.get(a, {}).get(b, 0))} for a in used for b in used]
    return {"categories": used, "cells": cells}


def prediction_map(data: RunData) -> Figure:
    """Truth and prediction of every compound on the map of its family."""
    where = _map(data)
    explored = data.run.metadata.get("exploration", [])
    cells = [
        _explored_cell(where.places[row["compound"]], row)
        for row in explored
        if row["compound"] in where.places
    ]
    cells += [_predicted_cell(where.places[p.item.compound], p.item) for p in data.predictions]
    seen = {c["truth"] for c in cells}
    periodic = where.kind == "periodic table"
    left = 30 if periodic else 12 + 7 * max((len(row) for row in where.rows), default=0)
    return {
        "kind": where.kind,
        "cells": cells,
        "columns": where.columns,
        "rows": where.rows,
        "labels": [label for label in data.labels if label in seen],
        "xlabels": where.kind != "chemical families",
        "ylabels": True,
        "unasked": _unasked(data),
        "left": min(left, 150),
        "top": 24,
    }


def _unasked(data: RunData) -> list[str]:
    """Compounds that the laboratory knows and the task asks nothing of."""
    metadata = data.run.metadata
    asked = {row["compound"] for part in ("exploration", "heldout") for row in metadata.get(part, [])}
    return [shorten(clean(name), 40) for name in metadata.get("compositions", {}) if name not in asked]


def _map(data: RunData) -> FamilyMap:
    sites = data.run.metadata.get("compositions", {})
    explored = [row["compound"] for row in data.run.metadata.get("exploration", [])]
    asked = {p.item.compound: p.item.cluster for p in data.predictions}
    if all(name in sites for name in asked):
        known = {name: sites[name] for name in [*explored, *asked] if name in sites}
        return family_map(known, asked | dict.fromkeys(explored, "exploration"))
    return family_map({}, asked)


def _explored_cell(place: Place, row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **place._asdict(),
        "compound": row["compound"],
        "part": "exploration",
        "truth": row["labels"][0] if row["labels"] else "",
        "labels": row["labels"],
        "predicted": None,
        "confidence": None,
        "right": None,
        "regret": None,
    }


def _predicted_cell(place: Place, item: Any) -> dict[str, Any]:
    return {
        **place._asdict(),
        "compound": item.compound,
        "part": item.part,
        "truth": item.labels[0],
        "labels": list(item.labels),
        "predicted": None if item.predicted is None else shorten(clean(item.predicted), 60),
        "confidence": item.confidence,
        "right": item.right,
        "regret": item.regret,
    }


def energies(data: RunData) -> Figure:
    """Energy of every phase of every held-out compound above its lowest, meV/atom."""
    cells = [
        {
            "compound": p.item.compound,
            "label": label,
            "energy": energy,
            "truth": label in p.item.labels,
            "predicted": label == p.item.predicted,
        }
        for p in data.predictions
        for label, energy in p.above_lowest.items()
        if energy is not None
    ]
    return {
        "cells": cells,
        "compounds": [p.item.compound for p in data.predictions],
        "labels": [label for label in data.labels if any(c["label"] == label for c in cells)],
        "scale": 200.0,
    }
