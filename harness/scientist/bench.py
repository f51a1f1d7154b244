"""Laboratory work: what to measure within the budget, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hepbench.harness.scientist.conversation import Answer, Call
from hepbench.harness.scientist.rules import Case
from hepbench.harness.scientist.script import Script, Turn
from hepbench.harness.scientist.space import Space, closeness

SURVEY_SHARE = 0.5
"""Share of the budget for the survey, in which each compound is compared in every prototype."""
FEWEST = 3
"""Compounds that a survey has at least."""
LEAST = 4
"""A comparison of fewer prototypes says too little."""
LOST_MEV = 250.0
"""What a prototype that failed, or left the list, is worth when it is considered again, meV/atom."""
CHANGED_MEV = 5.0
"""What a prototype that became another phase counts above that phase, meV/atom."""
AT_A_TIME = 12
"""Comparisons asked for in one turn."""

Job = tuple[str, tuple[str, ...]]
"""A compound, and the prototypes to compare it in."""


@dataclass
class Bench:
    """The laboratory as one replay of the conversation has seen it so far.

    Attributes:
        labels: Prototype → the label that it counts as.
        compounds: Those that may be measured.
        space: Their descriptors; empty before the element table is there.
        budget: Structures that may still be computed.
        cases: Compound → its measurement, in the order of measuring.
        starts: Compound → prototype → energy above the lowest in meV/atom, None when it was lost.
        closed: Compounds that the laboratory did not answer for.
    """

    labels: dict[str, str] = field(default_factory=dict)
    compounds: tuple[str, ...] = ()
    space: Space = field(default_factory=Space)
    budget: float = math.inf
    cases: dict[str, Case] = field(default_factory=dict)
    starts: dict[str, dict[str, float | None]] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)

    @property
    def trusted(self) -> list[Case]:
        """The measurements whose checks passed, in order."""
        return [c for c in self.cases.values() if c.trusted]

    @property
    def testable(self) -> list[str]:
        """The compounds left that the budget bears a comparison of."""
        affordable = min(self.budget // LEAST, len(self.compounds))
        return self.unmeasured[: int(affordable)]

    @property
    def unmeasured(self) -> list[str]:
        """Compounds that can still be measured, in the order in which they tell most that is new."""
        left = [c for c in self.compounds if c not in self.cases and c not in self.closed]
        return self.space.newest(left, self.cases)

    def shortlist(self, compound: str, size: int) -> tuple[str, ...]:
        """The prototypes most likely to be lowest for a compound, judged by its measured neighbours.

        The best start of each label comes before a second start of any: a comparison that leaves a label out
        says nothing about it.
        """
        expected = {p: self._expected(compound, p) for p in self.labels}
        ranked = sorted(expected, key=lambda p: (expected[p], p))
        firsts = {self.labels[p]: p for p in reversed(ranked)}
        return tuple(sorted(ranked, key=lambda p: firsts[self.labels[p]] != p)[:size])

    def _expected(self, compound: str, prototype: str) -> float:
        """Mean energy above the lowest over measured compounds, near ones weighing most, less its spread."""
        known = [
            (
                closeness(self.space.distance(compound, c)),
                LOST_MEV if gap is None else min(gap, LOST_MEV),
            )
            for c, starts in self.starts.items()
            if (gap := starts.get(prototype, math.nan)) is None or not math.isnan(gap)
        ]
        total = sum(w for w, _ in known)
        if not total:
            return 0.0
        mean = sum(w * g for w, g in known) / total
        return mean - 0.5 * math.sqrt(sum(w * (g - mean) ** 2 for w, g in known) / total)

    def record(self, job: Job, answer: Answer) -> None:
        """Take down what a comparison gave."""
        compound, prototypes = job
        if not answer.ok:
            self._refused(compound, answer.refusal)
            return
        data = answer.data
        self.budget = float(data.get("budget_left", self.budget))
        gaps = {str(r["phase"]): float(r["above_lowest_meV_per_atom"]) for r in _rows(data, "ranking")}
        if not gaps:
            self.closed.add(compound)
            return
        self.starts[compound] = {p: gap_of(p, self.labels[p], data) for p in prototypes}
        self.cases[compound] = Case(
            compound=compound,
            result=str(data.get("result", "")),
            values=self.space.values(compound),
            gaps=gaps,
            label=str(data.get("lowest") or min(gaps, key=lambda phase: gaps[phase])),
            trusted=bool(data.get("trusted", True)),
            tried=frozenset(self.labels[p] for p in prototypes),
        )

    def _refused(self, compound: str, refusal: str) -> None:
        if "budget" in refusal.lower():
            self.budget = 0.0
        else:
            self.closed.add(compound)


def gap_of(prototype: str, label: str, data: Mapping[str, Any]) -> float | None:
    """How far above the lowest a start ended, or None when it failed or became something unlisted.

    A start that became another phase leads there in this compound and may stay itself in the next, and so
    may the worse of two starts with one label: each counts a little more than the phase that stands for it.
    """
    if any(r.get("prototype") == prototype for r in _rows(data, "failed")):
        return None
    became = [r.get("became") for r in _rows(data, "changed") if r.get("prototype") == prototype]
    phase = became[0] if became else label
    row = next((r for r in _rows(data, "ranking") if r.get("phase") == phase), None)
    if row is None:
        return None
    stands_for_itself = not became and row.get("started_as", prototype) == prototype
    return float(row["above_lowest_meV_per_atom"]) + (0.0 if stands_for_itself else CHANGED_MEV)


def _rows(data: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return [row for row in data.get(key) or () if isinstance(row, Mapping)]


def measure(bench: Bench, jobs: Sequence[Job], say: str) -> Script[list[Case]]:
    """Compare compounds, a few in one turn; returns the cases that came of it."""
    for first in range(0, len(jobs), AT_A_TIME):
        batch = jobs[first : first + AT_A_TIME]
        calls = tuple(Call("compare_structures", {"compound": c, "prototypes": list(p)}) for c, p in batch)
        answers = yield Turn(say, calls)
        for job, answer in zip(batch, answers, strict=True):
            bench.record(job, answer)
    return [bench.cases[c] for c, _ in jobs if c in bench.cases]


def survey_jobs(bench: Bench) -> list[Job]:
    """The survey: compounds that stand for all, and such as are unlike these, each in every prototype."""
    everything = tuple(bench.labels)
    half = len(bench.compounds) / 2
    wanted = max(FEWEST, bench.budget * SURVEY_SHARE / len(everything))
    number = int(
        min(wanted, half if half >= FEWEST else len(bench.compounds), bench.budget // len(everything))
    )
    typical = bench.space.typical(number - number // 2) or list(bench.compounds[:number])
    others = [c for c in bench.compounds if c not in typical]
    chosen = [*typical, *bench.space.newest(others, typical)][:number]
    return [(c, everything) for c in chosen] or test_jobs(bench, bench.testable, bench.testable)


def test_jobs(bench: Bench, compounds: Sequence[str], left: Sequence[str]) -> list[Job]:
    """Comparisons to test predictions on: the newer a compound is, the more prototypes it gets.

    Args:
        bench: The laboratory.
        compounds: What to measure now, in this order.
        left: All that the budget has to serve, these included.
    """
    novelty = {c: bench.space.novelty(c, bench.cases) for c in left}
    spare = (bench.budget - LEAST * len(left)) / max(sum(novelty.values()), 1e-9)
    jobs: list[Job] = []
    budget = bench.budget
    for compound in compounds:
        size = int(min(len(bench.labels), LEAST + max(0.0, spare * novelty[compound])))
        if size > budget:
            break
        jobs.append((compound, bench.shortlist(compound, size)))
        budget -= size
    return jobs
