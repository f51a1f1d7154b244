"""The scores again, from the sample's own store and conversation, and the means over samples from them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from inspect_ai._util.registry import registry_log_name, registry_unqualified_name
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import ModelName
from inspect_ai.scorer import Score, Scorer, Target
from inspect_ai.solver import TaskState

from hepbench.harness.protocol.state import RunState
from hepbench.harness.protocol.store import RegistryEvents
from hepbench.harness.text import shorten
from hepbench.reports.audit.subject import STORE_KEY, Finding, Subject
from hepbench.scorers import suite_scorers
from hepbench.scorers.run import know_run

CHECK = "scores"
TOLERANCE = 1e-9
_BY_A_MODEL = {"rule_transfer": "reader", "step_mix": "grader", "step_flow": "grader"}
"""Score → the role of a model that takes part in it, if one is given; its words cannot be computed again."""


async def scores(subject: Subject, run: RunState | None) -> Iterator[Finding]:
    """Each score of a sample, computed again by this installation's scorers.

    Args:
        subject: The run as it was logged.
        run: The run as its events make it; None where they cannot be replayed.
    """
    if subject.logged is None or not subject.logged.raw.get("scores"):
        return iter(())
    sample = subject.logged.sample
    roles = (subject.header.eval.model_roles or {}) if subject.header else {}
    ours = _ours()
    state = _rebuilt(sample, subject, run)
    found: list[Finding] = []
    for name, logged in (sample.scores or {}).items():
        if name in ours and _BY_A_MODEL.get(name) not in roles:
            found += _differences(name, logged, await _again(ours[name], state))
    return iter(found)


@lru_cache(maxsize=1)
def _ours() -> Mapping[str, Scorer]:
    return {_name(scorer): scorer for scorer in suite_scorers()}


def _rebuilt(sample: EvalSample, subject: Subject, run: RunState | None) -> TaskState:
    """The sample as scorers take it.

    Inspect's own way there makes a model first, for which it loads every plugin and begins the user's hooks;
    no score that is computed again asks a model. The store is handed over in parts, which Inspect does not
    copy deeply, and the record as it was parsed and replayed for the other checks.
    """
    state = TaskState(
        model=ModelName("none/none"),
        sample_id=sample.id,
        epoch=sample.epoch,
        input=sample.input,
        messages=sample.messages,
        target=Target(sample.target),
        choices=sample.choices,
        output=sample.output,
        completed=True,
        metadata=sample.metadata,
        sample_uuid=sample.uuid,
    )
    for key, value in sample.store.items():
        state.store.set(key, value)
    if subject.events and not subject.unreadable:
        record = RegistryEvents(events=subject.events)
        state.store.set(STORE_KEY, record)
        if run is not None:
            know_run(state, record, run)
    return state


async def _again(scorer: Scorer, state: TaskState) -> Score | str:
    """The score, or why there is none."""
    try:
        score = await scorer(state, state.target)
    except Exception as e:  # noqa: BLE001 - a scorer that breaks on a forged sample is itself a finding
        return f"{type(e).__name__}: {shorten(str(e), 120)}"
    return score if score is not None else "no score"


def _name(scorer: Scorer) -> str:
    return registry_unqualified_name(registry_log_name(scorer))


def _differences(name: str, logged: Score, again: Score | str) -> Iterator[Finding]:
    if isinstance(again, str):
        yield Finding(CHECK, f"{name} cannot be computed again ({' '.join(again.split())})")
        return
    before, after = _values(name, logged.value), _values(name, again.value)
    for key in sorted(before.keys() | after.keys()):
        if not _same(before.get(key), after.get(key)):
            text = f"{key} is {before.get(key)!r} in the log; computed again it is {after.get(key)!r}"
            yield Finding(CHECK, text)
    if _plain(logged.metadata) != _plain(again.metadata):
        yield Finding(CHECK, f"the details of {name} are not those that are computed again")


def _values(name: str, value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {name: value}


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, abs_tol=TOLERANCE)
    return bool(one == other)


def _plain(value: Any) -> Any:
    """A value as it comes back from JSON, numbers rounded, NaN a word."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else round(value, 9)
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


Values = Mapping[tuple[str, str], Mapping[str, Sequence[float]]]
"""(scorer, key) → sample id → value of each epoch that was scored."""


def values_of(samples: Sequence[tuple[str, Mapping[str, Any]]]) -> Values:
    """The numbers of all samples' scores.

    Args:
        samples: Id and raw scores of each sample.
    """
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for sample, raw in samples:
        for name, score in raw.items():
            value = score.get("value") if isinstance(score, dict) else None
            for key, number in _values(name, value).items():
                if isinstance(number, int | float) and math.isfinite(number):
                    found[name, key][sample].append(float(number))
    return found


def means(header: EvalLog, values: Values) -> Iterator[Finding]:
    """The means in the header, computed from the samples' scores as they stand."""
    for score in header.results.scores if header.results else []:
        stated = score.metrics.get("mean")
        by_sample = values.get((score.scorer, score.name))
        if stated is None or score.reducer not in (None, "mean"):
            continue
        units = [sum(v) / len(v) for v in by_sample.values()] if by_sample else []
        mean = sum(units) / len(units) if units else math.nan
        if not _same(float(stated.value), mean):
            text = f"mean of {score.name} is {stated.value!r} in the header; of the samples it is {mean!r}"
            yield Finding(CHECK, text)
