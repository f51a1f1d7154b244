"""The scorers over registries made by hand, through real Inspect evals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from inspect_ai import Task, score
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver

from hepbench import scorers
from hepbench.harness.protocol.gates import Refusal
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.store import start_registry

RunByHand = Callable[..., EvalLog]
COMPOUNDS, LABELS = ("TiO2", "MnO2", "ThO2"), ("rutile", "anatase", "fluorite", "pyrite-type")

HEP_ONLY = [
    "hypothesis_count",
    "tested_count",
    "generation_depth",
    "strict_generation_depth",
    "mix_de_novo",
    "mix_inspired_by",
    "mix_refine",
    "mix_merge",
    "resolution_rate",
    "verdict_rate",
    "belief_flips",
    "final_rule_belief",
    "refusal_rate",
]


def values(log: EvalLog) -> dict[str, float]:
    assert log.status == "success", log.error
    assert log.results is not None
    assert len({s.name for s in log.results.scores}) == len(log.results.scores)  # keys are unique over all
    return {s.name: s.metrics["mean"].value for s in log.results.scores}


def measured(registry: Registry, *, trusted: bool = True) -> str:
    return registry.record_result(
        "relax_structure", {}, {"energy": -1.0}, {"converged": trusted}, measurement=True
    )


def put_to_test(registry: Registry, name: str, stance: str, belief: float, *, trusted: bool = True) -> None:
    registry.transition(name, "under_test", "now")
    registry.attach(name, [measured(registry, trusted=trusted)], stance, "seen", belief, "so far")


def judged(registry: Registry, name: str, stance: str, belief: float, verdict: str) -> None:
    put_to_test(registry, name, stance, belief)
    registry.transition(name, verdict, "decided")


def predicted(registry: Registry, **labels: tuple[str, float]) -> None:
    rows = [{"compound": c, "label": label, "confidence": p} for c, (label, p) in labels.items()]
    registry.predict(rows, "large cations prefer fluorite", COMPOUNDS, LABELS)


def refused(call: Callable[[], object]) -> None:
    with pytest.raises(Refusal):
        call()


def a_good_run(registry: Registry, epoch: int = 1) -> None:
    """H1 flips to refuted, H2 is supported, H3 (inspired) dormant, H4 refines, H5 merges, H6 stays open."""
    registry.propose("small cations prefer rutile", 0.5, "room")
    registry.propose("large cations prefer fluorite", 0.6, "room")
    judged(registry, "H1", "contradicts", 0.14, "refuted")
    judged(registry, "H2", "supports", 0.9, "supported")
    registry.propose("charge decides", 0.5, "ionic", ["H1"])
    registry.transition("H3", "dormant", "set aside")
    registry.refine("H2", "radius ratio above 0.6 prefers fluorite", 0.3, "sharper")
    judged(registry, "H4", "supports", 0.97, "supported")
    registry.merge(["H1", "H4"], "radius and charge decide", 0.5, "both")
    put_to_test(registry, "H5", "inconclusive", 0.5, trusted=False)
    registry.propose("a sixth", 0.5, "open", ["H5"])
    refused(lambda: registry.transition("H6", "supported", "too early"))
    refused(lambda: registry.propose("a sixth", 0.5, "twice"))
    registry.refuse("relax_structure", {"compound": "ThO2"}, "sealed", "no protocol operation")
    refused(lambda: registry.predict([], "none", COMPOUNDS, LABELS))
    predicted(registry, TiO2=("anatase", 0.8), MnO2=("anatase", 0.6), ThO2=("fluorite", 1.0))
    registry.end("finished by the agent")


def test_a_run_by_hand(run_by_hand: RunByHand) -> None:
    log = run_by_hand(a_good_run)
    expected = {
        "heldout_accuracy": 2 / 3,
        "heldout_interpolation": 1 / 2,
        "heldout_extrapolation": 1.0,
        # rutile: half of TiO2 (right) and MnO2 (wrong); anatase: half of TiO2; fluorite: ThO2
        "heldout_balanced_accuracy": (0.5 / 1.5 + 1 + 1) / 3,
        "heldout_skill": (2 / 3 - 2 / 3) / (1 / 3),
        "heldout_regret": (1.5 + 30.0 + 0.0) / 3,
        "brier": (0.2**2 + 0.6**2 + 0.0) / 3,
        "ece": (0.2 + 0.6 + 0.0) / 3,
        "hypothesis_count": 6,
        "tested_count": 3,
        "generation_depth": 3,
        "strict_generation_depth": 2,
        "mix_de_novo": 2 / 6,
        "mix_inspired_by": 2 / 6,
        "mix_refine": 1 / 6,
        "mix_merge": 1 / 6,
        "resolution_rate": 4 / 6,
        "verdict_rate": 3 / 6,
        "belief_flips": 2,
        "final_rule_belief": 0.97,
        # accepted: 6 proposals, 4 attachments, 4 tests begun, 3 verdicts, 1 set aside
        "refusal_rate": 2 / (2 + 18),
    }
    found = values(log)
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert log.results is not None
    assert log.results.headline is not None
    assert (log.results.headline.score, log.results.headline.metric) == ("heldout_accuracy", "mean")


def test_explanations_and_outcomes(run_by_hand: RunByHand) -> None:
    log = run_by_hand(a_good_run)
    assert log.samples is not None
    found = log.samples[0].scores or {}
    headline = found["heldout_accuracy"]
    assert headline.explanation is not None
    assert headline.explanation.startswith("2 of 3 held-out compounds right")
    assert "Wrong: MnO2." in headline.explanation
    assert headline.answer == "large cations prefer fluorite"
    outcomes = (headline.metadata or {})["compounds"]
    assert [o["right"] for o in outcomes] == [True, False, True]
    assert outcomes[1] == {
        "compound": "MnO2",
        "chemical_family": "3d",
        "part": "interpolation",
        "labels": ["rutile"],
        "predicted": "anatase",
        "confidence": 0.6,
        "right": False,
        "regret_meV_per_atom": 30.0,
    }
    assert "left open: H5, H6" in (found["resolution_rate"].explanation or "")
    assert "H1 0.50 → 0.14, refuted" in (found["belief_flips"].explanation or "")


def test_missing_predictions_are_wrong_and_charged(run_by_hand: RunByHand) -> None:
    # TiO2 as a phase that has no energy, ThO2 not at all: each costs the highest energy known
    def play(registry: Registry, epoch: int) -> None:
        predicted(registry, TiO2=("pyrite-type", 0.5), MnO2=("rutile", 0.5))

    found = values(run_by_hand(play))
    assert found["heldout_accuracy"] == pytest.approx(1 / 3)
    assert found["heldout_regret"] == pytest.approx((400 + 0 + 120) / 3)
    assert found["heldout_extrapolation"] == 0
    assert found["brier"] == pytest.approx(0.25)


def test_a_run_that_does_nothing(run_by_hand: RunByHand) -> None:
    found = values(run_by_hand(lambda registry, epoch: None))
    assert found["heldout_accuracy"] == 0
    assert found["heldout_skill"] == pytest.approx((0 - 2 / 3) / (1 / 3))
    assert found["hypothesis_count"] == found["tested_count"] == found["belief_flips"] == 0
    without_ground = [
        "generation_depth",
        "strict_generation_depth",
        "mix_de_novo",
        "resolution_rate",
        "verdict_rate",
        "final_rule_belief",
        "refusal_rate",
        "brier",
        "ece",
    ]
    assert all(math.isnan(found[key]) for key in without_ground)


@pytest.mark.parametrize("harness", ["planning", None])
def test_a_run_without_a_registry_is_unscored_not_zero(run_by_hand: RunByHand, harness: str | None) -> None:
    def play(registry: Registry, epoch: int) -> None:
        predicted(registry, MnO2=("rutile", 1.0))

    log = run_by_hand(play, harness=harness)
    found = values(log)
    assert all(math.isnan(found[key]) for key in HEP_ONLY)
    assert found["heldout_accuracy"] == pytest.approx(1 / 3 if harness else 0)
    assert log.results is not None
    assert {s.unscored_samples for s in log.results.scores if s.name in HEP_ONLY} == {1}
    assert log.samples is not None
    why = (log.samples[0].scores or {})["hypothesis_count"].explanation
    assert (
        why
        == f"Not scored: {'the harness planning keeps no registry' if harness else 'the run never began'}."
    )


def test_no_held_out_compounds(run_by_hand: RunByHand) -> None:
    found = values(run_by_hand(a_good_run, metadata={"heldout": [], "exploration_majority": "rutile"}))
    assert all(math.isnan(v) for k, v in found.items() if k.startswith("heldout") or k in {"brier", "ece"})


def test_a_majority_that_is_always_right_gives_no_skill(run_by_hand: RunByHand) -> None:
    truth = [
        {
            "compound": c,
            "chemical_family": "3d",
            "part": "interpolation",
            "labels": ["rutile"],
            "above_lowest": {"rutile": 0.0},
        }
        for c in COMPOUNDS
    ]
    found = values(run_by_hand(a_good_run, metadata={"heldout": truth, "exploration_majority": "rutile"}))
    assert math.isnan(found["heldout_skill"])
    assert math.isnan(found["heldout_extrapolation"])
    assert found["heldout_interpolation"] == 0


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"heldout": [{"compound": "TiO2"}], "exploration_majority": "rutile"},
        {"heldout": []},
        {"heldout": [{"compound": "X", "chemical_family": "", "part": "both", "labels": []}]},
    ],
)
def test_a_task_without_its_truth_fails_aloud(run_by_hand: RunByHand, metadata: dict[str, Any]) -> None:
    assert run_by_hand(a_good_run, metadata=metadata).status == "error"


def by_epoch(registry: Registry, epoch: int) -> None:
    """Three runs: none right and nothing stated; one right; all right, with two hypotheses."""
    right = {"TiO2": ("rutile", 0.9), "MnO2": ("rutile", 0.9), "ThO2": ("fluorite", 0.9)}
    for name in ["first", "second"][: epoch - 1]:
        registry.propose(name, 0.5, "why")
    if epoch == 3:
        registry.transition("H1", "dormant", "set aside")
        predicted(registry, **right)
    elif epoch == 2:
        predicted(registry, MnO2=right["MnO2"])


def test_epochs_are_averaged_run_by_run(run_by_hand: RunByHand) -> None:
    found = values(run_by_hand(by_epoch, epochs=3))
    assert found["heldout_accuracy"] == pytest.approx((0 + 1 / 3 + 1) / 3)
    assert found["hypothesis_count"] == pytest.approx((0 + 1 + 2) / 3)
    assert found["resolution_rate"] == pytest.approx((0 + 1 / 2) / 2)  # the first run states nothing
    assert found["mix_de_novo"] == 1
    assert found["brier"] == pytest.approx(0.01)


def logged_scores(log: EvalLog) -> list[str]:
    """Every score of every sample as JSON, which compares NaN with NaN."""
    return [s.model_dump_json() for sample in log.samples or [] for s in (sample.scores or {}).values()]


@pytest.mark.parametrize(("play", "epochs"), [(a_good_run, 1), (by_epoch, 3)])
def test_an_old_log_scores_the_same_again(run_by_hand: RunByHand, play: Any, epochs: int) -> None:
    log = run_by_hand(play, epochs=epochs)
    again = score(read_eval_log(log.location), scorers.suite_scorers(), action="overwrite", display="none")
    assert again.results is not None
    assert log.results is not None
    assert values(again) == pytest.approx(values(log), nan_ok=True)
    assert again.results.headline == log.results.headline
    assert logged_scores(again) == logged_scores(log)


def test_one_metric_at_a_time_scores_the_same(run_by_hand: RunByHand) -> None:
    every = values(run_by_hand(a_good_run))
    for factory in (scorers.hypothesis_count, scorers.mechanism_mix, scorers.heldout_accuracy):
        alone = values(run_by_hand(a_good_run, scorers=[factory()]))
        assert alone == pytest.approx({key: every[key] for key in alone})


@solver
def plays_then_talks_for_ever() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        a_good_run(start_registry("by-hand", ProtocolRules(), {"harness": "hep"}))
        while True:
            state.messages.append(ChatMessageUser(content="and on"))

    return solve


def test_a_run_ended_by_a_limit_is_scored(run_by_hand: RunByHand) -> None:
    unlimited = values(run_by_hand(a_good_run))
    metadata = {"heldout": [], "exploration_majority": ""}
    task = Task(
        dataset=[Sample(input="?", metadata=metadata)],
        solver=plays_then_talks_for_ever(),
        scorer=scorers.suite_scorers(),
        message_limit=6,
    )
    log = inspect_eval(task, model="mockllm/model", display="none")[0]
    assert log.samples is not None
    assert log.samples[0].limit is not None
    found = values(log)
    assert {k: found[k] for k in HEP_ONLY} == pytest.approx({k: unlimited[k] for k in HEP_ONLY})


def test_strict_rules_do_not_change_the_depth(run_by_hand: RunByHand) -> None:
    """Depth is read from the parents: `ProtocolRules.strict_generation` only changes what agents see."""

    @solver
    def strictly() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            a_good_run(start_registry("strict", ProtocolRules(strict_generation=True), {"harness": "hep"}))
            return state

        return solve

    task = Task(dataset=[Sample(input="?")], solver=strictly(), scorer=scorers.generation_depth())
    found = values(inspect_eval(task, model="mockllm/model", display="none")[0])
    assert found == {"generation_depth": 3, "strict_generation_depth": 2}
