"""The leaderboard as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hepbench.reports.board import PROCESS, Leaderboard
from hepbench.reports.figures.board import board_figures
from hepbench.reports.pages.environment import environment, inlined
from hepbench.reports.records import Kind, RunRecord

SCRIPTS = ("site.js", "figures.js", "board.js")
FLAGS: Mapping[Kind, str] = {
    "model": "",
    "scripted policy": "scripted policy, not an LLM",
    "floor": "floor, asks no model",
}
"""Kind → what marks it wherever it is shown."""

SERIES = 14
"""Colours of a series in the sheet: `--c0` to `--c13`."""


@dataclass(frozen=True)
class RunLink:
    """A run in the list of runs."""

    record: RunRecord
    href: str
    ended: str
    doubt: str = ""

    @property
    def accuracy(self) -> float | None:
        """Share of held-out compounds predicted rightly."""
        items = self.record.items
        return sum(item.right for item in items) / len(items) if items else None


def leaderboard_page(board: Leaderboard) -> str:
    """The page as a single file."""
    return board_page(board, (), inlined(SCRIPTS), home="#main")


def board_page(board: Leaderboard, runs: Sequence[RunLink], parts: Mapping[str, Any], home: str) -> str:
    """The page.

    Args:
        board: The leaderboard.
        runs: Runs with a page of their own.
        parts: Styles, scripts and policy, from `environment`.
        home: Where the name in the corner leads.
    """
    figures = board_figures(board)
    return (
        environment()
        .get_template("board.html.j2")
        .render(
            title="Leaderboard",
            home=home,
            board=board,
            runs=runs,
            figures=figures,
            fronts=_fronts(figures),
            flags=FLAGS,
            process=PROCESS,
            step_marks=series_marks(SERIES),
            **parts,
        )
    )


def _fronts(figures: Mapping[str, Any]) -> list[list[str]]:
    """For each entry, the costs in which it is on the Pareto front."""
    cost = figures.get("cost", {"rows": (), "axes": ()})
    labels = {axis["key"]: axis["label"] for axis in cost["axes"]}
    return [[labels[key] for key in row["front"]] for row in cost["rows"]]


def series_marks(count: int) -> list[str]:
    """Names of the colours of a series."""
    return [f"c{n % SERIES}" for n in range(count)]
