"""A stranger's tools as a laboratory: what they answer becomes a result that evidence can name.

The tools of our own laboratory put their results on record themselves, with checks of the physics. A tool
of another task knows nothing of a registry; here its answer is recorded for it and goes to the agent with
its id. Its one check is that the tool answered without an error.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

from inspect_ai.tool import ContentText, Tool, ToolDef

from hepbench.harness.agents.run import AnyTool
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.text import bounded

MAX_RECORDED = 2_000
"""Characters of a stranger's answer that the record keeps; the conversation has it whole."""


def as_laboratory(tools: Sequence[Tool], registry: Registry) -> list[AnyTool]:
    """The tools, each recording its answers unless it does so itself."""
    return [_recorded(ToolDef(tool), registry) for tool in tools]


def _recorded(plain: ToolDef, registry: Registry) -> ToolDef:
    call: Callable[..., Any] = plain.tool

    @functools.wraps(call)
    async def execute(*args: Any, **kwargs: Any) -> Any:
        before = len(registry.state.results)
        answer = await call(*args, **kwargs)
        if len(registry.state.results) > before or _names_a_result(answer, registry):
            return answer
        return _with_id(answer, _record(registry, plain.name, kwargs, answer))

    return ToolDef(
        execute,
        name=plain.name,
        description=plain.description,
        parameters=plain.parameters,
        parallel=False,  # results are numbered in the order of the calls
        viewer=plain.viewer,
        model_input=plain.model_input,
        max_output=plain.max_output,
        options=plain.options,
    )


def _names_a_result(answer: object, registry: Registry) -> bool:
    """Whether the answer carries the id of a recorded result, as our laboratory's answers do."""
    if not isinstance(answer, str) or not answer.startswith("{"):
        return False
    try:
        said = json.loads(answer)
    except ValueError:
        return False
    return isinstance(said, dict) and said.get("result") in registry.state.results


def _record(registry: Registry, tool: str, arguments: dict[str, Any], answer: object) -> str:
    text = answer if isinstance(answer, str) else _text(answer)
    return registry.record_result(
        tool,
        bounded(arguments),
        {"text": text[:MAX_RECORDED], "characters": len(text)},
        {"answered": True},
        measurement=True,
    )


def _text(answer: object) -> str:
    """The words of an answer; pictures and the like are in the conversation alone."""
    if not isinstance(answer, list):
        return str(answer)
    return "\n".join(part.text for part in answer if isinstance(part, ContentText))


def _with_id(answer: object, result: str) -> object:
    """The answer with its id before it."""
    if isinstance(answer, list):
        return [ContentText(text=f"[{result}]"), *answer]
    if isinstance(answer, str | int | float | bool):
        return f"[{result}] {answer}"
    return [ContentText(text=f"[{result}]"), answer]
