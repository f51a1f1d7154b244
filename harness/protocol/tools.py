"""The seven tools of the protocol, as Inspect tools over the sample's registry.

Arguments are deliberately typed without bounds: a belief of 1.2 must reach the gates, be recorded as
refused and be explained, rather than fail a JSON schema without a trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

from inspect_ai.tool import Tool, ToolError, tool

from hepbench.harness.protocol.auditor import audit
from hepbench.harness.protocol.gates import Refusal, hypothesis_of
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.state import Evidence, Hypothesis
from hepbench.harness.protocol.store import current_registry
from hepbench.harness.text import to_text

READ_TOOLS = ("list_hypotheses", "get_hypothesis")
WRITE_TOOLS = (
    "propose_hypothesis",
    "refine_hypothesis",
    "merge_hypotheses",
    "attach_evidence",
    "transition_hypothesis",
)


def registry_tools() -> list[Tool]:
    """All seven tools."""
    return [
        propose_hypothesis(),
        refine_hypothesis(),
        merge_hypotheses(),
        attach_evidence(),
        transition_hypothesis(),
        *registry_read_tools(),
    ]


def registry_read_tools() -> list[Tool]:
    """The two tools that change nothing."""
    return [list_hypotheses(), get_hypothesis()]


@contextmanager
def refusals_to_agent() -> Iterator[None]:
    """Turn a refusal into the one line that the agent sees; the sample goes on."""
    try:
        yield
    except Refusal as refusal:
        raise ToolError(str(refusal)) from refusal


@tool(parallel=False)
def propose_hypothesis() -> Tool:
    """State a new hypothesis."""

    async def execute(
        statement: str,
        prior: float,
        rationale: str,
        inspired_by: list[str] | None = None,
        scope: list[str] | None = None,
    ) -> str:
        """State a new hypothesis, de novo or inspired by hypotheses that are there already.

        Args:
            statement: One testable sentence that could turn out wrong, at most 2000 characters.
            prior: Your degree of belief P(H) before any test, from 0.01 to 0.99.
            rationale: Why you hold it worth testing, and why with this prior.
            inspired_by: Ids of hypotheses that gave you the idea, for example ["H1"]; leave out if none did.
            scope: Names of the compounds that the statement is about, if it is about some of them only.
        """
        with refusals_to_agent():
            registry = current_registry()
            return _born(
                registry, registry.propose(statement, prior, rationale, inspired_by or [], scope or [])
            )

    return execute


@tool(parallel=False)
def refine_hypothesis() -> Tool:
    """State a sharper or corrected child of one hypothesis."""

    async def execute(
        parent: str, statement: str, prior: float, rationale: str, scope: list[str] | None = None
    ) -> str:
        """State a sharper or corrected version of a hypothesis that has evidence, with its own prior.

        Args:
            parent: Id of the hypothesis that is refined, for example "H1".
            statement: The sharper statement, different from every statement there is.
            prior: Your degree of belief P(H) in the new statement, from 0.01 to 0.99.
            rationale: What you saw that asks for this revision.
            scope: Names of the compounds that the statement is about, if it is about some of them only.
        """
        with refusals_to_agent():
            registry = current_registry()
            return _born(registry, registry.refine(parent, statement, prior, rationale, scope or []))

    return execute


@tool(parallel=False)
def merge_hypotheses() -> Tool:
    """State one joint child of several hypotheses."""

    async def execute(
        parents: list[str], statement: str, prior: float, rationale: str, scope: list[str] | None = None
    ) -> str:
        """Join two or more hypotheses that have evidence into one statement; it starts with its own prior.

        Args:
            parents: Ids of the hypotheses that are joined, for example ["H1", "H3"].
            statement: The joint statement, different from every statement there is.
            prior: Your degree of belief P(H) in the joint statement, from 0.01 to 0.99.
            rationale: Why they belong together.
            scope: Names of the compounds that the statement is about, if it is about some of them only.
        """
        with refusals_to_agent():
            registry = current_registry()
            return _born(registry, registry.merge(parents, statement, prior, rationale, scope or []))

    return execute


@tool(parallel=False)
def attach_evidence() -> Tool:
    """Tie laboratory results to a hypothesis and state the new belief."""

    async def execute(
        hypothesis: str, results: list[str], stance: str, summary: str, belief: float, rationale: str
    ) -> str:
        """Tie laboratory results to a hypothesis that is under_test, and state your new belief and why.

        Args:
            hypothesis: Id of the hypothesis, for example "H1".
            results: Ids of laboratory results of this run, for example ["R3", "R4"]; each counts once for it.
            stance: "supports", "contradicts" or "inconclusive".
            summary: What the results show, in a sentence or two.
            belief: Your degree of belief P(H) now, from 0 to 1: not lower if it supports, not higher if
                it contradicts, unchanged if inconclusive.
            rationale: Why the belief moves just so far.
        """
        with refusals_to_agent():
            registry = current_registry()
            known = _known(registry, hypothesis)
            before = known.belief if known else None
            arguments: dict[str, Any] = {
                "hypothesis": hypothesis,
                "results": results,
                "stance": stance,
                "summary": summary,
                "belief": belief,
                "rationale": rationale,
            }
            word = await audit(registry, arguments)
            evidence = registry.attach(**arguments, audit=word)
            return to_text(_attached(registry, evidence, before))

    return execute


@tool(parallel=False)
def transition_hypothesis() -> Tool:
    """Move a hypothesis between states."""

    async def execute(hypothesis: str, to: str, rationale: str) -> str:
        """Move a hypothesis to another state: begin its test, take a verdict, set it aside, or reopen it.

        Args:
            hypothesis: Id of the hypothesis, for example "H1".
            to: "under_test", "supported" (P(H) ≥ 0.8), "refuted" (P(H) ≤ 0.2) or "dormant" (between).
            rationale: Why this move, now.
        """
        with refusals_to_agent():
            registry = current_registry()
            known = _known(registry, hypothesis)
            before = known.state if known else None
            moved = registry.transition(hypothesis, to, rationale)
            answer = {"hypothesis": moved.id, "from": before, "to": moved.state, "belief": moved.belief}
            return to_text({**answer, **_warnings(registry)})

    return execute


@tool(parallel=False, max_output=0)
def list_hypotheses() -> Tool:
    """All hypotheses, briefly."""

    async def execute() -> str:
        """List all hypotheses with belief, state and lineage."""
        state = current_registry().state
        return to_text({"hypotheses": [brief(h) for h in state.hypotheses.values()]})

    return execute


@tool(parallel=False, max_output=0)
def get_hypothesis() -> Tool:
    """One hypothesis with its whole event log."""

    async def execute(hypothesis: str) -> str:
        """Show one hypothesis with its evidence and its own event log.

        Args:
            hypothesis: Id of the hypothesis, for example "H1".
        """
        registry = current_registry()
        with refusals_to_agent():
            found = hypothesis_of(registry.state, hypothesis, "0, run", 'get_hypothesis(hypothesis="H1")')
        return to_text(whole(registry, found))

    return execute


def _known(registry: Registry, name: object) -> Hypothesis | None:
    """The hypothesis of that name, if it is one; the gates say what is wrong with anything else."""
    return registry.state.hypotheses.get(name) if isinstance(name, str) else None


def brief(hypothesis: Hypothesis) -> dict[str, Any]:
    """A hypothesis as one row."""
    return {
        "hypothesis": hypothesis.id,
        "statement": hypothesis.statement,
        "belief": hypothesis.belief,
        "state": hypothesis.state,
        "mechanism": hypothesis.mechanism,
        "parents": list(hypothesis.parents),
        "generation": hypothesis.generation,
        "evidence": len(hypothesis.evidence),
    }


def whole(registry: Registry, hypothesis: Hypothesis) -> dict[str, Any]:
    """A hypothesis with its evidence and its events."""
    return {
        **brief(hypothesis),
        "prior": hypothesis.prior,
        "reopened": hypothesis.reopened,
        "scope": list(hypothesis.scope),
        "evidence": [
            {
                "evidence": e.id,
                "results": list(e.results),
                "stance": e.stance,
                "trusted": e.trusted,
                "failed_checks": list(e.failed_checks),
                "summary": e.summary,
            }
            for e in hypothesis.evidence
        ],
        "events": [
            {"seq": e.seq, "time": e.time, "type": e.type, **_event_details(e.payload)}
            for e in (registry.events[seq - 1] for seq in hypothesis.event_seqs)
        ],
    }


def _event_details(payload: dict[str, Any]) -> dict[str, Any]:
    shown = ("before", "after", "rationale", "evidence", "belief", "verdict", "reason", "warning", "detail")
    return {k: payload[k] for k in shown if k in payload}


def _born(registry: Registry, hypothesis: Hypothesis) -> str:
    return to_text(
        {
            "hypothesis": hypothesis.id,
            "state": hypothesis.state,
            "belief": hypothesis.belief,
            "mechanism": hypothesis.mechanism,
            "parents": list(hypothesis.parents),
            "generation": hypothesis.generation,
            **_warnings(registry),
        }
    )


def _warnings(registry: Registry) -> dict[str, Any]:
    """What the last operation was warned of: its warnings are the last events of the record."""
    warned = takewhile(lambda e: e.type == "RuleWarned", reversed(registry.events))
    details = [str(e.payload["detail"]) for e in warned]
    return {"warnings": details[::-1]} if details else {}


def _attached(registry: Registry, evidence: Evidence, before: float | None) -> dict[str, Any]:
    tested = registry.state.hypotheses[evidence.hypothesis]
    answer: dict[str, Any] = {
        "hypothesis": tested.id,
        "evidence": evidence.id,
        "stance": evidence.stance,
        "trusted": evidence.trusted,
        "failed_checks": list(evidence.failed_checks),
        "belief_before": before,
        "belief": tested.belief,
        "state": tested.state,
    }
    if evidence.audit is not None:
        answer["audit"] = evidence.audit
    if not evidence.trusted:
        answer["note"] = "Recorded, but the belief does not move: this evidence is not trusted."
    return {**answer, **_warnings(registry)}
