"""What every scorer reads of a run: its registry, folded from the events in the sample's store.

The store is part of the log, so a log that is scored again gives the same values. A metric that a run
gives no ground for (no registry, no hypothesis, nothing supported) is left unscored, never zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from inspect_ai.scorer import Metric, Score, Scorer, Target, mean
from inspect_ai.solver import TaskState

from hepbench.harness.protocol.state import Hypothesis, RunState, fold
from hepbench.harness.protocol.store import RegistryEvents, RegistryStore

HARNESSES_WITH_REGISTRY = frozenset({"hep"})
"""Values of `RunStarted.about["harness"]` whose agents work by the protocol."""

Judge = Callable[[RunState], Score]


_KEY = f"{RegistryStore.__name__}:run"
_folded: WeakKeyDictionary[TaskState, tuple[RegistryEvents, RunState]] = WeakKeyDictionary()


def run_of(state: TaskState) -> RunState:
    """The run as its events make it; an empty one if the sample failed before it began.

    All scorers of a sample read the same one, which is folded once, and anew only after another event.
    """
    record, run = _folded.get(state, (None, RunState()))
    if record is None or state.store.get(_KEY) is not record:
        record, run = state.store_as(RegistryStore).run, RunState()
    if run.length != len(record.events):
        run = fold(record.events)
    _folded[state] = record, run
    return run


def know_run(state: TaskState, record: RegistryEvents, run: RunState) -> None:
    """Tell the scorers of a sample its run, by who has folded this record of its store already."""
    _folded[state] = record, run


def of_registry(judge: Judge) -> Scorer:
    """A scorer that judges a run's registry; a run whose harness keeps none is unscored."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (the truth is no text)
        run = run_of(state)
        harness = run.about.get("harness")
        if harness in HARNESSES_WITH_REGISTRY:
            return judge(run)
        why = f"the harness {harness} keeps no registry" if run.started else "the run never began"
        return unscored("no_registry", why)

    return score


def of_hypotheses(judge: Judge) -> Scorer:
    """A scorer of a share or a maximum over hypotheses; a run that states none is unscored."""
    return of_registry(
        lambda run: judge(run) if run.hypotheses else unscored("no_hypothesis", "no hypothesis was stated")
    )


def unscored(reason: str, why: str) -> Score:
    """A score that no mean counts, saying why."""
    return Score.unscored(reason=reason, explanation=f"Not scored: {why}.")


def mean_of_runs(*keys: str) -> Mapping[str, Sequence[Metric]]:
    """The metrics of a score with these keys: the mean over epochs of each run's value.

    There is deliberately no `stderr()`: over the one sample of a task Inspect answers 0. `hepbench scores`
    takes the standard error from the runs themselves.
    """
    return {key: [mean()] for key in keys}


def names(hypotheses: Iterable[Hypothesis]) -> str:
    """Ids in a row, for an explanation."""
    return ", ".join(h.id for h in hypotheses) or "none"
