"""A local server that speaks as the model providers do, well or badly, by a script.

It answers OpenAI's Responses and Chat Completions and Anthropic's Messages (streamed), and is as strict as
they are about a conversation: a tool result without its call, or a call without its result, is a 400.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
OVERFLOW = "overflow"


@dataclass(frozen=True)
class Reply:
    """One answer of the model, or one way to go wrong.

    Attributes:
        text: What it says.
        calls: Tool calls; the arguments are JSON text, so that they can be broken.
        fault: "" or one of "429", "500", "cut", "overflow", "refusal".
        input_tokens: What the usage says was read.
    """

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    fault: str = ""
    input_tokens: int = 100


@dataclass
class Stub:
    """What the server says next, and what it was sent."""

    script: list[Reply]
    requests: list[Json] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    served: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self) -> Reply:
        """The next reply; the last one is repeated."""
        reply = self.script[min(self.served, len(self.script) - 1)]
        self.served += 1
        return reply


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    stub: Stub

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.stub.lock:
            self._answer(body)

    def _answer(self, body: Json) -> None:
        wire = WIRES[self.path]
        if isinstance(body.get("input"), str):  # OpenAI's client asks once whether Responses is there
            self._json(200, wire.whole(Reply("hello"), 0))
            return
        self.stub.requests.append(body)
        wrong = wire.wrong(body)
        if wrong:
            self.stub.rejected.append(wrong)
            self._json(400, wire.error("invalid_request_error", wrong))
            return
        reply = self.stub.next()
        if reply.fault == "429":
            self._json(429, wire.error("rate_limit_error", "slow down"))
        elif reply.fault == "500":
            self._json(500, wire.error("api_error", "internal server error"))
        elif reply.fault == OVERFLOW:
            self._json(400, wire.overflow())
        elif body.get("stream"):
            self._stream(wire.pieces(reply, self.stub.served), cut=reply.fault == "cut")
        else:
            self._json(200, wire.whole(reply, self.stub.served), cut=reply.fault == "cut")

    def _json(self, status: int, answer: Json, *, cut: bool = False) -> None:
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text[: len(text) // 2] if cut else text)
        self.close_connection = cut or self.close_connection

    def _stream(self, pieces: list[Json], *, cut: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces[: len(pieces) // 2] if cut else pieces:
            self._chunk(f"event: {piece['type']}\ndata: {json.dumps(piece)}\n\n".encode())
        if cut:
            self.close_connection = True
        else:
            self._chunk(b"")

    def _chunk(self, text: bytes) -> None:
        self.wfile.write(f"{len(text):x}\r\n".encode() + text + b"\r\n")

    def log_message(self, *args: Any) -> None:
        """Quietly."""


class Responses:
    """POST /v1/responses."""

    def wrong(self, body: Json) -> str:
        calls = [i["call_id"] for i in body["input"] if i.get("type") == "function_call"]
        answered = [i["call_id"] for i in body["input"] if i.get("type") == "function_call_output"]
        return _unmatched(calls, answered)

    def error(self, kind: str, message: str) -> Json:
        return {"error": {"message": message, "type": kind, "code": None, "param": None}}

    def overflow(self) -> Json:
        message = "Your input exceeds the context window of this model."
        code = "context_length_exceeded"
        return {
            "error": {"message": message, "type": "invalid_request_error", "code": code, "param": "input"}
        }

    def whole(self, reply: Reply, n: int) -> Json:
        refused = reply.fault == "refusal"
        content = (
            {"type": "refusal", "refusal": reply.text}
            if refused
            else {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        )
        message = {"type": "message", "id": f"msg_{n}", "role": "assistant", "status": "completed"}
        output: list[Json] = [message | {"content": [content]}] if reply.text else []
        for i, (name, arguments) in enumerate(reply.calls):
            ids = {"id": f"fc_{n}_{i}", "call_id": f"call_{n}_{i}"}
            call = {"type": "function_call", "name": name, "arguments": arguments, "status": "completed"}
            output.append(ids | call)
        return {
            "id": f"resp_{n}", "object": "response", "created_at": 0, "model": "gpt-5.5",
            "status": "completed",
            "output": output, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None,
            "incomplete_details": None, "instructions": None, "metadata": {}, "temperature": 1, "top_p": 1,
            "usage": {
                "input_tokens": reply.input_tokens, "output_tokens": 10,
                "total_tokens": reply.input_tokens + 10,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens_details": {"reasoning_tokens": 0},
            },
        }  # fmt: skip

    def pieces(self, reply: Reply, n: int) -> list[Json]:
        raise NotImplementedError


class Chat:
    """POST /v1/chat/completions."""

    def wrong(self, body: Json) -> str:
        messages = body["messages"]
        calls = [c["id"] for m in messages for c in m.get("tool_calls") or []]
        return _unmatched(calls, [m["tool_call_id"] for m in messages if m["role"] == "tool"])

    error = Responses.error
    overflow = Responses.overflow

    def whole(self, reply: Reply, n: int) -> Json:
        refused = reply.fault == "refusal"
        message: Json = {"role": "assistant", "content": None if refused else reply.text or None}
        message["refusal"] = reply.text if refused else None
        if reply.calls:
            message["tool_calls"] = [
                {"id": f"call_{n}_{i}", "type": "function", "function": {"name": name, "arguments": text}}
                for i, (name, text) in enumerate(reply.calls)
            ]
        reason = "content_filter" if refused else "tool_calls" if reply.calls else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        total = reply.input_tokens + 10
        usage = {"prompt_tokens": reply.input_tokens, "completion_tokens": 10, "total_tokens": total}
        about = {"id": f"chat_{n}", "object": "chat.completion", "created": 0, "model": "gpt-4o"}
        return about | {"choices": [choice], "usage": usage}

    def pieces(self, reply: Reply, n: int) -> list[Json]:
        raise NotImplementedError


class Messages:
    """POST /v1/messages, streamed."""

    def wrong(self, body: Json) -> str:
        if any(not m["content"] for m in body["messages"]):
            return "messages: text content blocks must be non-empty"
        blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
        if any(b["type"] == "text" and not b["text"].strip() for b in blocks):
            return "messages: text content blocks must contain non-whitespace text"
        calls = [b["id"] for b in blocks if b["type"] == "tool_use"]
        return _unmatched(calls, [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"])

    def error(self, kind: str, message: str) -> Json:
        return {"type": "error", "error": {"type": kind, "message": message}}

    def overflow(self) -> Json:
        return self.error("invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum")

    def whole(self, reply: Reply, n: int) -> Json:
        raise NotImplementedError

    def pieces(self, reply: Reply, n: int) -> list[Json]:
        usage = {"input_tokens": reply.input_tokens, "output_tokens": 1}
        start = {
            "id": f"msg_{n}", "type": "message", "role": "assistant", "model": "claude", "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        blocks: list[tuple[Json, Json]] = []
        if reply.text:
            blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": reply.text}))
        for i, (name, text) in enumerate(reply.calls):
            opened = {"type": "tool_use", "id": f"toolu_{n}_{i}", "name": name, "input": {}}
            blocks.append((opened, {"type": "input_json_delta", "partial_json": text}))
        reason = "refusal" if reply.fault == "refusal" else "tool_use" if reply.calls else "end_turn"
        found: list[Json] = [{"type": "message_start", "message": start}]
        for i, (opened, delta) in enumerate(blocks):
            found += [
                {"type": "content_block_start", "index": i, "content_block": opened},
                {"type": "content_block_delta", "index": i, "delta": delta},
                {"type": "content_block_stop", "index": i},
            ]
        ended = {"stop_reason": reason, "stop_sequence": None}
        return [
            *found,
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}},
            {"type": "message_stop"},
        ]


def _unmatched(calls: list[str], answered: list[str]) -> str:
    if calls == answered:
        return ""
    return f"tool calls {calls} and tool results {answered} do not match"


WIRES: dict[str, Any] = {
    "/v1/responses": Responses(),
    "/v1/chat/completions": Chat(),
    "/v1/messages": Messages(),
}


@contextmanager
def serving(script: list[Reply]) -> Iterator[tuple[Stub, str]]:
    """A stub at work, and its address without a path."""
    stub = Stub(script)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"stub": stub}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield stub, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
