"""Every harness on a tiny family: the same laboratory, the same prediction phase, an honest record."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import ChatMessageTool, ChatMessageUser, Model

from hepbench.harness.agents.closed_book import closed_book
from hepbench.harness.agents.harnesses import FLOORS, HARNESSES
from hepbench.harness.agents.plan import Plan, PlanError, steps_in
from hepbench.harness.agents.react import react
from hepbench.harness.protocol.state import RunState
from hepbench.harness.protocol.store import RegistryStore
from hepbench.reports.gather import detailed_runs

Run = Callable[..., EvalLog]
HEP_ONLY = ("hypothesis_count", "generation_depth", "resolution_rate", "belief_flips", "refusal_rate")
HELD_OUT = {"NaCl", "KBr", "RbI", "LiBr", "CsF", "CsCl", "CsBr", "CsI"}
COMPARE = ("compare_structures", {"compound": "LiF", "prototypes": ["rock salt", "CsCl"]})
FINISH = ("finish_research", {"summary": "done"})
PREDICT = (
    "submit_predictions",
    {
        "predictions": [{"compound": c, "label": "CsCl", "confidence": 0.5} for c in sorted(HELD_OUT)],
        "rule": "always",
    },
)
PLAN = ("submit_plan", {"steps": ["measure LiF", "think"], "rationale": "short"})


def sample_of(log: EvalLog) -> EvalSample:
    assert log.status == "success", log.error
    assert log.samples
    return log.samples[0]


def state_of(log: EvalLog) -> RunState:
    return sample_of(log).store_as(RegistryStore).state()


def values(log: EvalLog) -> dict[str, float]:
    assert log.results is not None
    return {s.name: s.metrics["mean"].value for s in log.results.scores}


def infos(log: EvalLog, source: str) -> list[str]:
    sample = sample_of(log)
    found = [str(e.data) for e in sample.events if e.event == "info" and e.source == source]
    return [sample.attachments.get(t.removeprefix("attachment://"), t) for t in found]


def test_every_harness_runs_the_whole_course(run_halides: Run) -> None:
    found = {h: run_halides(h, "none/none" if h in FLOORS else "hepbench/scientist") for h in HARNESSES}
    for harness, log in found.items():
        state, scores = state_of(log), values(log)
        assert state.about["harness"] == harness
        assert state.ended is not None
        assert set(state.predictions) == HELD_OUT, harness
        assert state.rule
        unscored = [m for m in HEP_ONLY if math.isnan(scores[m])]
        assert unscored == ([] if harness == "hep" else list(HEP_ONLY)), harness
    mix = {h: values(log) for h, log in found.items()}
    assert mix["hep"]["step_belief"] > 0.1
    for harness in ("planning", "react", "closed_book"):
        assert mix[harness]["step_belief"] == 0
        assert mix[harness]["step_hypothesis"] == 0
    assert mix["planning"]["step_plan"] > mix["react"]["step_plan"]
    assert mix["planning"]["step_test"] > 0.5
    assert mix["closed_book"]["lab_calls"] == 0
    assert mix["react"]["lab_calls"] == mix["planning"]["lab_calls"] == mix["hep"]["lab_calls"]
    for floor in FLOORS:
        assert math.isnan(mix[floor]["step_test"])
        assert mix[floor]["model_calls"] == 0
    assert mix["majority"]["heldout_accuracy"] == 0.5  # always CsCl: all of caesium, none of the rest
    assert mix["decision_tree"]["heldout_accuracy"] > mix["majority"]["heldout_accuracy"]
    assert mix["nearest_neighbour"]["heldout_skill"] > 0
    shown = infos(found["planning"], "hepbench plan")
    assert [text.split(".**")[0] for text in shown] == [
        "**Plan",
        "**After step 1, the plan stays",
        "**After step 2, the plan stays",
    ]
    assert "1. ~~Look up the prototypes" in shown[-1]


def test_the_laboratory_opens_with_the_plan(run_halides: Run, scripted: Callable[..., Model]) -> None:
    revise = ("revise_plan", {"outcome": "rock salt", "steps": ["measure KF"], "reason": "not enough"})
    bad = ("revise_plan", {"outcome": "", "steps": [], "reason": "x"})
    steps = [COMPARE, "hm", PLAN, COMPARE, bad, revise, FINISH, PREDICT]
    log = run_halides("planning", scripted(steps))
    answers = [m for m in sample_of(log).messages if isinstance(m, ChatMessageTool)]
    early, _, compared, refused, revised = answers[:5]
    assert early.error is not None
    assert early.error.message == "Tool compare_structures not found"
    assert compared.error is None
    assert refused.error is not None
    assert refused.error.message.startswith("Refused (plan): The outcome must have 1 to")
    assert "Carry out step 2: measure KF" in revised.text
    assert [(r.operation, r.gate) for r in state_of(log).refusals] == [
        ("compare_structures", "schema"),
        ("revise_plan", "plan"),
    ]
    said = [m.text for m in sample_of(log).messages if isinstance(m, ChatMessageUser)]
    assert any(text.startswith("There is no plan yet") for text in said)
    assert "the plan changes" in infos(log, "hepbench plan")[-1]
    assert values(log)["step_test"] == 1 / 7  # the early call reached no tool; the text counts as a plan


def test_a_plan_written_as_prose_is_taken(run_halides: Run, scripted: Callable[..., Model]) -> None:
    steps = ["My plan:\n1. Measure LiF\n2) **Think**\nThat is all.", COMPARE, FINISH, PREDICT]
    log = run_halides("planning", scripted(steps))
    assert "1. Measure LiF\n2. Think" in infos(log, "hepbench plan")[0]
    assert len(state_of(log).results) == 1


def test_a_limit_leads_to_the_prediction(run_halides: Run, scripted: Callable[..., Model]) -> None:
    for harness in ("planning", "react"):
        first = [PLAN] if harness == "planning" else [COMPARE]
        log = run_halides(harness, scripted([*first, COMPARE, COMPARE, PREDICT]), {"turn_limit": 3})
        assert state_of(log).ended == "turn limit"
        assert set(state_of(log).predictions) == HELD_OUT


def test_closed_book_has_no_laboratory(run_halides: Run, scripted: Callable[..., Model]) -> None:
    log = run_halides("closed_book", scripted([COMPARE, PREDICT]))
    assert state_of(log).results == {}
    assert state_of(log).ended == "no research phase"
    assert len(state_of(log).predictions) == len(HELD_OUT)


def test_another_harness_by_solver_keeps_the_tasks_limits(
    run_halides: Run, scripted: Callable[..., Model]
) -> None:
    log = run_halides("hep", scripted([COMPARE, COMPARE, PREDICT]), {"turn_limit": 2}, solver=react())
    assert state_of(log).about["harness"] == "react"
    assert state_of(log).ended == "turn limit"


def test_the_limits_in_force_are_on_record(run_halides: Run, scripted: Callable[..., Model]) -> None:
    """Also those that another solver was given: they are what runs are compared by."""
    steps = [COMPARE, COMPARE, PREDICT]
    solver = react(turn_limit=2, context_limit=9_000)
    log = run_halides("hep", scripted(steps), {"token_limit": 10**6}, solver=solver)
    in_force = {"harness": "react", "turn_limit": 2, "token_limit": 10**6, "context_limit": 9_000}
    assert state_of(log).about.items() >= in_force.items()
    (run,) = detailed_runs(log.location)
    assert run.record.harness == "react"
    assert run.record.conditions.items() >= {k: v for k, v in in_force.items() if k != "harness"}.items()
    assert run.record.conditions["live_time_limit"] == 300


def test_tokens_and_money_are_the_agents_own(run_halides: Run, scripted: Callable[..., Model]) -> None:
    """Five generations of 15 tokens; what the grader of the steps reads is in the log, and not in the row."""
    grader = scripted(["none"])
    steps = [COMPARE, "I wonder.", COMPARE, FINISH, PREDICT]
    log = run_halides("react", scripted(steps), model_roles={"grader": grader})
    assert sum(u.total_tokens for u in sample_of(log).model_usage.values()) > 75
    (run,) = detailed_runs(log.location)
    assert run.record.tokens == 75
    assert run.record.scores["input_tokens"] + run.record.scores["output_tokens"] == 75


def test_another_solver_keeps_the_tasks_context(run_halides: Run, scripted: Callable[..., Model]) -> None:
    log = run_halides("hep", scripted([PREDICT]), {"context_limit": 9_000}, solver=closed_book())
    assert state_of(log).about["context_limit"] == 9_000


@pytest.mark.parametrize("value", ["hepp", 3])
def test_an_unknown_harness_is_one_line(halide_task: Callable[..., Any], value: Any) -> None:
    with pytest.raises(Exception, match=r"-T harness=.*'hep', 'planning', 'react', 'closed_book'"):
        halide_task(harness=value)


def test_a_plan_keeps_its_numbers_and_its_rules() -> None:
    plan = Plan()
    with pytest.raises(PlanError, match="no plan yet"):
        plan.revise("x", [])
    with pytest.raises(PlanError, match="1 to 40 steps"):
        plan.submit([])
    with pytest.raises(PlanError, match="step must have 1 to 500"):
        plan.submit(["ok", " "])
    plan.submit(["a", "b", "c"])
    with pytest.raises(PlanError, match="already"):
        plan.submit(["a"])
    assert not plan.revise("went well", ["b", "c"])
    assert plan.revise("odd", ["d"])
    assert plan.numbered() == ["3. d"]
    assert not plan.revise("done", [])
    assert plan.now.startswith("Nothing is left")
    assert plan.markdown().splitlines()[1] == "2. ~~b~~: odd"
    assert plan.revisions == 1


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("1. a\n2. b", ["a", "b"]),
        ("Plan:\n  Step 1: look\n  Step 2: see", ["look", "see"]),
        ("**1. a**\ntext", ["a"]),
        ("TiO2 has 2 polymorphs.", []),
        ("", []),
    ],
)
def test_numbered_lines_are_steps(text: str, steps: list[str]) -> None:
    assert steps_in(text) == steps
