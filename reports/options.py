"""What a model was asked with: the options that were set, as a part of what a row is called."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from inspect_ai.log import EvalLog

from hepbench.harness.text import clean

MAX_VALUE = 40
"""Characters of one option's value; a longer one is shown by its hash."""
MAX_OPTIONS = 160
"""Characters of all options of a row."""

_TRANSPORT = frozenset(
    {
        "max_retries",
        "timeout",
        "attempt_timeout",
        "stream_idle_timeout",
        "max_connections",
        "adaptive_connections",
        "batch",
        "cache",
        "cache_prompt",
        "extra_headers",
        "fail_on_refusal",
    }
)
"""Generate options that say how an answer is fetched, not which; headers may hold keys."""

_SECRET = re.compile(r"key|secret|passw|credential|auth|cookie|header|signature", re.IGNORECASE)
_TOKEN = re.compile(r"token", re.IGNORECASE)
_LOGIN = re.compile(r"(?<=://)[^/\s@]*@|\?\S*")
"""What may be secret in a URL."""


def asked_model(header: EvalLog) -> str:
    """The model with its options, such as "openai/gpt-5.5 (reasoning_effort=high)"."""
    options = options_of(header)
    shown = ", ".join(f"{name}={value}" for name, value in sorted(options.items()))
    if len(shown) > MAX_OPTIONS:
        shown = f"{shown[:MAX_OPTIONS]}… {_hash(shown)}"
    return f"{header.eval.model} ({shown})" if shown else header.eval.model


def options_of(header: EvalLog) -> dict[str, str]:
    """The generate options and model arguments that were set, without secrets, as short texts."""
    of_model = header.eval.model_generate_config.model_dump(mode="json", exclude_none=True)
    of_run = header.plan.config.model_dump(mode="json", exclude_none=True)
    generate = {k: v for k, v in {**of_model, **of_run}.items() if k not in _TRANSPORT}
    shown: dict[str, Any] = _open({**header.eval.model_args, **generate})
    return {_short(name): _short(value) for name, value in shown.items()}


def _open(value: Any) -> Any:
    """What of a value may be shown, at every depth."""
    if isinstance(value, Mapping):
        return {str(k): _open(v) for k, v in value.items() if not _is_secret(str(k), v)}
    if isinstance(value, list | tuple):
        return [_open(part) for part in value]
    return _LOGIN.sub("", value) if isinstance(value, str) and "://" in value else value


def _is_secret(name: str, value: object) -> bool:
    """By the name; a count of tokens is none."""
    counts = isinstance(value, int | float)
    return bool(_SECRET.search(name)) or bool(_TOKEN.search(name) and not counts)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    flat = " ".join(clean(text).split())
    return flat if len(flat) <= MAX_VALUE else _hash(text)


def _hash(text: str) -> str:
    return f"#{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"
