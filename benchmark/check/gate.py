"""The gate: every check's outcome, and the one verdict that follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import IntEnum

import pandas as pd
from pydantic import Field

from hepbench.benchmark import statistics as st
from hepbench.benchmark.check.baseline import Baseline, BaselineEntry, BaselineRun, exact_scores
from hepbench.benchmark.check.margins import METRICS, Margins
from hepbench.benchmark.leaderboard.collect import Collection
from hepbench.reports.board import LeftOut, Part
from hepbench.reports.records import RunRecord, differing, differing_tools, entry_name


class Outcome(IntEnum):
    """How a check ended; the number is the exit code."""

    PASS = 0
    FAIL = 1
    INCONCLUSIVE = 2
    REFUSED = 3


WAS_RUN = "was run"
"""What is asked of every entry of a baseline before anything else."""

_GRAVEST_FIRST = (Outcome.REFUSED, Outcome.FAIL, Outcome.INCONCLUSIVE)


class Check(Part):
    """One question and its answer."""

    of: str = Field(description="model and harness, and the task if it is about one")
    what: str
    outcome: Outcome
    message: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    margin: float | None = None
    epochs_to_decide: int | None = None


class Verdict(Part):
    """All checks, and the gravest outcome among them: refused, then failed, then inconclusive."""

    outcome: Outcome
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()


def check_runs(baseline: Baseline, found: Collection, margins: Margins, *, partial: bool = False) -> Verdict:
    """Hold runs against a baseline.

    Args:
        baseline: What they are held against.
        found: Every run of the logs, comparable or not, with the logs that do not count.
        margins: Losses that are accepted.
        partial: Entries of the baseline that were not run at all are noted, not failed, unless none was run.
    """
    known = {entry.key for entry in baseline.entries}
    notes = [f"not in the baseline: {entry_name(key)}" for key in found.entries if key not in known]
    left_out = list(_logs_checked(found.left_out))
    if baseline.entries and found.runs and not {entry.task for entry in baseline.entries} & set(found.tasks):
        return _verdict([_other_tasks(baseline, found), *left_out], notes)
    if partial:
        ran = tuple(entry for entry in baseline.entries if _runs(found, entry))
        absent = [_name(entry) for entry in baseline.entries if entry not in ran]
        notes += [f"of the baseline, not run: {name}" for name in absent if ran]
        baseline = baseline.model_copy(update={"entries": ran}) if ran else baseline
    checks = [*left_out, *_present(baseline, found)]
    refusals = list(_conditions(baseline, found))
    if not refusals:
        checks += _exact(baseline, found)
        checks += _gated(baseline, found, margins)
    return _verdict([*refusals, *checks], notes)


def _other_tasks(baseline: Baseline, found: Collection) -> Check:
    theirs, here = (
        ", ".join(sorted(names)) for names in ({e.task for e in baseline.entries}, set(found.tasks))
    )
    message = f"the baseline has {theirs}, the logs have {here}"
    return Check(of="the logs", what="a task in common", outcome=Outcome.REFUSED, message=message)


def _verdict(checks: Sequence[Check], notes: Sequence[str]) -> Verdict:
    outcomes = {check.outcome for check in checks}
    gravest = next((o for o in _GRAVEST_FIRST if o in outcomes), Outcome.PASS)
    return Verdict(outcome=gravest, checks=tuple(checks), notes=tuple(notes))


def _logs_checked(left_out: Sequence[LeftOut]) -> Iterator[Check]:
    for left in left_out:
        yield Check(of=left.log, what="the log counts", outcome=Outcome.FAIL, message=left.reason)


def _name(entry: BaselineEntry) -> str:
    return f"{entry_name(entry.key)} on {entry.task}"


def _runs(found: Collection, entry: BaselineEntry) -> list[RunRecord]:
    return [run for run in found.runs if run.task == entry.task and run.entry == entry.key]


def _present(baseline: Baseline, found: Collection) -> Iterator[Check]:
    """Every entry of the baseline was run, to its end."""
    for entry in baseline.entries:
        runs = _runs(found, entry)
        if not runs:
            message = "no run of it in the logs"
            yield Check(of=_name(entry), what=WAS_RUN, outcome=Outcome.FAIL, message=message)
            continue
        failed = [run for run in runs if run.error]
        samples = {run.sample for run in entry.runs} - {run.sample for run in runs}
        # what only some runs of the baseline have, a run may leave unscored: nothing supported, say
        expected = set.intersection(*(set(run.scores) for run in entry.runs))
        lost = expected - {name for run in runs for name in run.scores}
        problem = ""
        if samples:
            problem = f"sample missing: {', '.join(sorted(samples))}"
        elif failed:
            problem = f"{len(failed)} of {len(runs)} samples failed: {failed[0].error}"
        elif lost:
            problem = f"metric missing: {', '.join(sorted(lost))}"
        yield Check(
            of=_name(entry),
            what="every sample and metric is there",
            outcome=Outcome.FAIL if problem else Outcome.PASS,
            message=problem or f"{len(runs)} run{'s' if len(runs) > 1 else ''}",
        )


def _conditions(baseline: Baseline, found: Collection) -> Iterator[Check]:
    """Runs under other conditions are not held against the baseline at all."""
    for entry in baseline.entries:
        for run in _runs(found, entry):
            differences = differing(entry.conditions, run.conditions, floor=entry.kind == "floor")
            differences += differing_tools(entry.tools, run.tools) if not run.error else []
            if differences:
                yield Check(
                    of=_name(entry),
                    what="same conditions as the baseline",
                    outcome=Outcome.REFUSED,
                    message=f"baseline ≠ this: {'; '.join(differences)}",
                )
                break


def _exact(baseline: Baseline, found: Collection) -> Iterator[Check]:
    """Scripted policies and floors reproduce the baseline to the digit."""
    for entry in baseline.entries:
        runs = _runs(found, entry)
        if entry.kind == "model" or not runs:
            continue
        changes = [change for run in runs for change in _changes(_of_epoch(entry, run), run)]
        yield Check(
            of=_name(entry),
            what="reproduces exactly",
            outcome=Outcome.FAIL if changes else Outcome.PASS,
            message="; ".join(changes[:5]) or "every score and prediction is the same",
        )


def _of_epoch(entry: BaselineEntry, run: RunRecord) -> BaselineRun:
    """The baseline's run of the same epoch; a policy that does not vary has the same in all."""
    same = [kept for kept in entry.runs if (kept.sample, kept.epoch) == (run.sample, run.epoch)]
    return same[0] if same else entry.runs[0]


def _changes(before: BaselineRun, after: RunRecord) -> Iterator[str]:
    scores = exact_scores(after.scores.items())
    for name, value in before.scores.items():
        if scores.get(name) != value:
            yield (
                f"{name}: {value:g} → {scores[name]:g}" if name in scores else f"{name}: {value:g} → unscored"
            )
    predicted = {item.compound: item for item in after.items}
    for item in before.items:
        now = predicted.get(item.compound)
        if now is None:
            yield f"{item.compound} is not asked any more"
        elif (now.predicted, now.confidence) != (item.predicted, item.confidence):
            yield f"{item.compound}: {item.predicted} {item.confidence} → {now.predicted} {now.confidence}"


def _gated(baseline: Baseline, found: Collection, margins: Margins) -> Iterator[Check]:
    """Models: the interval of the loss against the margin."""
    kept = baseline.collection().where(lambda run: run.kind == "model")
    for key in kept.entries:
        before = kept.of(key)
        after = found.of(key).of_tasks(before.tasks)
        if before.tasks != after.tasks:
            continue  # _present says so
        for name, margin in margins.suite.items():
            yield _gate(entry_name(key), name, margin, margins.confidence, before, after)
        for task in before.tasks if margins.task else ():
            sides = before.of_tasks([task]), after.of_tasks([task])
            for name, margin in margins.task.items():
                yield _gate(f"{entry_name(key)} on {task}", name, margin, margins.confidence, *sides)


def _gate(
    of: str, name: str, margin: float, confidence: float, before: Collection, after: Collection
) -> Check:
    metric = METRICS[name]
    what = f"{name} is not worse by more than {margin:g}"
    tables = _common_items(before.table(metric.value), after.table(metric.value))
    if tables[0].empty:
        return Check(of=of, what=what, outcome=Outcome.FAIL, message=f"metric missing: {name}")
    found = st.compare(*tables, confidence=confidence, proportion=metric.proportion).difference
    outcome = decide(found, margin)
    needed = None
    if outcome is Outcome.INCONCLUSIVE:
        needed = st.epochs_to_decide(*tables, margin, confidence=confidence)
    interval = f"{found.value:+.3g} ({found.low:+.3g} to {found.high:+.3g})"
    shown = f"{interval} against a margin of {margin:g} {metric.unit}"
    return Check(
        of=of,
        what=what,
        outcome=outcome,
        message=shown.strip() + _advice(found, outcome, needed),
        difference=found.value,
        low=_finite(found.low),
        high=_finite(found.high),
        margin=margin,
        epochs_to_decide=needed,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _common_items(a: pd.DataFrame, b: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compounds that both sides have a value for; a regret or a confidence may be missing on one side."""
    shared = set(zip(a["task"], a["item"], strict=True)) & set(zip(b["task"], b["item"], strict=True))
    first, second = (
        side[[pair in shared for pair in zip(side["task"], side["item"], strict=True)]] for side in (a, b)
    )
    return first, second


def decide(difference: st.Estimate, margin: float) -> Outcome:
    """PASS when the whole interval is above −margin, FAIL when it is below, else INCONCLUSIVE."""
    if difference.low > -margin:
        return Outcome.PASS
    return Outcome.FAIL if difference.high < -margin else Outcome.INCONCLUSIVE


def _advice(found: st.Estimate, outcome: Outcome, needed: int | None) -> str:
    if outcome is not Outcome.INCONCLUSIVE:
        return ""
    if found.note == st.IDENTICAL:
        reach = f"that many compounds exclude no loss below {-found.low:.3g}"
        return f"; no number of epochs would decide it: {reach}"
    if needed is None:
        return (
            "; more epochs alone would not decide it: the baseline needs more of them too, or a wider margin"
        )
    return f"; about {needed} epochs would decide it"
