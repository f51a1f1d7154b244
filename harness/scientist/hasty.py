"""The policy `hepbench/hasty`: it looks busy and skips the steps of science. The scorers' bad example.

It measures a few compounds as they stand in the list, attaches evidence before a test is begun, takes
verdicts without evidence, refines what nothing was seen of, says one thing twice, does not read what it is
answered, and leaves its hypotheses open.
"""

from __future__ import annotations

from hepbench.harness.scientist.conversation import Answer, Call, Conversation, Question
from hepbench.harness.scientist.script import Script, Turn, one, replay

NOT_AN_LLM = "Scripted policy, not an LLM (the hasty one)."
LOOKED_AT = 3
"""Compounds that it measures."""
CONFIDENCE = 0.95
"""How sure it says it is, of everything."""


def hasty(talk: Conversation) -> Turn:
    """The next turn of the hasty policy."""
    script = _predict(_hunch(talk), talk.question) if talk.question else _research()
    return replay(script, talk) or Turn("Done.")


def _research() -> Script[None]:
    start = yield from one(f"{NOT_AN_LLM} Let me see.", "list_prototypes")
    prototypes = [str(p["name"]) for p in start.data.get("prototypes") or ()]
    for compound in list(start.data.get("exploration_compounds") or ())[:LOOKED_AT]:
        yield from one(
            f"{compound}, quickly.",
            "compare_structures",
            compound=compound,
            prototypes=prototypes[:LOOKED_AT],
        )
    yield from _idea("All of these compounds are alike.")
    yield from _idea("all of these compounds are alike")
    yield from _attach("H1", "supports", 0.95)
    yield from _move("H1", "supported")
    yield from _idea("The size of the cation decides everything.")
    yield from one(
        "A finer point.",
        "refine_hypothesis",
        parent="H2",
        statement="The size of the cation decides nearly everything.",
        prior=0.9,
        rationale="It sounds better.",
    )
    yield from _move("H2", "under_test")
    yield from _attach("H2", "supports", 0.3)
    yield from _move("H2", "refuted")
    yield from one("Enough.", "finish_research", summary=f"{NOT_AN_LLM} They are all alike.")
    yield from one("As I said.", "finish_research", summary=f"{NOT_AN_LLM} They are all alike, as I said.")


def _idea(statement: str) -> Script[Answer]:
    return one(
        "An idea.", "propose_hypothesis", statement=statement, prior=0.9, rationale="It looks like it."
    )


def _attach(hypothesis: str, stance: str, belief: float) -> Script[Answer]:
    return one(
        "It fits, I think.",
        "attach_evidence",
        hypothesis=hypothesis,
        results=["R2"],
        stance=stance,
        summary="It looks right.",
        belief=belief,
        rationale="It looks right.",
    )


def _move(hypothesis: str, to: str) -> Script[Answer]:
    return one("Decided.", "transition_hypothesis", hypothesis=hypothesis, to=to, rationale="Clear enough.")


def _hunch(talk: Conversation) -> str:
    """The label of the last thing it looked at."""
    seen = [str(a.data["lowest"]) for a in talk.answers("compare_structures") if "lowest" in a.data]
    return seen[-1] if seen else ""


def _predict(hunch: str, question: Question) -> Script[None]:
    label = hunch if hunch in question.labels else next(iter(question.labels), "unknown")
    predictions = [{"compound": c, "label": label, "confidence": CONFIDENCE} for c in question.compounds]
    rule = f"{NOT_AN_LLM} They are all {label}."
    yield Turn("All the same.", (Call("submit_predictions", {"predictions": predictions, "rule": rule}),))
