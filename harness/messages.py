"""Messages of models in a form that tool calls and logs can take."""

from __future__ import annotations

from inspect_ai.model import ChatMessageAssistant, Content

from hepbench.harness.text import encodable, harmless


def make_harmless(message: ChatMessageAssistant) -> None:
    """Replace what would break a tool call or the log, in place and so in the log's own events too."""
    if isinstance(message.content, str):
        message.content = encodable(message.content)
    else:
        message.content = [_harmless_part(part) for part in message.content]
    for call in message.tool_calls or []:
        call.function = encodable(call.function)
        call.arguments = harmless(call.arguments)


def _harmless_part(part: Content) -> Content:
    said = part.model_dump()
    clean = harmless(said)
    return part if clean == said else type(part).model_validate(clean)
