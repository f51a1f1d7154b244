"""How much an agent proposed, and how its hypotheses descend from each other.

These can be inflated without doing science: diagnostics, on which no ranking rests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from inspect_ai.scorer import Score, Scorer, scorer

from hepbench.harness.protocol.events import MECHANISMS, Mechanism
from hepbench.harness.protocol.state import Hypothesis, RunState
from hepbench.scorers.run import mean_of_runs, of_hypotheses, of_registry

STRICT_LINKS: frozenset[Mechanism] = frozenset({"refine", "merge"})
"""The links by which something is inherited; `inspired_by` records provenance only."""

ALL_LINKS: frozenset[Mechanism] = STRICT_LINKS | {"inspired_by"}


@scorer(metrics=mean_of_runs("hypothesis_count", "tested_count"))
def hypothesis_count() -> Scorer:
    """Hypotheses in the registry, and those of them with trusted evidence.

    A run that states none scores 0 on both; a run without a registry is unscored.
    """

    def judge(run: RunState) -> Score:
        stated = len(run.hypotheses)
        tested = sum(bool(h.trusted()) for h in run.hypotheses.values())
        return Score(
            value={"hypothesis_count": stated, "tested_count": tested},
            explanation=f"Stated: {stated}; with trusted evidence: {tested}.",
        )

    return of_registry(judge)


@scorer(metrics=mean_of_runs("generation_depth", "strict_generation_depth"))
def generation_depth() -> Scorer:
    """The highest generation reached; strictly, without `inspired_by` links.

    Both come from the recorded parents, so they mean the same whatever `ProtocolRules.strict_generation`
    a run had. Unscored without a registry or without a hypothesis.
    """

    def judge(run: RunState) -> Score:
        every = generations(run.hypotheses.values(), ALL_LINKS)
        depth = max(every.values())
        strict = max(generations(run.hypotheses.values(), STRICT_LINKS).values())
        deepest = next(name for name, generation in every.items() if generation == depth)
        return Score(
            value={"generation_depth": depth, "strict_generation_depth": strict},
            explanation=f"{deepest} is of generation {depth}; without inspired_by links: {strict}.",
            metadata={"generations": every},
        )

    return of_hypotheses(judge)


def generations(hypotheses: Iterable[Hypothesis], links: Collection[Mechanism]) -> dict[str, int]:
    """Generation of each hypothesis over these kinds of link: 0 without one, else 1 + its parents' highest.

    Parents come before their children, as in a registry.
    """
    found: dict[str, int] = {}
    for h in hypotheses:
        parents = h.parents if h.mechanism in links else ()
        found[h.id] = max((1 + found[p] for p in parents), default=0)
    return found


@scorer(metrics=mean_of_runs(*(f"mix_{m}" for m in MECHANISMS)))
def mechanism_mix() -> Scorer:
    """Share of the hypotheses made by each mechanism; the four sum to 1.

    Unscored without a registry or without a hypothesis. Over epochs it is the mean of the runs' shares.
    """

    def judge(run: RunState) -> Score:
        counts = Counter(h.mechanism for h in run.hypotheses.values())
        return Score(
            value={f"mix_{m}": counts[m] / len(run.hypotheses) for m in MECHANISMS},
            explanation=", ".join(f"{counts[m]} {m}" for m in MECHANISMS) + ".",
        )

    return of_hypotheses(judge)
