"""Whether hypotheses come to a judgement, and whether beliefs were moved to get there."""

from __future__ import annotations

from inspect_ai.scorer import Score, Scorer, mean, scorer

from hepbench.harness.protocol.state import Hypothesis, RunState
from hepbench.scorers.run import mean_of_runs, names, of_hypotheses, of_registry, unscored

EVEN = 0.5
"""A first belief below it leans to refuted, from it on to supported."""


@scorer(metrics=mean_of_runs("resolution_rate", "verdict_rate"))
def resolution_rate() -> Scorer:
    """Share of hypotheses that end supported, refuted or dormant; `verdict_rate`: supported or refuted.

    Unscored without a registry or without a hypothesis.
    """

    def judge(run: RunState) -> Score:
        every = list(run.hypotheses.values())
        unresolved = [h for h in every if h.is_open]
        decided = sum(h.state in ("supported", "refuted") for h in every)
        return Score(
            value={
                "resolution_rate": (len(every) - len(unresolved)) / len(every),
                "verdict_rate": decided / len(every),
            },
            explanation=f"{decided} of {len(every)} decided; left open: {names(unresolved)}.",
        )

    return of_hypotheses(judge)


@scorer(metrics=[mean()])
def belief_flips() -> Scorer:
    """Hypotheses whose first belief and final verdict lie on opposite sides.

    First belief below 0.5 and supported in the end, or from 0.5 on and refuted. A run without a
    hypothesis has none; a run without a registry is unscored.
    """

    def judge(run: RunState) -> Score:
        flipped = [h for h in run.hypotheses.values() if flips(h)]
        shown = "; ".join(f"{h.id} {h.prior:.2f} → {h.belief:.2f}, {h.state}" for h in flipped)
        return Score(value=len(flipped), explanation=f"Flipped: {shown or 'none'}.")

    return of_registry(judge)


def flips(hypothesis: Hypothesis) -> bool:
    """Whether the final verdict lies on the other side of the first belief."""
    if hypothesis.state == "supported":
        return hypothesis.prior < EVEN
    return hypothesis.state == "refuted" and hypothesis.prior >= EVEN


@scorer(metrics=[mean()])
def final_rule_belief() -> Scorer:
    """The highest belief P(H) among the hypotheses that end supported; unscored if none does."""

    def judge(run: RunState) -> Score:
        supported = [h for h in run.hypotheses.values() if h.state == "supported"]
        if not supported:
            return unscored("none_supported", "no hypothesis ends supported")
        best = max(supported, key=lambda h: h.belief)
        return Score(value=best.belief, answer=best.statement, explanation=f"{best.id}: {best.statement}")

    return of_registry(judge)
