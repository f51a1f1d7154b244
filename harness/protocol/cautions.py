"""The rules that bite: what no single gate forbids, and yet makes a record look better than the science.

Each can be off, warn (the operation is accepted, and `RuleWarned` stands in the record for good) or refuse.
The defaults refuse what has no honest use and warn where an honest agent may have its reasons;
docs/protocol.md gives the reason for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from hepbench.harness.protocol import events as ev
from hepbench.harness.protocol.gates import Refusal
from hepbench.harness.protocol.rules import Action
from hepbench.harness.protocol.state import Hypothesis, RunState
from hepbench.harness.protocol.wording import numbers, similarity, words
from hepbench.harness.text import shorten

_LOOK_BACK = 200
"""Statements that a new one is compared with, latest first: the cost of stating stays flat in long runs."""


def of_statement(state: RunState, hypothesis: str, statement: str, example: str) -> list[ev.RuleWarned]:
    """A claim that stands in the registry already, in other words."""
    said = words(statement)
    twin = state.wordings.get(said) if said else None
    if twin is not None:
        detail = f"It says what {twin} says, in other words: {_quoted(state, twin)}."
        return _bite(state, "near_duplicate", hypothesis, detail, "1, statement", example)
    alike = _most_alike(state, frozenset(said))
    if alike is None:
        return []
    detail = f"It shares most of its words with {alike}: {_quoted(state, alike)}."
    return _bite(state, "similar_statement", hypothesis, detail, "1, statement", example)


def of_evidence(
    state: RunState, tested: Hypothesis, results: Iterable[str], example: str
) -> list[ev.RuleWarned]:
    """Measurements that were counted before, or that are about something else."""
    named = [state.results[r] for r in results]
    return [
        *_repeated(state, tested, frozenset().union(*(r.measured for r in named)), example),
        *_outside(state, tested, frozenset().union(*(r.subjects for r in named)), example),
    ]


def of_verdict(state: RunState, judged: Hypothesis, target: ev.State, example: str) -> list[ev.RuleWarned]:
    """A verdict that little stands behind."""
    if target == "dormant" and not judged.evidence:
        detail = f"{judged.id} is set aside without any evidence."
        return _bite(state, "abandoned", judged.id, detail, "6, verdict", example)
    if target != "supported":
        return []  # one exception refutes a general statement, and old data may do it
    carried = [state.results[r] for e in judged.trusted("supports") for r in e.results]
    subjects = frozenset().union(*(r.subjects or {r.id} for r in carried))
    warned: list[ev.RuleWarned] = []
    if len(subjects) < state.rules.min_verdict_subjects:
        least = state.rules.min_verdict_subjects
        detail = (
            f"{judged.id} rests on trusted results about {_listed(subjects)} alone; {least} are asked for."
        )
        warned += _bite(state, "thin_verdict", judged.id, detail, "6, verdict", example)
    if all(r.seq < judged.event_seqs[0] for r in carried):
        detail = f"All results that support {judged.id} were known when it was stated: fitted, not tested."
        warned += _bite(state, "postdicted_verdict", judged.id, detail, "6, verdict", example)
    return warned


def _repeated(
    state: RunState, tested: Hypothesis, measured: frozenset[tuple[str, str]], example: str
) -> list[ev.RuleWarned]:
    used = (state.results[r].measured for e in tested.evidence for r in e.results)
    if not measured or not measured <= frozenset().union(*used):
        return []
    detail = (
        f"Each measurement in it ({_listed(s for s, _ in measured)}) is evidence for {tested.id} already, "
        "under another result id; it counts once."
    )
    return _bite(state, "repeated_data", tested.id, detail, "3, evidence", example)


def _outside(
    state: RunState, tested: Hypothesis, subjects: frozenset[str], example: str
) -> list[ev.RuleWarned]:
    scope = {s.casefold() for s in tested.scope}
    foreign = {s for s in subjects if s.casefold() not in scope}
    if not scope or not foreign:
        return []
    detail = f"{_listed(foreign)} is outside the stated scope of {tested.id} ({_listed(tested.scope)})."
    if foreign != subjects and state.rules.outside_scope == "refuse":
        return _act("warn", "outside_scope", tested.id, detail, "3, evidence", example)
    return _bite(state, "outside_scope", tested.id, detail, "3, evidence", example)


def _most_alike(state: RunState, said: frozenset[str]) -> str | None:
    """The statement that shares the most words, if enough, and speaks of the same numbers."""
    least = state.rules.similarity
    best: tuple[float, str] | None = None
    for h in islice(reversed(state.hypotheses.values()), _LOOK_BACK):
        if not least * len(said) <= len(h.words) <= len(said) / least:
            continue  # sets of such different sizes cannot be that much alike
        alike = similarity(h.words, said)
        if alike >= least and (best is None or alike > best[0]) and numbers(h.words) == numbers(said):
            best = (alike, h.id)
    return best[1] if best else None


def _bite(
    state: RunState, caution: ev.Caution, hypothesis: str, detail: str, gate: str, example: str
) -> list[ev.RuleWarned]:
    action: Action = getattr(state.rules, caution)
    return _act(action, caution, hypothesis, detail, gate, example)


def _act(
    action: Action, caution: ev.Caution, hypothesis: str, detail: str, gate: str, example: str
) -> list[ev.RuleWarned]:
    if action == "refuse":
        raise Refusal(gate, detail, example)
    return [ev.RuleWarned(warning=caution, hypothesis=hypothesis, detail=detail)] if action == "warn" else []


def _quoted(state: RunState, hypothesis: str) -> str:
    return repr(shorten(state.hypotheses[hypothesis].statement, 120))


def _listed(names: Iterable[str]) -> str:
    listed = sorted(set(names))
    more = f" and {len(listed) - 6} more" if len(listed) > 6 else ""  # noqa: PLR2004 - one readable line
    return ", ".join(shorten(n, 60) for n in listed[:6]) + more
