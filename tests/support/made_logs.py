"""Real eval logs, made in a fraction of a second: the suite's scorers over a run that a seeded script plays.

No laboratory and no model is asked; the registry, the transcript and the scores are as in any run.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageTool, GenerateConfig, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolCall

from hepbench.harness.agents.run import begin, close
from hepbench.harness.protocol.registry import Registry
from hepbench.scorers import suite_scorers

LABELS = ("rutile", "anatase", "fluorite", "cotunnite")
HOSTILE = (
    '<script>window.pwned = 1</script>"><img src=x onerror="window.pwned = 1"></script></td></table> '
    "**bold** [link](javascript:window.pwned=1) | a | b | `code` https://example.com/x "
    "\x1b[31mred\x1b[0m\x07 \u202egnp.exe\u202c \u200f\u200b {{ 7 * 7 }} {% raw %} ${7*7} &lt;b&gt; \x00"
)
"""What a model might write to break a page, a table, a terminal or a spreadsheet."""

HOSTILE_RUN: dict[str, Any] = {
    "model": "mockllm/<img src=x onerror=window.pwned=1>|=1+1",
    "harness": "=cmd|' /C calc'!A0",
    "statement": HOSTILE + "W" * 10_000,
    "rules": {"max_statement": 20_000, "max_text": 40_000},
}

FAMILIES = {
    "3d": "Ti V Cr",
    "4d": "Zr Mo",
    "5d": "Hf W Ir",
    "p-block": "Si Sn Pb",
    "actinides": "Th Pa U Np Pu",
}
MX = {
    "3d sulfides": "TiS VS CrS MnS",
    "3d arsenides": "TiAs VAs CrAs",
    "4d sulfides": "ZrS NbS MoS",
    "5d sulfides": "HfS TaS WS ReS OsS",
}


@dataclass(frozen=True)
class Run:
    """What a made run is like.

    Attributes:
        model: Its name; any provider that answers offline.
        harness: As the log says it.
        task: "ao2" or "mx".
        accuracy: Chance that a compound is predicted rightly.
        seed: Of the predictions.
        noise: The predictions differ from epoch to epoch.
        epochs: How many.
        about: Conditions that differ from the usual.
        statement: Stands in the first hypothesis, and elsewhere where an agent writes.
        fails: Epochs that end with an error.
        rules: Protocol rules that differ from the usual.
        roles: Models in other roles than the agent's, by role.
        options: Generate options of the model.
        model_args: Its provider's arguments.
    """

    model: str = "mockllm/model-a"
    harness: str = "hep"
    task: str = "ao2"
    accuracy: float = 0.7
    seed: int = 0
    noise: bool = True
    epochs: int = 1
    about: Mapping[str, Any] = field(default_factory=dict)
    statement: str = "dioxides of cations larger than 0.8 Å prefer fluorite"
    fails: Sequence[int] = ()
    rules: Mapping[str, Any] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    model_args: Mapping[str, Any] = field(default_factory=dict)


def make_logs(folder: Path, *runs: Run) -> list[Path]:
    """Run them, and return their logs' paths in the same order."""
    logs = inspect_eval(
        [_task(run) for run in runs],
        log_dir=str(folder),
        display="log",  # the others draw tables, which take longer than the runs
        fail_on_error=False,
        max_tasks=1,
    )
    return [Path(log.location.removeprefix("file://")) for log in logs]


def _task(run: Run) -> Task:
    return Task(
        dataset=[_sample(run)],
        solver=played(run),
        scorer=suite_scorers(),
        model=get_model(run.model, config=GenerateConfig(**run.options), memoize=False, **run.model_args),
        model_roles={role: get_model(name) for role, name in run.roles.items()},
        epochs=run.epochs,
        metadata=_about(run),
        version=_about(run)["task_version"],
        name=run.task,
    )


def truths(task: str) -> list[dict[str, Any]]:
    """The held-out compounds of a made task."""
    families = FAMILIES if task == "ao2" else MX
    rows = []
    for family, names in families.items():
        for n, name in enumerate(names.split()):
            label = LABELS[(len(family) + n) % 3]
            rows.append(
                {
                    "compound": f"{name}O2" if task == "ao2" else name,
                    "chemical_family": family,
                    "part": "extrapolation" if family in ("actinides", "5d sulfides") else "interpolation",
                    "labels": [label],
                    "above_lowest": {
                        other: 0.0 if other == label else 12.5 * (1 + i) for i, other in enumerate(LABELS)
                    },
                }
            )
    return rows


def _about(run: Run) -> dict[str, Any]:
    return {
        "task": f"hepbench/{run.task}",
        "task_version": "1-A",
        "hepbench": "0.1.0",
        "harness": run.harness,
        "potential": "chgnet-0.3.0",
        "weights_sha256": "a" * 64,
        "reference_sha256": "b" * 64,
        "lab_budget": 160,
        "turn_limit": 150,
        "token_limit": None,
        **run.about,
    }


def _sample(run: Run) -> Sample:
    heldout = truths(run.task)
    return Sample(
        id=run.task,
        input="Which polymorph does the potential prefer?",
        target=[f"{row['compound']}: {row['labels'][0]}" for row in heldout],
        metadata={
            "about": _about(run),
            "rules": dict(run.rules),
            "journal": "off",
            "prediction": {"compounds": [row["compound"] for row in heldout], "labels": list(LABELS)},
            "heldout": heldout,
            "exploration_majority": "rutile",
            "exploration": [],
            "compositions": {},
        },
    )


@solver
def played(run: Run) -> Solver:
    """Play the script: hypotheses, evidence, verdicts, predictions."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        registry = begin(state, run.harness)
        if state.epoch in run.fails:
            raise RuntimeError(f"made to fail {run.statement}")
        stage = _Stage(state, registry)
        if run.harness == "hep" or run.statement.startswith("<"):
            _research(stage, run.statement)
        elif run.harness not in ("majority", "nearest_neighbour", "decision_tree", "closed_book"):
            stage.say(f"1. measure TiO2 2. {run.statement}")
            for _ in range(8):
                stage.measure()
        _predict(stage, run)
        close(registry, "finished by the agent")
        return state

    return solve


@dataclass
class _Stage:
    """Plays calls into the registry and writes them into the conversation as an agent's."""

    state: TaskState
    registry: Registry
    calls: int = 0

    def say(self, text: str) -> None:
        self.state.messages.append(ChatMessageAssistant(content=text, source="generate"))

    def call(self, tool: str, arguments: dict[str, Any], answer: Mapping[str, Any]) -> None:
        self.calls += 1
        call = ToolCall(id=f"call-{self.calls}", function=tool, arguments=arguments)
        self.state.messages.append(ChatMessageAssistant(content="", tool_calls=[call], source="generate"))
        self.state.messages.append(
            ChatMessageTool(content=json.dumps(answer), tool_call_id=call.id, function=tool)
        )

    def measure(self, compound: str = "TiO2") -> str:
        arguments = {"compound": compound, "prototypes": ["rutile", "anatase"]}
        answer = {
            "compound": compound,
            "lowest": "anatase",
            "ranking": [
                {"phase": "anatase", "above_lowest_meV_per_atom": 0.0},
                {"phase": "rutile", "above_lowest_meV_per_atom": 3.2},
            ],
        }
        result = self.registry.record_result(
            "compare_structures", arguments, answer, {"converged": True}, measurement=True
        )
        self.call("compare_structures", arguments, {"result": result, **answer})
        return result

    def propose(self, statement: str, prior: float, parents: Sequence[str] = ()) -> str:
        made = self.registry.propose(statement, prior, f"because {statement[:60]}", parents)
        self.call("propose_hypothesis", {"statement": statement}, {"hypothesis": made.id})
        return made.id

    def test(self, hypothesis: str, *steps: tuple[str, float]) -> None:
        self.move(hypothesis, "under_test")
        for stance, belief in steps:
            before = self.registry.state.hypotheses[hypothesis].belief
            results = [self.measure(c) for c in ("TiO2", "ZrO2")[: 1 + (stance != "inconclusive")]]
            self.registry.attach(
                hypothesis, results, stance, f"it {stance} {hypothesis}", belief, "as measured"
            )
            self.call(
                "attach_evidence",
                {"hypothesis": hypothesis},
                {"hypothesis": hypothesis, "belief_before": before, "belief": belief},
            )

    def move(self, hypothesis: str, to: str) -> None:
        before = self.registry.state.hypotheses[hypothesis].state
        self.registry.transition(hypothesis, to, f"time for {to}")
        self.call("transition_hypothesis", {"hypothesis": hypothesis, "to": to}, {"from": before, "to": to})


def _research(stage: _Stage, statement: str) -> None:
    first = stage.propose(statement, 0.4)
    stage.test(first, ("supports", 0.6), ("inconclusive", 0.6), ("supports", 0.9))
    second = stage.propose("d0 cations prefer anatase", 0.6)
    stage.test(second, ("contradicts", 0.3), ("contradicts", 0.14))
    stage.move(second, "refuted")
    third = stage.registry.refine(second, "d0 cations of the 3d row prefer anatase", 0.5, "only TiO2").id
    stage.call("refine_hypothesis", {"parent": second}, {"hypothesis": third})
    stage.test(third, ("supports", 0.7))
    joint = stage.registry.merge([first, third], "size decides first, then the d count", 0.7, "both hold").id
    stage.call("merge_hypotheses", {"parents": [first, third]}, {"hypothesis": joint})
    stage.test(joint, ("supports", 0.85), ("supports", 0.97))
    stage.move(first, "supported")
    stage.move(third, "dormant")
    stage.move(joint, "supported")
    stage.propose("p-block dioxides follow electronegativity", 0.5, [joint])


def _predict(stage: _Stage, run: Run) -> None:
    rng = random.Random(f"{run.model}/{run.harness}/{run.seed}/{stage.state.epoch if run.noise else 0}")  # noqa: S311
    predictions = []
    for row in truths(run.task):
        wrong = [label for label in LABELS if label not in row["labels"]]
        is_right = rng.random() < run.accuracy
        predictions.append(
            {
                "compound": row["compound"],
                "label": row["labels"][0] if is_right else rng.choice(wrong),
                "confidence": round(0.55 + 0.4 * rng.random(), 2),
            }
        )
    stage.registry.predict(predictions, run.statement, [r["compound"] for r in truths(run.task)], LABELS)
    stage.call("submit_predictions", {"predictions": predictions}, {"accepted": len(predictions)})
