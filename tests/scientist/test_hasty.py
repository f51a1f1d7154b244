"""The hasty policy: refused, and none the wiser."""

from __future__ import annotations

from typing import Any

from inspect_ai.model import ChatMessageAssistant

from hepbench.harness.scientist.conversation import read
from hepbench.harness.scientist.hasty import hasty


def test_it_is_refused_goes_on_and_leaves_things_open(new_world: Any, play_run: Any) -> None:
    run = play_run("hasty", new_world())
    gates = {r.split(":")[0] for r in run.refusals}
    assert len(run.refusals) >= 5
    assert len(gates) >= 5
    assert run.world.finished
    assert run.world.reminded
    assert all(h.is_open for h in run.world.registry.state.hypotheses.values())
    assert run.turns < 20


def test_its_predictions_are_all_the_same_and_sure(new_world: Any, play_run: Any) -> None:
    run = play_run("hasty", new_world())
    assert len({p["label"] for p in run.world.predictions.values()}) == 1
    assert {p["confidence"] for p in run.world.predictions.values()} == {0.95}


def test_it_is_deterministic_and_answers_any_prefix(new_world: Any, play_run: Any) -> None:
    first, second = (play_run("hasty", new_world()).messages for _ in range(2))
    said = [[m.model_dump() for m in run if isinstance(m, ChatMessageAssistant)] for run in (first, second)]
    assert said[0] == said[1]
    assert all(hasty(read(first[:n], new_world().tools)).say for n in range(len(first)))


def test_it_needs_no_tools(new_world: Any, play_run: Any) -> None:
    run = play_run("hasty", new_world(tools=()))
    assert {p["label"] for p in run.world.predictions.values()} == {"cubic"}
