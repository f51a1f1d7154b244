"""The scripted scientist in a small made-up world: does it do science, and does it cope?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

from hepbench.harness.laboratory.elements import element_row as real_row
from hepbench.harness.scientist.claims import Mostly
from hepbench.harness.scientist.conversation import read
from hepbench.harness.scientist.notebook import Idea
from hepbench.harness.scientist.orientation import Study
from hepbench.harness.scientist.relatives import Relatives
from hepbench.harness.scientist.research import research
from hepbench.harness.scientist.rules import Rule, RuleList
from hepbench.harness.scientist.scientist import scientist
from hepbench.harness.scientist.script import replay

Law = Callable[[str], dict[str, float]]


def rotated(law: Law, by: int) -> Law:
    """The same physics under other names: each phase has the energy of another."""

    def other(compound: str) -> dict[str, float]:
        energy = law(compound)
        phases = list(energy)
        return {p: energy[phases[(i + by) % len(phases)]] for i, p in enumerate(phases)}

    return other


@pytest.fixture
def hypotheses(usual: Any) -> dict[str, Any]:
    return dict(usual.world.registry.state.hypotheses)


def test_it_finds_the_law_and_predicts_from_it(usual: Any) -> None:
    run = usual
    assert run.accuracy == 1.0
    assert run.refusals == []
    assert run.turns <= 90
    assert run.world.budget >= 0
    assert "r(A)/r(O)" in run.world.rule


def test_all_mechanisms_a_flip_and_nothing_unresolved(hypotheses: dict[str, Any]) -> None:
    assert {h.mechanism for h in hypotheses.values()} == {"de_novo", "inspired_by", "refine", "merge"}
    assert max(h.generation for h in hypotheses.values()) >= 2
    assert not any(h.is_open for h in hypotheses.values())
    assert any(h.prior >= 0.5 and h.state == "refuted" for h in hypotheses.values())
    assert any(h.state == "supported" for h in hypotheses.values())


@pytest.mark.parametrize("by", [1, 2, 3, 4, 5])
def test_it_knows_nothing_but_what_the_laboratory_says(new_world: Any, play_run: Any, by: int) -> None:
    law = rotated(new_world().law, by)
    run = play_run("scientist", new_world(law=law))
    assert run.accuracy == 1.0
    assert run.refusals == []


def test_the_same_conversation_gets_the_same_answer(usual: Any, new_world: Any, play_run: Any) -> None:
    first, second = usual.messages, play_run("scientist", new_world()).messages
    said = [[m.model_dump() for m in run if isinstance(m, ChatMessageAssistant)] for run in (first, second)]
    assert said[0] == said[1]


def test_every_prefix_of_a_conversation_can_be_answered(usual: Any) -> None:
    run = usual
    for length in range(len(run.messages)):
        turn = scientist(read(run.messages[:length], run.world.tools))
        assert turn.say
        assert {c.tool for c in turn.calls} <= {*run.world.tools, "submit_predictions"}


def test_a_conversation_that_lost_its_middle_can_be_answered(usual: Any) -> None:
    run = usual
    for start in range(2, len(run.messages), 3):
        turn = scientist(read(run.messages[:2] + run.messages[start:], ["submit_predictions"]))
        assert turn.say


@pytest.mark.parametrize("turn_limit", [0, 1, 2, 4, 7, 11, 16, 22, 30])
def test_predictions_may_be_asked_for_at_any_moment(new_world: Any, play_run: Any, turn_limit: int) -> None:
    run = play_run("scientist", new_world(), turn_limit=turn_limit)
    assert len(run.world.predictions) == 11
    assert all(0.0 < p["confidence"] < 1.0 for p in run.world.predictions.values())


def test_more_research_predicts_better_than_none(new_world: Any, play_run: Any) -> None:
    accuracy = [play_run("scientist", new_world(), turn_limit=n).accuracy for n in (0, 10, 100)]
    assert accuracy == sorted(accuracy)
    assert accuracy[0] < accuracy[2]


def test_it_wraps_up_when_told_that_turns_run_out(new_world: Any, play_run: Any) -> None:
    run = play_run("scientist", new_world(), turn_limit=24, warn_at=6)
    assert run.world.finished
    assert not any(h.is_open for h in run.world.registry.state.hypotheses.values())
    assert len(run.world.predictions) == 11


@pytest.mark.parametrize("budget", [0, 2, 5, 6, 13, 30, 10_000])
def test_it_lives_within_any_budget(new_world: Any, play_run: Any, budget: int) -> None:
    run = play_run("scientist", new_world(budget=budget))
    assert run.world.budget >= 0
    assert run.world.finished
    assert not any(h.is_open for h in run.world.registry.state.hypotheses.values())
    assert len(run.world.predictions) == 11


def test_untrusted_results_are_noted_and_left_out(new_world: Any, play_run: Any) -> None:
    doubtful = frozenset({"SiO2", "PrO2", "MnO2", "IrO2"})
    run = play_run("scientist", new_world(untrusted=doubtful))
    evidence = run.world.registry.state.evidence.values()
    assert any(e.stance == "inconclusive" and not e.trusted for e in evidence)
    assert all(e.trusted for e in evidence if e.stance != "inconclusive")
    assert run.refusals == []
    assert run.accuracy >= 0.8


def test_elements_that_the_table_lacks_are_asked_for_no_more(new_world: Any, play_run: Any) -> None:
    known = frozenset({"O", *(c.removesuffix("O2") for c in new_world().offered)} - {"Tb", "Tc"})
    run = play_run("scientist", new_world(known_elements=known))
    assert len(run.world.predictions) == 11
    assert all("No element" in r for r in run.refusals)


def test_it_measures_and_predicts_without_a_registry(new_world: Any, play_run: Any) -> None:
    tools = ("list_prototypes", "element_properties", "compare_structures", "finish_research")
    run = play_run("scientist", new_world(tools=tools))
    assert run.refusals == []
    assert run.accuracy == 1.0


@pytest.mark.parametrize("tools", [(), ("finish_research",), ("relax_structure",)])
def test_it_guesses_without_a_laboratory(new_world: Any, play_run: Any, tools: tuple[str, ...]) -> None:
    run = play_run("scientist", new_world(tools=tools))
    assert {p["label"] for p in run.world.predictions.values()} == {"cubic"}
    assert "guess" in run.world.rule


def ordered(compound: str) -> dict[str, float]:
    """Double perovskites: order follows the difference of the charges of B and B'."""
    far = any(pair in compound for pair in ("MgW", "CoW", "LiRe", "ScNb", "MgTe", "FeW"))
    return {"rock-salt": 0.0 if far else 30.0, "layered": 30.0 if far else 0.0, "columnar": 20.0}


def packed(compound: str) -> dict[str, float]:
    """MX: pnictides of early metals are B1, of others B31; chalcogenides are B8."""
    pnictide, early = compound.endswith(("P", "As", "Sb")), compound[:2] in ("Ti", "Sc", "Zr", "Nb", "Hf")
    energy = {"B1": 60.0, "B8": 40.0 if pnictide else 0.0, "B31": 50.0, "B3": 90.0, "B2": 200.0}
    return energy | ({"B1" if early else "B31": 0.0} if pnictide else {})


A_SITES, PAIRS = "Ca Sr Ba", "MgW CoW LiRe ScNb TiZr TiSn ZrSn HfTi GeTi TiHf"
METALS, ANIONS = "Sc Ti V Cr Mn Fe Co Ni Zr Nb Mo Ru Rh Pd", "S Se Te P As Sb"
PEROVSKITES = tuple(f"{a}2{pair}O6" for a in A_SITES.split() for pair in PAIRS.split())
MX = tuple(m + x for m in METALS.split() for x in ANIONS.split())


@pytest.mark.parametrize(
    ("law", "known", "sealed", "labels"),
    [
        (
            ordered,
            PEROVSKITES,
            ("Ba2MgTeO6", "La2MgTiO6", "Sr2FeWO6", "Ca2ZrHfO6"),
            ("rock-salt", "layered", "columnar"),
        ),
        (packed, MX, ("HfS", "HfP", "TaSe", "IrAs", "PtSb", "IrTe"), ("B1", "B8", "B31", "B3", "B2")),
    ],
)
def test_it_works_on_families_of_another_shape(
    new_world: Any,
    play_run: Any,
    law: Law,
    known: tuple[str, ...],
    sealed: tuple[str, ...],
    labels: tuple[str, ...],
) -> None:
    world = new_world(law=law, offered=known, held_out=sealed, labels=labels, row=real_row, budget=160)
    run = play_run("scientist", world)
    assert run.refusals == []
    assert run.turns <= 90
    assert run.accuracy >= 0.75
    assert not any(h.is_open for h in world.registry.state.hypotheses.values())


def test_a_hypothesis_that_it_does_not_know_is_closed_after_the_reminder(
    new_world: Any, play_run: Any
) -> None:
    world = new_world()
    world.registry.propose("A stranger's idea.", 0.5, "It was there before.")
    run = play_run("scientist", world)
    assert run.world.finished
    assert not any(h.is_open for h in world.registry.state.hypotheses.values())


def test_a_nudge_changes_nothing(usual: Any) -> None:
    run = usual
    opening = [*run.messages[:2], ChatMessageUser(content="You answered without calling a tool. Go on.")]
    assert scientist(read(opening, run.world.tools)) == scientist(read(run.messages[:2], run.world.tools))


def test_it_says_that_it_is_no_llm(usual: Any) -> None:
    run = usual
    assert "not an LLM" in next(m.text for m in run.messages if isinstance(m, ChatMessageAssistant))
    assert "not an LLM" in run.world.rule


def test_a_refused_submission_is_answered_once_more(new_world: Any, play_run: Any) -> None:
    run = play_run("scientist", new_world(), turn_limit=12)
    asked = next(i for i, m in enumerate(run.messages) if "Held-out compounds" in m.text)
    labels = "Held-out compounds: ThO2, PaO2\n\nLabels: red, blue"
    messages = [*run.messages[:asked], ChatMessageUser(content=labels)]
    turn = scientist(read(messages, ["submit_predictions"]))
    assert {p["label"] for p in turn.calls[0].arguments["predictions"]} == {"red"}


def test_the_work_of_a_turn_grows_no_faster_than_the_conversation(usual: Any) -> None:
    """Each turn reads the whole conversation: were that quadratic, long runs would never end."""
    asked = next(i for i, m in enumerate(usual.messages) if "Held-out compounds" in m.text)
    half = calls_of(lambda: scientist(read(usual.messages[: asked // 2], usual.world.tools)))
    whole = calls_of(lambda: scientist(read(usual.messages[: asked - 2], usual.world.tools)))
    assert whole < 4 * half


def calls_of(function: Callable[[], object]) -> int:
    """How many calls of Python functions a call makes."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def test_no_warning_of_the_protocol_stands_against_it(usual: Any) -> None:
    assert usual.world.registry.state.warnings == []


def test_predictions_follow_a_supported_hypothesis_that_says_the_same_rule(usual: Any) -> None:
    study = Study()
    replay(research(study), replace(read(usual.messages), tools=frozenset()))
    guide = study.guide
    assert guide is not None
    for compound, prediction in usual.world.predictions.items():
        values = study.bench.space.values(compound)
        assert prediction["label"] == guide.rule(values).label(values)
    assert guide.words() in usual.world.rule
    for rule in (guide.newest, guide.oldest):
        stated = [h for h in usual.world.registry.state.hypotheses.values() if rule.words() in h.statement]
        assert [h.state for h in stated] == ["supported"]


def test_beyond_what_was_measured_the_rule_that_stood_more_tests_decides(usual: Any) -> None:
    study = Study()
    replay(research(study), replace(read(usual.messages), tools=frozenset()))
    classes = [
        RuleList((), "chain"),
        *(RuleList((Rule((), c),), "cubic") for c in ("open", "layer", "dense")),
    ]
    rules = [Relatives(c, (), study.bench.space.axes) for c in classes]
    ideas = [
        Idea(f"H{n}", Mostly(rule), 0.5, 0, 0.9, state)
        for n, (rule, state) in enumerate(
            zip(rules, ("supported", "dormant", "supported", "supported"), strict=True)
        )
    ]
    study.rules = list(zip(ideas, rules, strict=True))
    guide = study.guide
    assert guide is not None
    seen = study.bench.trusted[0].values
    axis = guide.newest.axes[0].name
    assert guide.rule(seen).rules == classes[3]  # the last that is supported
    assert guide.rule({**seen, axis: 99.0}).rules == classes[2]  # the first that is, and has classes
    assert guide.rule({}).rules == classes[3]  # of what is not known nothing can be outside
    study.rules = [(None, rule) for rule in rules]
    assert study.guide is not None
    assert study.guide.oldest == study.guide.newest  # no test of any rule is on record


def test_a_run_reads_little_because_element_tables_are_not_carried_along(usual: Any) -> None:
    asked_at = [
        turn
        for turn, message in enumerate(m for m in usual.messages if isinstance(m, ChatMessageAssistant))
        if any(c.function == "element_properties" for c in message.tool_calls or [])
    ]
    assert len(asked_at) == 2
    assert asked_at[1] >= usual.turns - 6  # what only a sealed compound may hold is asked just before the end
    assert usual.turns <= 45
    read_in_all = sum(len(m.text) for length, _ in usual.offered for m in usual.messages[:length])
    assert read_in_all <= 45 * 25_000
