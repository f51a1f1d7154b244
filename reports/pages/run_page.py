"""A run as a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hepbench.harness.steps import CATEGORIES
from hepbench.reports.figures.run import Flow, run_figures
from hepbench.reports.figures.structures import phase_structures
from hepbench.reports.pages.board_page import FLAGS, SERIES, series_marks
from hepbench.reports.pages.environment import environment, number, percent
from hepbench.reports.pages.run_data import RunData
from hepbench.reports.records import CONDITIONS, RunRecord, entry_name

SCRIPTS = ("site.js", "figures.js", "run.js", "structure.js")

Mixes = Mapping[str, Mapping[str, float]]
"""Name of a harness → its mean step mix."""


@dataclass(frozen=True)
class Others:
    """What the same model did with the same task in other harnesses.

    Attributes:
        mixes: Harness → its mean step mix.
        counterpart: The harness whose step flow stands beside this one's; empty without any.
        flow: Its flow, summed over its runs.
    """

    mixes: Mixes = field(default_factory=dict)
    counterpart: str = ""
    flow: Flow = field(default_factory=dict)


def run_page(data: RunData, others: Others, parts: Mapping[str, Any], *, log: str, doubt: str = "") -> str:
    """The page.

    Args:
        data: The run.
        others: Steps in the other harnesses with the same model and task.
        parts: Styles, scripts and policy, from `environment`.
        log: Name of the log.
        doubt: Why the log does not count; empty if it does.
    """
    record = data.run.record
    figures = run_figures(data, others.mixes, others.flow)
    mixes: Mixes = {"this run": {c: record.scores.get(f"step_{c}", 0.0) for c in CATEGORIES}, **others.mixes}
    about = {"task": record.task, **record.conditions}
    types = Counter(event.type for event in data.events)
    return (
        environment()
        .get_template("run.html.j2")
        .render(
            title=f"{record.task}: {entry_name(record.entry)}",
            name=entry_name(record.entry),
            home="../index.html",
            run=data,
            figures=figures,
            explored=[cell for cell in figures["map"]["cells"] if cell["part"] == "exploration"],
            flag=FLAGS[record.kind],
            ended=ending(data),
            tiles=tiles(record),
            beside=others.mixes,
            counterpart=others.counterpart,
            other_flow=others.flow,
            shares=mixes,
            structures=phase_structures(about, data.labels),
            step_marks=series_marks(SERIES),
            label_marks=series_marks(len(data.labels)),
            event_types=sorted(types.items()),
            conditions=[(title, _shown(record.conditions.get(key))) for key, title in CONDITIONS.items()],
            log=log,
            doubt=doubt,
            **parts,
        )
    )


def ending(data: RunData) -> str:
    """How the run ended, in words."""
    if data.run.record.limit:
        return f"ended by the sample's {data.run.record.limit} limit"
    return data.state.ended or "no end on record"


def tiles(record: RunRecord) -> list[dict[str, str]]:
    """The numbers at the top of the page; what was not scored is left out."""
    right = sum(item.right for item in record.items)
    scores = record.scores
    found = [
        {
            "what": "held-out accuracy",
            "value": percent(right / len(record.items)) if record.items else "–",
            "more": f"{right} of {len(record.items)}; {_parts(record)}",
        }
    ]
    plans = (
        ("hypotheses", "hypothesis_count", 0, "tested_count", "tested"),
        ("generations", "generation_depth", 0, "strict_generation_depth", "by refining and merging alone"),
        ("belief flips", "belief_flips", 0, "final_rule_belief", "highest P(H) of a supported one"),
        ("regret, meV/atom", "heldout_regret", 1, "brier", "Brier score"),
        ("laboratory calls", "lab_calls", 0, "model_calls", "model calls"),
    )
    for what, name, digits, second, second_what in plans:
        if name in scores:
            more = f"{scores[second]:.3g} {second_what}" if second in scores else ""
            found.append({"what": what, "value": number(scores[name], digits), "more": more})
    if "resolution_rate" in scores:
        refused = f"{percent(scores['refusal_rate'])} refused" if "refusal_rate" in scores else ""
        found.insert(2, {"what": "resolved", "value": percent(scores["resolution_rate"]), "more": refused})
    return found


def _parts(record: RunRecord) -> str:
    shares = []
    for part in ("interpolation", "extrapolation"):
        items = [item.right for item in record.items if item.part == part]
        if items:
            shares.append(f"{part} {percent(sum(items) / len(items))}")
    return ", ".join(shares)


def _shown(value: Any) -> str:
    if value is None or value == {}:
        return "–"
    if isinstance(value, dict):
        return "; ".join(f"{str(name).replace('_', ' ')} {_shown(value[name])}" for name in sorted(value))
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
