"""The hypotheses of a study, and the operations of the registry on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hepbench.harness.scientist.bench import Bench
from hepbench.harness.scientist.claims import Claim, belief, belief_words
from hepbench.harness.scientist.conversation import Answer, Call
from hepbench.harness.scientist.rules import NEAR_MEV, Case
from hepbench.harness.scientist.script import Script, Turn

SUPPORT, REFUTE = 0.8, 0.2
"""Beliefs from which a verdict may be taken."""
AT_ONCE = 40
"""Results named in one piece of evidence; the registry takes up to 50."""
OPEN = ("proposed", "under_test")


@dataclass
class Idea:
    """A hypothesis as the policy keeps it.

    Attributes:
        id: The registry's id.
        claim: What it says, so that a measurement can be held against it.
        prior: Belief at the start.
        since: Number of compounds measured before it was stated: only later ones test it.
        belief: As the registry last answered.
        state: As the registry last answered.
        fits: Trusted results that fit.
        tested: Trusted results held against it.
        used: Results attached already.
        revised: A sharper child has been stated.
    """

    id: str
    claim: Claim
    prior: float
    since: int
    belief: float
    state: str = "proposed"
    fits: int = 0
    tested: int = 0
    used: set[str] = field(default_factory=set)
    revised: bool = False

    @property
    def is_open(self) -> bool:
        """No verdict yet."""
        return self.state in OPEN

    @property
    def verdict(self) -> str:
        """The terminal state that belief and evidence carry now."""
        if self.belief >= SUPPORT and self.fits:
            return "supported"
        return "refuted" if self.belief <= REFUTE and self.fits < self.tested else "dormant"


@dataclass(frozen=True)
class Lineage:
    """Where a hypothesis comes from.

    Attributes:
        how: "propose" (inspired by the parents, if any), "refine" or "merge".
        parents: The ideas that it goes back to.
        since: Number of compounds measured before those that test it; None for all measured so far.
    """

    how: str = "propose"
    parents: tuple[Idea, ...] = ()
    since: int | None = None


@dataclass
class Notebook:
    """All ideas that the registry took, in order; `noted` are results known to be untrusted."""

    ideas: list[Idea] = field(default_factory=list)
    noted: set[str] = field(default_factory=set)

    @property
    def open(self) -> list[Idea]:
        """Those without a verdict."""
        return [i for i in self.ideas if i.is_open]

    def born(self, answer: Answer, claim: Claim, prior: float, since: int) -> Idea | None:
        """Keep an idea that the registry took; None when it was refused."""
        name = answer.data.get("hypothesis")
        if not isinstance(name, str):
            return None
        idea = Idea(name, claim, prior, since, float(answer.data.get("belief", prior)))
        self.ideas.append(idea)
        return idea


@dataclass(frozen=True)
class Draft:
    """A hypothesis about to be stated: its claim, its words, its prior with the reason, its lineage."""

    claim: Claim
    statement: str
    prior: float
    why: str
    lineage: Lineage = Lineage()

    def call(self) -> Call:
        """The operation of the registry that states it."""
        names = [p.id for p in self.lineage.parents]
        said = {"statement": self.statement, "prior": self.prior, "rationale": self.why}
        match self.lineage.how:
            case "refine":
                return Call("refine_hypothesis", {"parent": names[0], **said})
            case "merge":
                return Call("merge_hypotheses", {"parents": names, **said})
            case _ if names:
                return Call("propose_hypothesis", {"inspired_by": names, **said})
            case _:
                return Call("propose_hypothesis", said)


def state(book: Notebook, bench: Bench, drafts: Sequence[Draft]) -> Script[list[Idea | None]]:
    """State hypotheses, in one turn; None for each that the registry refused."""
    if not drafts:
        return []
    answers = yield Turn(" ".join(d.why for d in drafts), tuple(d.call() for d in drafts))
    now = len(bench.cases)
    return [
        book.born(answer, d.claim, d.prior, now if d.lineage.since is None else d.lineage.since)
        for d, answer in zip(drafts, answers, strict=True)
    ]


def settle(ideas: Sequence[Idea], why: str = "", begun: Sequence[Idea] = ()) -> Script[None]:
    """Take the verdicts that belief and evidence carry, and put others under test, in one turn.

    Args:
        ideas: Those to judge; what is refused is set aside or left.
        why: A word more to the reason.
        begun: Those to move under test, where they are not yet.
    """
    waiting = [i for i in ideas if i.is_open]
    verdicts = [(i, "dormant" if i.state == "proposed" else i.verdict, _reason(i, why)) for i in waiting]
    tests = [(i, "under_test", "The next measurements test it.") for i in begun if i.state == "proposed"]
    if not (verdicts or tests):
        return
    yield from _move([*verdicts, *tests], "; ".join(f"{i.id} {to}" for i, to, _ in [*verdicts, *tests]) + ".")
    for idea in waiting:
        for to in ("dormant", "refuted", "supported"):
            if idea.is_open and to != idea.verdict:
                yield from _move([(idea, to, _reason(idea, why))], f"{idea.id} as {to}, then.")


def begin(ideas: Sequence[Idea]) -> Script[None]:
    """Move proposed ideas under test, in one turn."""
    return settle((), begun=ideas)


def _reason(idea: Idea, why: str) -> str:
    counted = f"P({idea.id}) = {idea.belief:g}; {idea.fits} of {idea.tested} tested compounds fit."
    return f"{counted} {why}".strip()


def _move(moves: Sequence[tuple[Idea, str, str]], say: str) -> Script[None]:
    calls = tuple(
        Call("transition_hypothesis", {"hypothesis": i.id, "to": to, "rationale": why})
        for i, to, why in moves
    )
    answers = yield Turn(say, calls)
    for (idea, _, _), answer in zip(moves, answers, strict=True):
        idea.state = str(answer.data.get("to", idea.state))


def weigh(book: Notebook, bench: Bench, ideas: Sequence[Idea]) -> Script[None]:
    """Hold what was measured since against each idea under test, in one turn."""
    asked: list[tuple[Idea, Call]] = []
    for idea in ideas:
        if idea.state == "under_test":
            fits, misses, doubtful = _fresh(idea, book, bench)
            book.noted |= {c.result for c in doubtful}
            calls = [*_doubt(idea, doubtful), *_evidence(idea, fits, misses)]  # doubt leaves the belief
            asked += [(idea, call) for call in calls]
    if asked:
        names = ", ".join(dict.fromkeys(i.id for i, _ in asked))
        answers = yield Turn(f"What the measurements say about {names}.", tuple(call for _, call in asked))
        for (idea, call), answer in zip(asked, answers, strict=True):
            _learn(idea, call, answer)


def _fresh(idea: Idea, book: Notebook, bench: Bench) -> tuple[list[Case], list[Case], list[Case]]:
    """Cases not yet held against an idea: those that fit, those that do not, and the untrusted."""
    fits: list[Case] = []
    misses: list[Case] = []
    doubtful: list[Case] = []
    cases = list(bench.cases.values())
    for i, case in enumerate(cases):
        if i < idea.since or case.result in idea.used:
            continue
        outcome = idea.claim.outcome(case, [c for c in cases[:i] if c.trusted])
        if outcome is not None and not case.trusted and case.result not in book.noted:
            doubtful.append(case)
        elif outcome is not None and case.trusted:
            (fits if outcome else misses).append(case)
    return fits, misses, doubtful


def _evidence(idea: Idea, fits: Sequence[Case], misses: Sequence[Case]) -> list[Call]:
    calls: list[Call] = []
    counted, right = idea.tested, idea.fits
    for stance, cases in (("supports", fits), ("contradicts", misses)):
        for first in range(0, len(cases), AT_ONCE):
            some = cases[first : first + AT_ONCE]
            counted += len(some)
            right += len(some) if stance == "supports" else 0
            calls.append(_attach(idea, some, stance, right, counted))
    return calls


def _attach(idea: Idea, cases: Sequence[Case], stance: str, fits: int, tested: int) -> Call:
    lowest = ", ".join(f"{c.compound} {c.label}" for c in cases)
    how = "as" if stance == "supports" else "not as"
    return Call(
        "attach_evidence",
        {
            "hypothesis": idea.id,
            "results": [c.result for c in cases],
            "stance": stance,
            "summary": f"Lowest phases: {lowest}; {how} {idea.id} says, to within {NEAR_MEV:g} meV/atom.",
            "belief": belief(idea.claim, idea.prior, fits, tested),
            "rationale": belief_words(idea.claim, idea.prior, fits, tested),
        },
    )


def _doubt(idea: Idea, cases: Sequence[Case]) -> list[Call]:
    """Untrusted results go on record for one idea, and move nothing."""
    return [
        Call(
            "attach_evidence",
            {
                "hypothesis": idea.id,
                "results": [c.result],
                "stance": "inconclusive",
                "summary": f"{c.compound}: {c.label} is lowest, but the result's own checks failed.",
                "belief": idea.belief,
                "rationale": "A result that fails its checks says nothing; I leave it out.",
            },
        )
        for c in cases
    ]


def _learn(idea: Idea, call: Call, answer: Answer) -> None:
    results, stance = call.arguments["results"], call.arguments["stance"]
    idea.used |= set(results)
    if stance != "inconclusive" and answer.ok and answer.data.get("trusted", True):
        idea.tested += len(results)
        idea.fits += len(results) if stance == "supports" else 0
    idea.belief = float(answer.data.get("belief", idea.belief))
