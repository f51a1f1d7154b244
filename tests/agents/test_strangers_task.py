"""HEP on a task that is not ours: its own tools are the laboratory, its own scorer judges its own answer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, score
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ChatMessageTool, Model
from inspect_ai.scorer import includes
from inspect_ai.solver import use_tools
from inspect_ai.tool import ContentImage, ContentText, Tool, ToolError, tool

from hepbench.harness.agents.hep import hep
from hepbench.harness.agents.planning import planning
from hepbench.harness.protocol import events as ev
from hepbench.harness.protocol.store import RegistryStore
from hepbench.reports.audit.audit import audit
from hepbench.scorers import hypothesis_count, resolution_rate, step_mix


@tool
def weigh() -> Tool:
    async def execute(ball: int, times: int = 1) -> float:
        """Weigh a ball.

        Args:
            ball: Its number.
            times: How often.
        """
        if ball > 8:
            raise ToolError("There is no such ball.")
        return 1.5 if ball == 3 else 1.0

    return execute


@tool(parallel=True)
def photograph() -> Tool:
    async def execute() -> list[Any]:
        """Take a photograph."""
        return [ContentText(text="eight balls"), ContentImage(image="data:image/png;base64,iVBORw0KGgo=")]

    return execute


def odd_ball(**options: Any) -> Task:
    return Task(
        dataset=[Sample(id="balls", input="Which of eight balls is heavier? Answer its number.", target="3")],
        solver=[use_tools([weigh(), photograph()]), hep()],
        scorer=includes(),
        name="odd_ball",
        **options,
    )


STEPS: list[Any] = [
    ("propose_hypothesis", {"statement": "ball 3 is the heavier one", "prior": 0.2, "rationale": "a guess"}),
    ("transition_hypothesis", {"hypothesis": "H1", "to": "under_test", "rationale": "go"}),
    ("weigh", {"ball": 3}),
    ("weigh", {"ball": 9}),
    ("photograph", {}),
    (
        "attach_evidence",
        {
            "hypothesis": "H1",
            "results": ["R1", "R2"],
            "stance": "supports",
            "summary": "1.5",
            "belief": 0.95,
            "rationale": "x",
        },
    ),
    ("transition_hypothesis", {"hypothesis": "H1", "to": "supported", "rationale": "clear"}),
    ("finish_research", {"summary": "ball 3"}),
    "It is ball 3.",
]


@pytest.fixture
def run(tmp_path: Path, scripted: Callable[..., Model]) -> Callable[..., EvalLog]:
    def go(task: Task, steps: list[Any], **options: Any) -> EvalLog:
        log_dir = str(tmp_path / "logs")
        return inspect_eval(task, model=scripted(steps), log_dir=log_dir, display="none", **options)[0]

    return go


def test_the_strangers_answer_is_scored_by_the_strangers_scorer(run: Callable[..., EvalLog]) -> None:
    log = run(odd_ball(), STEPS)
    assert log.status == "success", log.error
    assert log.samples
    sample = log.samples[0]
    assert sample.scores
    assert sample.scores["includes"].value == "C"
    assert sample.output.completion == "It is ball 3."
    events = sample.store_as(RegistryStore).run.events
    assert ev.chain_faults(events) == []
    state = sample.store_as(RegistryStore).state()
    assert state.ended == "finished by the agent"
    assert state.hypotheses["H1"].state == "supported"
    assert [(r.tool, r.measurement) for r in state.results.values()] == [
        ("weigh", True),
        ("photograph", True),
    ]
    answers = [m for m in sample.messages if isinstance(m, ChatMessageTool)]
    assert next(m.text for m in answers if m.function == "weigh") == "[R1] 1.5"
    assert next(m for m in answers if m.function == "photograph").text == "[R2]\neight balls"
    recorded = next(e for e in events if e.type == "LabResultRecorded").payload
    assert recorded["arguments"] == {"ball": 3, "times": 1}
    assert audit(log.location).clean
    assert recorded["answer"] == {"result": "R1", "text": "1.5", "characters": 3}


def test_protocol_scorers_work_on_the_strangers_log(run: Callable[..., EvalLog]) -> None:
    log = run(odd_ball(), STEPS)
    again = score(log, [hypothesis_count(), resolution_rate(), step_mix()], action="append", display="none")
    assert again.results is not None
    found = {s.name: s.metrics for s in again.results.scores}
    assert found["hypothesis_count"]["mean"].value == 1
    assert found["resolution_rate"]["mean"].value == 1
    assert found["step_belief"]["mean"].value == pytest.approx(1 / 10)  # of ten: one call is two steps
    assert "includes" in found


def test_a_string_names_the_solver(run: Callable[..., EvalLog]) -> None:
    """As `inspect eval odd_ball.py --solver hepbench/hep` does."""
    from inspect_ai._eval.loader import solver_from_spec
    from inspect_ai.solver import SolverSpec

    given = {"turn_limit": 2}
    found = solver_from_spec(SolverSpec("hepbench/hep", given, given))
    steps = [("weigh", {"ball": 1}), ("weigh", {"ball": 3}), "ball 3"]
    log = run(odd_ball(), steps, solver=[use_tools([weigh()]), found])
    assert log.samples
    assert log.samples[0].store_as(RegistryStore).state().ended == "turn limit"
    assert log.samples[0].output.completion == "ball 3"


def test_planning_on_a_strangers_task(run: Callable[..., EvalLog]) -> None:
    steps = [
        ("submit_plan", {"steps": ["weigh all"], "rationale": "x"}),
        ("weigh", {"ball": 3}),
        ("finish_research", {"summary": "3"}),
        "3",
    ]
    log = run(odd_ball(), steps, solver=[use_tools([weigh()]), planning()])
    assert log.samples
    assert log.samples[0].output.completion == "3"
    assert (log.samples[0].scores or {})["includes"].value == "C"


def test_the_example_of_the_docs(tmp_path: Path) -> None:
    """As it stands there: one file, and `--solver hepbench/hep` on the command line."""
    text = (Path(__file__).parents[2] / "docs" / "own_questions.md").read_text(encoding="utf-8")
    example = text.split("```python\n")[1].split("```")[0]
    (tmp_path / "balls.py").write_text(example, encoding="utf-8")
    inspect = str(Path(sys.executable).with_name("inspect"))
    command = [inspect, "eval", "balls.py", "--model", "hepbench/hasty", "--solver", "hepbench/hep"]
    subprocess.run([*command, "--log-dir", "logs", "--display", "none"], cwd=tmp_path, check=True)
    log = read_eval_log(str(next((tmp_path / "logs").glob("*.eval"))))
    assert log.status == "success", log.error
    assert log.samples
    assert log.samples[0].store_as(RegistryStore).state().about["harness"] == "hep"
    assert "includes" in (log.samples[0].scores or {})


def test_the_library_is_offered_at_the_top() -> None:
    import hepbench.harness as offered

    for name in offered.__all__:
        assert callable(getattr(offered, name)), name
    with pytest.raises(AttributeError, match="nothing"):
        _ = offered.nothing
