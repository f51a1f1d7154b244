"""A log's scores as a table for the terminal."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspect_ai.log import EvalMetric, EvalScore
from inspect_ai.scorer import Score
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from hepbench.harness.agents.harnesses import FLOORS
from hepbench.harness.text import clean, shorten
from hepbench.reports.logs import LoggedRun, RunLog

SCRIPTED = "scripted policy, not an LLM"
"""How the models of the provider `hepbench/` are labelled wherever they are shown."""

UNITS = {"heldout_regret": "meV/atom"}
MAX_CELL = 160
LARGE = 1000
"""From it on, such as for tokens, a value is shown without decimals."""


@dataclass(frozen=True)
class Row:
    """One metric over the runs of a log.

    Attributes:
        scorer: Whose it is; rows of one scorer stand together.
        label: The metric's name, with its unit if it has one.
        value: Mean over the runs; NaN if none was scored.
        stderr: Standard error of that mean; None for fewer than two values.
        note: Why it is not scored, or in how many runs it was.
        headline: Whether it is the task's headline.
        count: Whether it is one run's count, and so a whole number.
    """

    scorer: str
    label: str
    value: float
    stderr: float | None
    note: str
    headline: bool
    count: bool = False


def rows(log: RunLog) -> list[Row]:
    """The log's metrics, in its scorers' order."""
    scores = log.header.results.scores if log.header.results else []
    return [_row(log, score, name, metric) for score in scores for name, metric in score.metrics.items()]


def _row(log: RunLog, score: EvalScore, metric_name: str, metric: EvalMetric) -> Row:
    is_mean = metric_name == "mean"
    label = score.name if is_mean else f"{score.name} {metric_name}"
    unit = UNITS.get(score.name)
    headline = log.header.results.headline if log.header.results else None
    return Row(
        scorer=score.scorer,
        label=f"{label}, {unit}" if unit else label,
        value=metric.value,
        stderr=_stderr(log.runs, score) if is_mean else None,
        note=_note(log.runs, score),
        headline=headline is not None
        and (headline.scorer, headline.score, headline.metric) == (score.scorer, score.name, metric_name),
        count=is_mean and len(log.runs) == 1 and isinstance(_logged(log.runs[0], score), int),
    )


def _stderr(runs: Sequence[LoggedRun], score: EvalScore) -> float | None:
    """Standard error of the mean over epochs; over the samples' epoch means where there are several."""
    by_sample: defaultdict[int | str, list[float]] = defaultdict(list)
    for run in runs:
        value = _value(run, score)
        if not math.isnan(value):
            by_sample[run.sample.id].append(value)
    units = [statistics.fmean(values) for values in by_sample.values()]
    if len(by_sample) == 1:
        units = next(iter(by_sample.values()))
    return statistics.stdev(units) / math.sqrt(len(units)) if len(units) > 1 else None


def _value(run: LoggedRun, score: EvalScore) -> float:
    """One run's value of a score; NaN where it has no number."""
    value = _logged(run, score)
    return float(value) if isinstance(value, int | float) else math.nan


def _logged(run: LoggedRun, score: EvalScore) -> object:
    """One run's value of a score as it was logged; None where there is none."""
    logged = (run.sample.scores or {}).get(score.scorer)
    value = logged.value if logged else None
    return value.get(score.name) if isinstance(value, dict) else value


def _note(runs: Sequence[LoggedRun], score: EvalScore) -> str:
    values = [_value(run, score) for run in runs]
    scored = sum(not math.isnan(v) for v in values)
    if scored or not values:
        return "" if scored == len(values) else f"scored in {scored} of {len(values)} runs"
    logged = [s for run in runs if (s := (run.sample.scores or {}).get(score.scorer))]
    reasons = {s.explanation or "" for s in logged if not isinstance(s.value, dict)}
    return "; ".join(sorted(r for r in reasons if r)).removeprefix("Not scored: ").rstrip(".")


def facts(log: RunLog) -> list[tuple[str, str]]:
    """What the scores belong to, as label and text."""
    spec = log.header.eval
    failed = next((run.sample.error for run in log.runs if run.sample.error is not None), None)
    return [
        ("task", f"{spec.task}, version {spec.task_version}"),
        ("model", f"{spec.model} ({SCRIPTED})" if spec.model.startswith("hepbench/") else spec.model),
        ("harness", _harness(log)),
        ("potential", str(log.about("potential") or "not stated")),
        ("runs", _runs(log)),
        ("ended", _endings(log.runs)),
        ("status", _status(log)),
        *([("error", shorten(failed.message, 300))] if failed is not None else []),
    ]


def _harness(log: RunLog) -> str:
    harness = str(log.about("harness") or "not stated")
    return f"{harness} (a floor: it asks no model)" if harness in FLOORS else harness


def _runs(log: RunLog) -> str:
    samples = len({run.sample.id for run in log.runs})
    errors = sum(run.sample.error is not None for run in log.runs)
    epochs = log.header.eval.config.epochs or 1
    asked = (log.header.eval.dataset.samples or samples) * epochs
    parts = [f"{len(log.runs)} of {asked}"]
    parts += [f"{epochs} epochs"] if epochs > 1 else []
    return ", ".join([*parts, f"{errors} with an error"])


def _endings(runs: Sequence[LoggedRun]) -> str:
    """How the runs ended, limits first of all: for example "turn limit (2), finished by the agent (1)"."""
    return ", ".join(f"{how} ({n})" for how, n in Counter(map(_ending, runs)).most_common()) or "no run ended"


def _ending(run: LoggedRun) -> str:
    if run.sample.error is not None:
        return "error"
    if run.sample.limit is not None:
        return f"{run.sample.limit.type} limit of the sample"
    return run.run.ended or "as its solver does"


def _status(log: RunLog) -> str:
    error = log.header.error
    return f"{log.header.status}: {error.message}" if error else log.header.status


def scores_report(log: RunLog) -> RenderableType:
    """The report: what was run, the table of scores, the headline in words, and where the log lies."""
    found = rows(log)
    table: RenderableType = _table(found) if found else Text("No scores in this log.")
    return Group(_facts_grid(log), Text(), table, *_headline_words(log), Text())


def print_report(log: RunLog, console: Console) -> None:
    """Print the report; the log's path stays on one line, to be copied."""
    console.print(scores_report(log))
    console.print(Text(f"log: {_plain(log.where, 4096)}"), soft_wrap=True)


def _facts_grid(log: RunLog) -> Table:
    grid = Table.grid(padding=(0, 2))
    for name, text in facts(log):
        grid.add_row(Text(name, style="dim"), Text(_plain(text)))
    return grid


def _table(found: Sequence[Row]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    columns = {"metric": "left", "value": "right", "stderr": "right", "": "left"}
    shown = [name for name in columns if name != "stderr" or any(r.stderr is not None for r in found)]
    for name in shown:
        table.add_column(name, justify="right" if columns[name] == "right" else "left")
    for row in found:
        cells = {
            "metric": row.label,
            "value": f"{row.value:.0f}" if row.count else _number(row.value),
            "stderr": "" if row.stderr is None else _number(row.stderr),
            "": "headline" if row.headline else row.note,
        }
        style = "bold" if row.headline else ""
        table.add_row(*(Text(_plain(cells[name]), style=style) for name in shown))
    return table


def _headline_words(log: RunLog) -> Iterator[RenderableType]:
    """The headline score's explanation, where one run has one."""
    headline = log.header.results.headline if log.header.results else None
    if headline is None or headline.scorer is None or len(log.runs) != 1:
        return
    score: Score | None = (log.runs[0].sample.scores or {}).get(headline.scorer)
    if score is not None and score.explanation:
        yield Padding(Text(_plain(score.explanation, 600)), (1, 0, 0, 0))


def _number(value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:.0f}" if abs(value) >= LARGE else f"{value:.3f}"


def _plain(text: str, limit: int = MAX_CELL) -> str:
    """Text from a log, made harmless: one line, no control characters, of bounded length."""
    return shorten(" ".join(clean(text).split()), limit)
