"""How often an agent broke the protocol's rules."""

from __future__ import annotations

from collections import Counter

from inspect_ai.scorer import Score, Scorer, mean, scorer

from hepbench.harness.protocol.state import RunState
from hepbench.harness.protocol.tools import WRITE_TOOLS
from hepbench.scorers.run import of_registry, unscored


@scorer(metrics=[mean()])
def refusal_rate() -> Scorer:
    """Refused protocol operations over all protocol operations.

    The operations are the five that write: propose, refine, merge, attach, transition. Refused laboratory
    calls and predictions stand in the record too and are not counted here. Unscored without a registry,
    and for a run that tried no operation.
    """

    def judge(run: RunState) -> Score:
        gates = Counter(r.gate for r in run.refusals if r.operation in WRITE_TOOLS)
        tried = gates.total() + run.accepted
        if not tried:
            return unscored("no_operation", "no protocol operation was tried")
        shown = "; ".join(f"gate {gate}: {count}" for gate, count in sorted(gates.items()))
        return Score(
            value=gates.total() / tried,
            explanation=f"{gates.total()} of {tried} operations refused ({shown or 'no gate broken'}).",
        )

    return of_registry(judge)
