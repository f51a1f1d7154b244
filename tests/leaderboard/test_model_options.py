"""One model asked with two sets of options is two rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, task
from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig
from made_folders import MODEL_A
from made_logs import Run, make_logs
from unaudited import unaudited

from hepbench.benchmark.leaderboard.build import build_leaderboard
from hepbench.benchmark.leaderboard.collect import collect
from hepbench.reports.options import MAX_OPTIONS, asked_model, options_of


def test_options_make_a_row_of_their_own(tmp_path: Path) -> None:
    runs = [Run(MODEL_A, options={"reasoning_effort": effort}) for effort in ("low", "high")]
    make_logs(tmp_path, Run(MODEL_A), *runs, Run(MODEL_A, model_args={"style": "terse"}))
    board = build_leaderboard(collect([str(tmp_path)], unaudited))
    assert board.left_out == ()
    assert {entry.model: entry.runs for entry in board.entries} == {
        MODEL_A: 1,
        f"{MODEL_A} (reasoning_effort=low)": 1,
        f"{MODEL_A} (reasoning_effort=high)": 1,
        f"{MODEL_A} (style=terse)": 1,
    }


@task
def empty() -> Task:
    return Task(config=GenerateConfig(max_retries=3))


def header(model_args: dict[str, Any] | None = None, **options: Any) -> EvalLog:
    """The header of a log, as `inspect eval -M … --temperature …` makes it."""
    return inspect_eval(empty(), model=MODEL_A, model_args=model_args or {}, **options)[0]


def test_options_of_the_run_count_as_those_of_the_model() -> None:
    log = header({"style": 3}, temperature=0.5, max_tokens=100, max_retries=7, timeout=9, max_connections=2)
    assert asked_model(log) == f"{MODEL_A} (max_tokens=100, style=3, temperature=0.5)"
    assert asked_model(header()) == MODEL_A


@pytest.mark.parametrize(
    "name",
    ["api_key", "KEY", "auth_token", "client_secret", "password", "default_headers", "aws_session_token"],
)
def test_no_secret_is_shown(name: str) -> None:
    hidden = {name: "hunter2", "deep": {name: "hunter2", "list": [{name: "hunter2"}]}}
    options = options_of(header(hidden, extra_body={name: "hunter2"}, extra_headers={"x": "hunter2"}))
    assert "hunter2" not in str(options)
    assert options == {"deep": '{"list": [{}]}', "extra_body": "{}"}


def test_a_url_loses_its_login() -> None:
    options = options_of(header({"endpoint": "https://me:hunter2@example.com/v1?k=hunter2"}))
    assert options == {"endpoint": "https://example.com/v1"}


def test_values_are_bounded_and_clean_and_still_tell_rows_apart() -> None:
    long = ["x" * 1_000 + end for end in ("a", "b")]
    names = [asked_model(header({f"option{n}": text for n in range(50)})) for text in long]
    assert names[0] != names[1]
    assert max(map(len, names)) < MAX_OPTIONS + 60
    assert asked_model(header({"style": "a\x1b[31m\nb\u202e"})) == f"{MODEL_A} (style=a [31m b)"
