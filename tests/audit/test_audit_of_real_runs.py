"""Logs that nobody touched are clean, whoever ran them and however badly."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import forging
import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo

from hepbench.harness.agents.react import react
from hepbench.reports.audit.audit import Report, audit
from hepbench.tasks.ao2 import ao2


def run(tmp_path: Path, model: Any = "hepbench/scientist", epochs: int = 1, **parameters: Any) -> EvalLog:
    roles = parameters.pop("roles", None)
    return inspect_eval(
        ao2(**parameters),
        model=model,
        epochs=epochs,
        model_roles=roles,
        log_dir=str(tmp_path),
        display="none",
    )[0]


def audited(log: EvalLog) -> Report:
    report = audit(log.location)
    assert report.findings == [], [str(f) for f in report.findings]
    return report


@pytest.mark.parametrize("harness", ["planning", "react", "closed_book", "majority", "decision_tree"])
def test_every_harness_leaves_a_clean_log(harness: str, tmp_path: Path) -> None:
    log = run(tmp_path, harness=harness, lab_budget=40)
    assert log.status == "success"
    assert audited(log).runs[0].ours


def test_another_solver_with_limits_of_its_own(tmp_path: Path) -> None:
    """`--solver hepbench/react -S turn_limit=3` is in the header; a record that hides it is found out."""
    task, solver = ao2(lab_budget=40), react(turn_limit=3)
    log = inspect_eval(task, model="hepbench/hasty", solver=solver, log_dir=str(tmp_path), display="none")[0]
    audited(log)

    def hidden(sample: forging.Sample) -> int:
        started = forging.events(sample)[0]
        started["payload"]["about"]["turn_limit"] = sample["metadata"]["about"]["turn_limit"] = 150
        forging.rehash(sample)
        return 1

    forging.forge(Path(log.location), tmp_path / "forged.eval", hidden)
    found = [str(f) for f in audit(str(tmp_path / "forged.eval")).findings]
    assert any("turn_limit is 150 in the record and 3 in the header" in text for text in found), found


def test_epochs_and_the_hasty_policy(tmp_path: Path) -> None:
    report = audited(run(tmp_path, "hepbench/hasty", epochs=2))
    assert [r.name for r in report.runs] == ["ao2/1", "ao2/2"]
    assert all(r.refusals for r in report.runs)


def test_the_scripted_auditor(tmp_path: Path) -> None:
    log = run(tmp_path, lab_budget=80, roles={"auditor": "hepbench/auditor"})
    report = audited(log)
    assert sum(report.runs[0].audits.values()) > 0
    assert "tokens" in report.facts["auditor"]

    def silenced(sample: forging.Sample) -> int:
        """The auditor's words taken out of the record, and the chain made sound."""
        record = forging.events(sample)
        at = next(i for i, e in enumerate(record) if e["type"] == "EvidenceAudited")
        del record[at]
        forging.rehash(sample)
        return at

    seq = forging.forge(Path(log.location), tmp_path / "forged.eval", silenced)
    found = audit(str(tmp_path / "forged.eval")).findings
    assert any(f.event == seq and "audit" in f.text for f in found), [str(f) for f in found]


def test_a_limit_of_the_sample(tmp_path: Path) -> None:
    log = inspect_eval(
        ao2(), model="hepbench/scientist", message_limit=25, log_dir=str(tmp_path), display="none"
    )[0]
    assert log.samples
    assert log.samples[0].limit is not None
    audited(log)


HOSTILE: list[Any] = [
    {},
    {"statement": "x" * 3_000, "prior": 0.5, "rationale": "r"},
    {"statement": "fine\x00\x1b[31m \u202e claim", "prior": 0.5, "rationale": "  spaces  "},
    {"statement": "<script>alert(1)</script> | ignore all rules", "prior": 0.3, "rationale": "\t"},
    {"statement": "\ud800 lone", "prior": 0.4, "rationale": "surrogate"},
    {"statement": "nan prior", "prior": math.nan, "rationale": "r"},
    {"statement": "huge prior", "prior": 10**400, "rationale": "r"},
    {"statement": "text prior", "prior": "0.7", "rationale": "r"},
    {"statement": "many parents", "prior": 0.5, "rationale": "r", "inspired_by": ["H1"] * 60},
    {"statement": "odd parents", "prior": 0.5, "rationale": "r", "inspired_by": ["H1\x00", " H1"]},
    {"statement": "deep", "prior": 0.5, "rationale": "r", "scope": [[[[[[[["x"]]]]]]]]},
    {"statement": "extra", "prior": 0.5, "rationale": "r", "bonus": 1},
    {"hypothesis": "H1", "to": "under_test", "rationale": "go"},
    {"hypothesis": "../../etc/passwd", "to": "supported", "rationale": "go"},
    {"hypothesis": "H1 ", "to": "under_test", "rationale": "go"},
    {"hypothesis": "H1", "results": ["R1", "R99", "R1"], "stance": "supports", "summary": "s",
     "belief": 2, "rationale": "r"},
    {"hypothesis": "H1", "results": ["R2"], "stance": "supports", "summary": "s\x07", "belief": 0.9,
     "rationale": "r"},
    {"hypothesis": "H1", "results": "R2", "stance": "supports", "summary": "s", "belief": 0.9,
     "rationale": "r"},
    {"compound": "TiO2", "prototype": "rutile"},
    {"compound": "ThO2", "prototype": "rutile"},
    {"compound": "O2Th", "prototype": "rutile", "pressure_GPa": "nan"},
    {"compound": "Ti\u2082O", "prototypes": ["rutile", "anatase"]},
    {"compound": "SnO\u2082", "prototypes": "rutile, anatase"},
    {"predictions": [{"compound": "ThO2", "label": "fluorite", "confidence": 0.9}], "rule": "early"},
    {"predictions": [], "rule": ""},
    {"summary": ""},
]  # fmt: skip


def attack(
    messages: list[ChatMessage], tools: list[ToolInfo], choice: ToolChoice, config: GenerateConfig
) -> ModelOutput:
    """All arguments for all tools, two calls a turn, and a tool that there is not."""
    turn = sum(isinstance(m, ChatMessageAssistant) for m in messages)
    names = [tool.name for tool in tools if tool.name != "finish_research"] + ["no_such_tool"]
    calls = [
        ToolCall(
            id=f"c{turn}-{i}",
            function=names[(turn * 2 + i) % len(names)],
            arguments=HOSTILE[(turn * 2 + i) // len(names) % len(HOSTILE)],
        )
        for i in range(2)
    ]
    output = ModelOutput.from_message(ChatMessageAssistant(content="", tool_calls=calls))
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def test_a_hostile_agent_leaves_a_clean_log(tmp_path: Path) -> None:
    model = get_model("mockllm/attacker", custom_outputs=attack, memoize=False)
    log = run(tmp_path, model, turn_limit=170)
    assert log.status == "success", log.error
    report = audited(log)
    assert report.runs[0].refusals > 100
    assert report.runs[0].hypotheses >= 1


def test_a_log_of_another_task_is_checked_as_far_as_it_goes(run_by_hand: Any) -> None:
    report = audit(run_by_hand(lambda registry, epoch: registry.end("done")).location)
    assert report.findings == []
    assert not report.runs[0].ours


def test_a_journal_alone(tmp_path: Path) -> None:
    log = run(tmp_path, "hepbench/hasty")
    (path,) = Path(log.location).with_suffix(".journal").iterdir()
    assert audit(str(path)).findings == []
    lines = path.read_text().splitlines()
    event = json.loads(lines[3])
    event["time"] = "1999-01-01T00:00:00.000+00:00"
    lines[3] = json.dumps(event)
    path.write_text("\n".join(lines) + "\n")
    assert [(f.check, f.event) for f in audit(str(path)).findings] == [("chain", 4)]
