"""Gate 8: an independent reviewer, another model, that looks at evidence before the belief moves.

It is on where a model is given for the role (`--model-role auditor=provider/model`), and off otherwise. Its
generations count against no limit of the agent but the cost limit; Inspect keeps their tokens and cost under
`role_usage["auditor"]`. An auditor that fails, takes too long or answers nonsense never blocks the run: the
evidence is then `unaudited`, the reason stands in the record, and the other gates decide alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import anyio
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    get_model,
    model_roles,
)
from inspect_ai.util import (
    span,
    suspend_token_limit,
    suspend_turn_limit,
    suspend_working_limit,
)

from hepbench.harness.messages import make_harmless
from hepbench.harness.protocol import events as ev
from hepbench.harness.protocol.commands import Audit, attach
from hepbench.harness.protocol.gates import Refusal
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.state import Evidence, Hypothesis
from hepbench.harness.text import clean, shorten

ROLE = "auditor"
SECONDS = 180.0
"""How long one audit may take, its retries included."""

MAX_ANSWER = 20_000
"""Characters of an answer in which a verdict is looked for."""

_MAX_REASON = 500
_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)


async def audit(registry: Registry, arguments: dict[str, Any]) -> Audit | None:
    """The auditor's word on evidence that is about to be attached.

    Args:
        registry: The run.
        arguments: Those of `Registry.attach`.

    Returns:
        None where no auditor is given, or where the evidence is refused or distrusted by the other gates
        anyway, so that there is nothing to decide.
    """
    if ROLE not in model_roles():
        return None
    try:
        evidence = attach(registry.state, **arguments)[0]
    except Refusal:
        return None  # the registry will refuse it, and put that on record
    if not isinstance(evidence, ev.EvidenceAttached) or not evidence.trusted:
        return None
    model = get_model(role=ROLE, required=True)
    verdict, reason = await _asked(model, case(registry, evidence))
    return Audit(verdict=verdict, reason=reason, auditor=str(model))


async def _asked(model: Model, shown: dict[str, Any]) -> tuple[ev.AuditVerdict, str]:
    messages: list[ChatMessage] = [
        ChatMessageSystem(content=_instructions()),
        ChatMessageUser(content=_text(shown)),
    ]
    try:
        with suspend_token_limit(), suspend_turn_limit(), suspend_working_limit(), anyio.fail_after(SECONDS):
            async with span(ROLE):
                output = await model.generate(messages, config=GenerateConfig(max_retries=2))
        make_harmless(output.message)
        return verdict_in(output.completion)
    except TimeoutError:
        return "unaudited", f"the auditor gave no answer within {SECONDS:g} s"
    except Exception as e:  # noqa: BLE001 - whatever breaks in a provider, or a limit that ends the sample next
        return "unaudited", f"the auditor failed: {type(e).__name__}: {_line(str(e), 200)}"


def verdict_in(answer: str) -> tuple[ev.AuditVerdict, str]:
    """The verdict in an answer: the last JSON object in it that has a valid verdict and a reason."""
    for found in reversed(_OBJECT.findall(answer[-MAX_ANSWER:])):
        try:
            said = json.loads(found)
        except ValueError:
            continue
        verdict, reason = said.get("verdict"), said.get("reason")
        if verdict in ("accepted", "untrusted") and isinstance(reason, str) and clean(reason):
            return verdict, _line(reason, _MAX_REASON)
    return "unaudited", f"the auditor gave no verdict: {_line(answer, 200)!r}"


def _line(text: str, limit: int) -> str:
    return " ".join(clean(shorten(text, limit)).split())


def case(registry: Registry, evidence: ev.EvidenceAttached) -> dict[str, Any]:
    """What an auditor sees: the hypothesis, the evidence, and the results as the laboratory gave them."""
    tested = registry.state.hypotheses[evidence.hypothesis]
    return {
        "hypothesis": _hypothesis(tested),
        "evidence": {
            "stance": evidence.stance,
            "summary": evidence.summary,
            "rationale": evidence.rationale,
            "belief_before": tested.belief,
            "belief_after": evidence.stated_belief,
            "results": list(evidence.results),
        },
        "results": _answers(registry, evidence.results),
    }


def _hypothesis(tested: Hypothesis) -> dict[str, Any]:
    return {
        "id": tested.id,
        "statement": tested.statement,
        "scope": list(tested.scope) or "the whole family",
        "mechanism": tested.mechanism,
        "parents": list(tested.parents),
        "prior": tested.prior,
        "earlier_evidence": [_earlier(e) for e in tested.evidence],
    }


def _earlier(evidence: Evidence) -> dict[str, Any]:
    return {
        "stance": evidence.stance,
        "summary": evidence.summary,
        "trusted": evidence.trusted,
        "results": list(evidence.results),
    }


def _answers(registry: Registry, results: Sequence[str]) -> list[dict[str, Any]]:
    recorded = (registry.events[registry.state.results[name].seq - 1].payload for name in results)
    return [{"tool": p["tool"], "arguments": p["arguments"], "answer": p["answer"]} for p in recorded]


def _text(shown: dict[str, Any]) -> str:
    return json.dumps(shown, ensure_ascii=False, indent=1)


@cache
def _instructions() -> str:
    return files("hepbench.harness.protocol").joinpath("auditor.md").read_text(encoding="utf-8").strip()
