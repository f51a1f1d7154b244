"""The gates: each raises `Refusal` with the rule that was broken and a call that would be valid."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TypeGuard

from hepbench.harness.protocol import events as ev
from hepbench.harness.protocol.state import Hypothesis, RunState, statement_key
from hepbench.harness.text import bounded, clean, shorten

MOVES: dict[ev.State, tuple[ev.State, ...]] = {
    "proposed": ("under_test", "dormant"),
    "under_test": ("supported", "refuted", "dormant"),
    "dormant": ("under_test",),
    "supported": ("under_test",),
    "refuted": ("under_test",),
}
STANCES: tuple[ev.Stance, ...] = ("supports", "contradicts", "inconclusive")

_MAX_LISTED = 50
_MAX_NAME = 100


class Refusal(ValueError):
    """A call broke a gate and changed nothing.

    Attributes:
        gate: Which one, for example "3, evidence".
        reason: One line: what is wrong.
        example: What a valid call would look like.
    """

    def __init__(self, gate: str, reason: str, example: str) -> None:
        self.gate = gate
        self.reason = reason
        self.example = example
        super().__init__(f"Refused (gate {gate}): {reason} A valid call: {example}")


def shown(value: object) -> str:
    """An argument as a refusal repeats it: bounded, whatever it is."""
    return repr(shorten(str(bounded(value)), 40))


def require_running(state: RunState) -> None:
    """The run has started and has not ended."""
    if not state.started:
        raise Refusal("0, run", "The run has not started.", "the run starts with RunStarted")
    if state.ended is not None:
        raise Refusal("0, run", "The run has ended; nothing more is accepted.", "none, the record is closed")


def text_of(value: object, what: str, limit: int, gate: str, example: str) -> str:
    """A text argument, cleaned: not empty, not over its limit."""
    if not isinstance(value, str):
        raise Refusal(gate, f"The {what} must be text.", example)
    if len(value) > limit:
        raise Refusal(gate, f"The {what} has {len(value)} characters; at most {limit} are taken.", example)
    text = clean(value)
    if not text:
        raise Refusal(gate, f"The {what} is empty.", example)
    return text


def statement_of(state: RunState, value: object, example: str) -> str:
    """Gate 1: a statement that is not there yet."""
    text = text_of(value, "statement", state.rules.max_statement, "1, statement", example)
    key = statement_key(text)
    if not any(c.isalnum() for c in key):
        raise Refusal("1, statement", "The statement says nothing.", example)
    twin = state.statements.get(key)
    if twin is not None:
        raise Refusal("1, statement", f"The same statement is there already as {twin}.", example)
    return text


def scope_of(value: object, example: str) -> tuple[str, ...]:
    """Gate 1: what the statement is about, by name; nothing stands for all that the task is about."""
    gate = "1, statement"
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > _MAX_LISTED:
        raise Refusal(gate, f"The scope must be a list of at most {_MAX_LISTED} names.", example)
    named = (text_of(name, "name in the scope", _MAX_NAME, gate, example) for name in value)
    return tuple(dict.fromkeys(named))


def is_number(value: object) -> TypeGuard[float]:
    """A finite number that is not a bool, and fits a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def prior_of(state: RunState, value: object, example: str) -> float:
    """Gate 1: a prior within the rules' bounds."""
    low, high = state.rules.min_prior, state.rules.max_prior
    if not is_number(value) or not low <= float(value) <= high:
        raise Refusal("1, statement", f"The prior must be a number in [{low}, {high}].", example)
    return float(value)


def hypothesis_of(state: RunState, value: object, gate: str, example: str) -> Hypothesis:
    """The hypothesis that an argument names."""
    found = state.hypotheses.get(value) if isinstance(value, str) else None
    if found is None:
        known = ", ".join(list(state.hypotheses)[-_MAX_LISTED:]) or "none yet"
        raise Refusal(gate, f"There is no hypothesis {shown(value)} here (there are: {known}).", example)
    return found


def parents_of(
    state: RunState, value: object, *, least: int, tested: bool, example: str
) -> tuple[Hypothesis, ...]:
    """Gate 2: distinct parents that exist, each with evidence where a revision answers to it."""
    gate = "2, lineage"
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > _MAX_LISTED:
        raise Refusal(gate, "The parents must be a list of hypothesis ids.", example)
    parents = tuple(hypothesis_of(state, name, gate, example) for name in value)
    if len({p.id for p in parents}) < len(parents):
        raise Refusal(gate, "A parent is named twice.", example)
    if len(parents) < least:
        raise Refusal(gate, f"It needs {least} or more distinct parents, not {len(parents)}.", example)
    bare = next((p.id for p in parents if tested and not p.evidence), None)
    if bare is not None:
        raise Refusal(gate, f"{bare} has no evidence yet; a revision answers to something seen.", example)
    return parents


def results_of(state: RunState, hypothesis: Hypothesis, value: object, example: str) -> tuple[str, ...]:
    """Gate 3: results of this run, none used before for this hypothesis."""
    gate = "3, evidence"
    if not isinstance(value, Sequence) or isinstance(value, str) or not 1 <= len(value) <= _MAX_LISTED:
        raise Refusal(gate, f"The results must be a list of 1 to {_MAX_LISTED} result ids.", example)
    unknown = next((r for r in value if not isinstance(r, str) or r not in state.results), None)
    if unknown is not None:
        raise Refusal(gate, f"There is no result {shown(unknown)} in this run.", example)
    if len(set(value)) < len(value):
        raise Refusal(gate, "A result is named twice.", example)
    used = {r for evidence in hypothesis.evidence for r in evidence.results}
    again = next((r for r in value if r in used), None)
    if again is not None:
        raise Refusal(gate, f"{again} is evidence for {hypothesis.id} already; it counts once.", example)
    return tuple(value)


def stance_of(value: object, example: str) -> ev.Stance:
    """Gate 3: one of the three stances."""
    for stance in STANCES:
        if value == stance:
            return stance
    raise Refusal("3, evidence", f"The stance must be one of: {', '.join(STANCES)}.", example)


def belief_of(hypothesis: Hypothesis, stance: ev.Stance, value: object, example: str) -> float:
    """Gate 5: a belief in [0, 1] that moves the way the stance says."""
    gate = "5, direction"
    if not is_number(value) or not 0.0 <= float(value) <= 1.0:
        raise Refusal(gate, "The belief must be a number in [0, 1].", example)
    after, before = float(value), hypothesis.belief
    if stance == "supports" and after < before:
        raise Refusal(gate, f"Evidence that supports may not lower P({hypothesis.id}) = {before:g}.", example)
    if stance == "contradicts" and after > before:
        raise Refusal(
            gate, f"Evidence that contradicts may not raise P({hypothesis.id}) = {before:g}.", example
        )
    if stance == "inconclusive" and after != before:
        raise Refusal(gate, f"Inconclusive evidence leaves P({hypothesis.id}) = {before:g}.", example)
    return after


def move_of(hypothesis: Hypothesis, value: object, example: str) -> ev.State:
    """Gate 7: a move that the lifecycle has."""
    allowed = MOVES[hypothesis.state]
    for target in allowed:
        if value == target:
            return target
    raise Refusal(
        "7, moves",
        f"{hypothesis.id} is {hypothesis.state}; from there it may go to {' or '.join(allowed)}, "
        f"not to {shown(value)}.",
        example,
    )


def require_verdict(state: RunState, hypothesis: Hypothesis, target: ev.State, example: str) -> None:
    """Gate 6: a terminal state that belief and trusted evidence carry."""
    gate, belief = "6, verdict", hypothesis.belief
    high, low = state.rules.support_threshold, state.rules.refute_threshold
    if target == "supported" and (belief < high or not hypothesis.trusted("supports")):
        need = f"`supported` needs P(H) ≥ {high:g} and trusted evidence that supports"
    elif target == "refuted" and (belief > low or not hypothesis.trusted("contradicts")):
        need = f"`refuted` needs P(H) ≤ {low:g} and trusted evidence that contradicts"
    elif target == "dormant" and not low < belief < high:
        need = f"`dormant` needs {low:g} < P(H) < {high:g}"
    else:
        return
    raise Refusal(
        gate,
        f"{need}; {hypothesis.id} has P(H) = {belief:g}, {len(hypothesis.trusted('supports'))} trusted "
        f"supporting and {len(hypothesis.trusted('contradicts'))} trusted contradicting.",
        example,
    )
