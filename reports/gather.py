"""From log names to run records: what tables need of a log, without its transcripts."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.scorer import Score
from pydantic import ValidationError

from hepbench.harness.agents.harnesses import FLOORS
from hepbench.harness.agents.usage import AgentUsage
from hepbench.harness.protocol.events import Event
from hepbench.harness.protocol.store import RegistryStore
from hepbench.harness.text import clean, shorten
from hepbench.reports.conditions import conditions_of
from hepbench.reports.opening import LogError, LoggedSample, OpenLog, listed_logs, one_line, open_log
from hepbench.reports.options import asked_model
from hepbench.reports.records import RunRecord
from hepbench.reports.truth import item_of, measures_of, silent_outcomes

HEADLINE = "heldout_accuracy"
_ENDED = ("success", "error")


def find_logs(wheres: Iterable[str]) -> list[str]:
    """The logs that these files, folders and URLs name; each once, in alphabetical order.

    Raises:
        LogError: one of them does not exist, or holds no log.
    """
    found: set[str] = set()
    for where in wheres:
        found.update(_logs_in(where))
    return sorted(found)


def _logs_in(where: str) -> list[str]:
    shown = shorten(clean(where), 200)
    is_remote = "://" in where
    try:
        if not is_remote and Path(where).is_file():
            return [where]
        is_there = is_remote or Path(where).exists()
    except OSError as e:  # too long a name, a folder that may not be entered
        raise LogError(f"{shown} cannot be looked at: {e.strerror}.") from e
    if not is_there:
        raise LogError(f"There is no log or folder {shown}.")
    if is_remote and where.endswith((".eval", ".json")):
        return [where]
    names = listed_logs(where)
    if not names:
        raise LogError(f"There is no eval log in {shown}.")
    return names


@dataclass(frozen=True)
class DetailedRun:
    """A run with the events of its registry and its sample's metadata: what a page shows of it."""

    record: RunRecord
    events: tuple[Event, ...]
    metadata: Mapping[str, Any]


def detailed_runs(where: str) -> list[DetailedRun]:
    """The runs of one log with their events.

    Raises:
        LogError: as for `RunReader`, or an event does not fit its schema.
    """
    with one_line(where), open_log(where) as log:
        reader = RunReader(log)
        runs = [_detailed(reader, logged) for logged in log.samples()]
        reader.end()
    return runs


def _detailed(reader: RunReader, logged: LoggedSample) -> DetailedRun:
    record = reader.take(logged)
    try:
        events = tuple(logged.light.store_as(RegistryStore).run.events)
    except (ValidationError, AttributeError) as e:
        raise LogError(f"its record of events cannot be read: {shorten(clean(str(e)), 120)}") from e
    return DetailedRun(record, events, logged.light.metadata)


class RunReader:
    """The runs of one log, one sample after the other.

    Args:
        log: The log.

    Raises:
        LogError: the run is not finished.
    """

    def __init__(self, log: OpenLog) -> None:
        if log.header.status not in _ENDED:
            raise LogError(f"the run is not finished: its status is {log.header.status!r}")
        self._log = log
        self._samples = 0

    def take(self, logged: LoggedSample) -> RunRecord:
        """The run of a sample.

        Raises:
            LogError: it does not fit Inspect's schema, or the task has no held-out compounds.
        """
        sample, header = logged.light, self._log.header
        if "heldout" not in sample.metadata:
            task = shorten(clean(header.eval.task), 80)
            raise LogError(f"not a task with held-out compounds: {task}")
        self._samples += 1
        return _record(self._log.where, header, sample, offered_tools(logged))

    def end(self) -> None:
        """All samples were taken.

        Raises:
            LogError: there was none.
        """
        if not self._samples:
            raise LogError("no sample in it")


def offered_tools(logged: LoggedSample) -> dict[str, str]:
    """Tool → hash of its definition, over all generations of a sample; of several definitions the last."""
    found: dict[str, str] = {}
    hashed: dict[bytes, dict[str, str]] = {}
    before: bytes | None = None
    for event in logged.events("model"):
        text = event.text("tools")
        if text == before:  # nearly every generation is offered the same
            continue
        before = text
        if text not in hashed:
            tools = event.get("tools") or []
            hashed[text] = {str(tool.get("name")): _definition_hash(tool) for tool in tools}
        found |= hashed[text]
    return dict(sorted(found.items()))


def _definition_hash(tool: Any) -> str:
    return hashlib.sha256(json.dumps(tool, sort_keys=True).encode()).hexdigest()[:16]


def _record(where: str, header: EvalLog, sample: EvalSample, tools: Mapping[str, str]) -> RunRecord:
    about: Mapping[str, Any] = {**(header.eval.metadata or {}), **sample.metadata.get("about", {})}
    scores = {} if sample.error else dict(sample.scores or {})
    harness = str(about.get("harness", "unknown"))
    numbers, used = score_values(scores), _agents_usage(sample)
    rows = (scores[HEADLINE].metadata or {}).get("compounds") if HEADLINE in scores else None
    if not rows:
        silent = silent_outcomes(sample)
        rows, numbers = [outcome.row() for outcome in silent], {**numbers, **measures_of(silent, sample)}
    return RunRecord(
        where=where,
        log_id=header.eval.eval_id,
        task_id=header.eval.task_id,
        finished=header.status == "success",
        created=str(header.eval.created),
        task=str(about.get("task", header.eval.task)),
        model="–" if harness in FLOORS else asked_model(header),
        harness=harness,
        sample=str(sample.id),
        epoch=sample.epoch,
        conditions=conditions_of(header, sample, about),
        items=tuple(map(item_of, rows)),
        scores=numbers,
        tools=tools,
        flow=dict((scores["step_flow"].metadata or {}).get("flow", {})) if "step_flow" in scores else {},
        tokens=used.input_tokens + used.output_tokens,
        money=used.cost,
        wall=sample.total_time,
        working=sample.working_time,
        error=shorten(clean(sample.error.message)) if sample.error else "",
        limit=sample.limit.type if sample.limit else "",
    )


def _agents_usage(sample: EvalSample) -> AgentUsage:
    """What the agent's own generations cost, also in a run that failed. No grader's or auditor's is in it.

    Raises:
        LogError: the log holds no numbers there.
    """
    try:
        return sample.store_as(AgentUsage)
    except ValidationError as e:
        raise LogError(f"its usage cannot be read: {shorten(clean(str(e)), 120)}") from e


def score_values(scores: Mapping[str, Score]) -> dict[str, float]:
    """Every number of these scores by name; a score that is not finite is unscored and left out."""
    found: dict[str, float] = {}
    for name, score in scores.items():
        values = score.value if isinstance(score.value, dict) else {name: score.value}
        for key, value in values.items():
            if isinstance(value, int | float) and math.isfinite(value):
                found[key] = float(value)
    return found
