"""The policy `hepbench/auditor`: a scripted reviewer of evidence, for tests and offline runs.

It looks at what can be decided without understanding a sentence: whether the laboratory itself distrusts a
named result, and whether the belief moves further than so few compounds can carry.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hepbench.harness.scientist.conversation import Conversation
from hepbench.harness.scientist.script import Turn

NOT_AN_LLM = "Scripted policy, not an LLM (the auditor)."
LARGEST_STEP = 0.45
"""The largest move of a belief that results about one compound may carry."""


def auditor(talk: Conversation) -> Turn:
    """The verdict on the case that is put before it, as one JSON object."""
    try:
        case = json.loads(talk.request)
        verdict, reason = _judge(case["evidence"], case["results"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return Turn(f"{NOT_AN_LLM} This is no case that it can read.")
    return Turn(json.dumps({"verdict": verdict, "reason": f"{NOT_AN_LLM} {reason}"}))


def _judge(evidence: Mapping[str, Any], results: list[Mapping[str, Any]]) -> tuple[str, str]:
    answers = [result["answer"] for result in results]
    distrusted = [str(a["result"]) for a in answers if a.get("trusted") is False]
    if distrusted:
        return "untrusted", f"The laboratory itself does not trust {', '.join(distrusted)}."
    step = abs(evidence["belief_after"] - evidence["belief_before"])
    compounds = {str(a.get("compound", a["result"])) for a in answers}
    if len(compounds) == 1 and step > LARGEST_STEP:
        return "untrusted", f"A step of {step:.2f} is more than {min(compounds)} alone can carry."
    return "accepted", f"{len(compounds)} compounds measured, a step of {step:.2f}."
