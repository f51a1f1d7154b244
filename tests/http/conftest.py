"""The tiny family of the harness tests, and a stub server for each wire format."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from inspect_ai.log import EvalLog
from inspect_ai.model import Model, get_model
from tenacity import wait_none


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


_family = _load("hepbench_tests_family", Path(__file__).parents[1] / "agents" / "conftest.py")
stub = _load("hepbench_tests_stub", Path(__file__).with_name("stub.py"))
halides, halide_task, run_halides = _family.halides, _family.halide_task, _family.run_halides

WIRE_MODELS = {
    "responses": ("openai/gpt-5.5", {}),
    "chat": ("openai/gpt-4o", {"responses_api": False}),
    "messages": ("anthropic/claude-sonnet-4-5", {}),
    "compatible": ("openai-api/lab/llama", {}),
}


@pytest.fixture
def model_at() -> Callable[[str, str], Model]:
    """The real client of a wire format, pointed at an address."""

    def make(wire: str, address: str) -> Model:
        name, arguments = WIRE_MODELS[wire]
        base = address if wire == "messages" else f"{address}/v1"
        return get_model(name, base_url=base, api_key="test", memoize=False, **arguments)

    return make


@pytest.fixture
def talk(run_halides: Callable[..., EvalLog], model_at: Callable[[str, str], Model]) -> Callable[..., Any]:
    """Run the tiny family over HTTP: the log, and what the server saw."""

    def run(wire: str, script: list[Any], harness: str = "hep", **options: Any) -> tuple[EvalLog, Any]:
        with stub.serving(script) as (server, address):
            settings = {"max_retries": 3, "given": options.pop("given", None)} | options
            return run_halides(harness, model_at(wire, address), **settings), server

    return run


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries without their seconds of waiting: Inspect's own, and those of the clients."""
    monkeypatch.setattr("inspect_ai.model._retry.wait_exponential_jitter", lambda **_: wait_none())
    for client in ("openai", "anthropic"):
        monkeypatch.setattr(
            f"{client}._base_client.BaseClient._calculate_retry_timeout", lambda *_, **__: 0.0
        )
