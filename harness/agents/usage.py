"""What an agent's own generations cost, kept in the sample's store so that a re-scored log says the same.

An auditor's, a grader's or a reader's generations are not the agent's, and are not counted here.
"""

from __future__ import annotations

from inspect_ai.model import ModelUsage
from inspect_ai.util import StoreModel, store_as


class AgentUsage(StoreModel):
    """Totals over the agent's generations in both phases.

    Attributes:
        model_calls: Generations, those included that met a full context window.
        input_tokens: Tokens read, cached ones included.
        output_tokens: Tokens written, reasoning included.
        cost: US dollars, where Inspect knows the model's prices (`--model-cost-config`); else None.
    """

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


def read_tokens(usage: ModelUsage) -> int:
    """All tokens of the input: Inspect counts those that met the provider's cache apart."""
    return usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)


def tally(usage: ModelUsage | None) -> None:
    """Count one generation of the current sample's agent."""
    total = store_as(AgentUsage)
    total.model_calls += 1
    if usage is None:
        return
    total.input_tokens += read_tokens(usage)
    total.output_tokens += usage.output_tokens
    if usage.total_cost is not None:
        total.cost = (total.cost or 0.0) + usage.total_cost
