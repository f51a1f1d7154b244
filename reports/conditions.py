"""The conditions of a run, as its log has them: what must be equal before two runs may be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inspect_ai.log import EvalLog, EvalSample

from hepbench.harness.protocol.auditor import ROLE as AUDITOR

_LIMITS = ("message_limit", "token_limit", "time_limit", "working_limit", "cost_limit", "turn_limit")


def conditions_of(header: EvalLog, sample: EvalSample, about: Mapping[str, Any]) -> dict[str, Any]:
    """The values of `records.CONDITIONS`.

    Args:
        header: The log's.
        sample: The run.
        about: What the task says of it, corrected to what was in force.
    """
    limits = {name: getattr(header.eval.config, name, None) for name in _LIMITS}
    return {
        "task_version": str(about.get("task_version", header.eval.task_version)),
        "potential": about.get("potential"),
        "weights_sha256": about.get("weights_sha256"),
        "reference_sha256": about.get("reference_sha256"),
        "database": about.get("database"),
        "lab_budget": about.get("lab_budget"),
        "turn_limit": about.get("turn_limit"),
        "token_limit": about.get("token_limit"),
        "context_limit": about.get("context_limit"),
        "live_time_limit": about.get("live_time_limit"),
        "rules": sample.metadata.get("rules"),
        "auditor": _auditor(header),
        "sample_limits": {name: limit for name, limit in limits.items() if limit is not None},
    }


def _auditor(header: EvalLog) -> str | None:
    """The model that looked at evidence before beliefs moved; None where the gate was off."""
    given = (header.eval.model_roles or {}).get(AUDITOR)
    models = given if isinstance(given, list) else [given] if given else []
    return ", ".join(model.model for model in models) or None
