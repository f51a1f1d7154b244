"""`hepbench scores`: the table, and what it says of logs that cannot be read."""

from __future__ import annotations

import io
import math
import random
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import score
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import TaskState
from rich.console import Console
from typer.testing import CliRunner

from hepbench import scorers
from hepbench.benchmark.cli import app
from hepbench.harness.protocol.registry import Registry
from hepbench.reports.logs import LogError, newest_log, read_log
from hepbench.reports.scores import Row, print_report, rows

RunByHand = Callable[..., EvalLog]
LABELS = ("rutile", "anatase", "fluorite")
HOSTILE = "[bold red]x[/] \x1b[31mred\x1b[0m \x1b]0;title\x07 \u202egnp\n[/nothing] " + "long " * 2000


def play(registry: Registry, epoch: int) -> None:
    """Each epoch one hypothesis more, the third with predictions."""
    for name in ["first", "second", "third"][:epoch]:
        registry.propose(f"the {name} of its kind", 0.5, "why")
    if epoch == 3:
        registry.predict(
            [{"compound": "ThO2", "label": "fluorite", "confidence": 0.5}], "rule", ("ThO2",), LABELS
        )
    registry.end("finished by the agent" if epoch < 3 else "turn limit")


def shown(log: EvalLog, width: int = 100) -> str:
    out = io.StringIO()
    print_report(read_log(log.location), Console(file=out, width=width, force_terminal=False))
    return out.getvalue()


def by_label(log: EvalLog) -> dict[str, Row]:
    return {row.label: row for row in rows(read_log(log.location))}


def invoke(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["scores", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_one_run(run_by_hand: RunByHand) -> None:
    log = run_by_hand(play)
    text = shown(log)
    for expected in ("by-hand, version 1-A", "mockllm/model", "hep", "chgnet-0.3.0", "1 of 1", "success"):
        assert expected in text
    assert "finished by the agent (1)" in text
    assert "stderr" not in text
    assert "0 of 3 held-out compounds right" in text
    assert text.rstrip().endswith(log.location.removeprefix("file://"))
    assert [line.split() for line in text.splitlines() if line.startswith("hypothesis_count")] == [
        ["hypothesis_count", "1"]
    ]
    row = by_label(log)["heldout_accuracy"]
    assert row == Row("heldout_accuracy", "heldout_accuracy", 0.0, None, "", headline=True)


def test_epochs_have_a_standard_error(run_by_hand: RunByHand) -> None:
    log = run_by_hand(play, epochs=3)
    found = by_label(log)
    counts = [1, 2, 3]
    assert found["hypothesis_count"].value == 2
    assert found["hypothesis_count"].stderr == pytest.approx(statistics.stdev(counts) / math.sqrt(3))
    assert found["heldout_accuracy"].value == pytest.approx(1 / 9)
    assert found["heldout_accuracy"].stderr == pytest.approx(1 / 9)  # of 0, 0 and 1/3
    assert found["heldout_accuracy"].headline
    assert found["brier"].note == "scored in 1 of 3 runs"
    assert found["brier"].stderr is None
    text = shown(log)
    assert "stderr" in text
    assert "3 of 3, 3 epochs, 0 with an error" in text
    assert "finished by the agent (2), turn limit (1)" in text


@scorer(metrics=[mean()])
def first_letter() -> Scorer:
    async def judge(state: TaskState, target: Target) -> Score:
        return Score(value=float(state.sample_id == "a"))

    return judge


def test_several_samples_are_averaged_over_epochs_first() -> None:
    from inspect_ai import Task
    from inspect_ai import eval as inspect_eval
    from inspect_ai.dataset import Sample

    samples = [Sample(id=name, input="?") for name in "abcd"]
    task = Task(dataset=samples, solver=[], scorer=first_letter())
    log = inspect_eval(task, model="mockllm/model", epochs=2, display="none")[0]
    row = by_label(log)["first_letter"]
    assert row.value == 0.25
    assert row.stderr == pytest.approx(statistics.stdev([1, 0, 0, 0]) / 2)


def test_what_is_not_scored_says_why(run_by_hand: RunByHand) -> None:
    log = run_by_hand(lambda registry, epoch: None, harness="planning")
    assert by_label(log)["resolution_rate"].note == "the harness planning keeps no registry"
    (line,) = [line for line in shown(log).splitlines() if line.startswith("resolution_rate")]
    assert " ".join(line.split()) == "resolution_rate – the harness planning keeps no registry"


@pytest.mark.parametrize(
    ("model", "label"),
    [
        ("hepbench/scientist", "hepbench/scientist (scripted policy, not an LLM)"),
        ("openai/gpt-5.5", "openai/gpt-5.5\n"),
    ],
)
def test_a_scripted_policy_is_labelled(run_by_hand: RunByHand, model: str, label: str) -> None:
    log = run_by_hand(play)
    log.eval.model = model
    write_eval_log(log)
    text = "\n".join(line.rstrip() for line in shown(log).splitlines()) + "\n"
    assert label in text


def test_a_floor_is_labelled(run_by_hand: RunByHand) -> None:
    log = run_by_hand(lambda registry, epoch: None, harness="majority")
    assert "majority (a floor: it asks no model)" in shown(log)


def test_text_from_logs_is_harmless(run_by_hand: RunByHand) -> None:
    log = run_by_hand(play, harness=HOSTILE)
    log.eval.task = log.eval.model = log.eval.task_version = HOSTILE
    assert log.results is not None
    assert log.samples is not None
    for result in log.results.scores:
        result.name = HOSTILE
    for given in (log.samples[0].scores or {}).values():
        given.explanation = HOSTILE
    write_eval_log(log)
    text = shown(log)
    assert "[bold red]x[/]" in text
    assert not any(c in text for c in "\x1b\x07\u202e")
    assert max(map(len, text.splitlines())) <= 300
    assert len(text) < 40_000


def test_scored_again_it_shows_the_same(run_by_hand: RunByHand) -> None:
    log = run_by_hand(play, epochs=3)
    before = shown(log)
    again = score(read_eval_log(log.location), scorers.suite_scorers(), action="overwrite", display="none")
    write_eval_log(again, log.location)
    assert shown(log) == before


def test_the_command(run_by_hand: RunByHand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older, newer = run_by_hand(play), run_by_hand(play, epochs=2)
    code, out, err = invoke(older.location.removeprefix("file://"))
    assert (code, err) == (0, "")
    assert "1 of 1" in out
    assert "2 of 2" in invoke(str(tmp_path / "logs"))[1]
    assert "2 of 2" in invoke()[1]  # from INSPECT_LOG_DIR
    monkeypatch.delenv("INSPECT_LOG_DIR")
    monkeypatch.chdir(tmp_path)
    code, out, _ = invoke()  # from ./logs
    assert code == 0
    assert out.rstrip().endswith(f"log: logs/{Path(newer.location).name}")


def test_a_run_that_failed_exits_1(run_by_hand: RunByHand) -> None:
    log = run_by_hand(play, metadata={})
    code, out, _ = invoke(log.location.removeprefix("file://"))
    assert code == 1
    assert "error: " in out
    assert "No scores in this log." in out


BAD: dict[str, bytes] = {
    "empty.eval": b"",
    "garbage.eval": b"\x00\x01garbage" * 50,
    "empty.json": b"",
    "other.json": b'{"a": 1}',
    "list.json": b"[]",
    "half.json": b'{"version": 2, "status": "success", "eval": {',
    "notes.txt": b"hello",
    "zip.eval": b"PK\x05\x06" + b"\0" * 18,
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_unreadable_logs_are_one_line_and_exit_2(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(BAD[name])
    code, out, err = invoke(str(path))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith("hepbench scores: ")
    assert name in err


@pytest.mark.parametrize("name", ["nowhere", "nowhere.eval", "empty-folder", "\x1b[31m[red]x.eval"])
def test_missing_logs_are_one_line_and_exit_2(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty-folder").mkdir()
    code, out, err = invoke(str(tmp_path / name))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "\x1b" not in err


def test_a_damaged_log_is_refused_whatever_is_wrong_with_it(run_by_hand: RunByHand, tmp_path: Path) -> None:
    whole = Path(run_by_hand(play).location.removeprefix("file://")).read_bytes()
    chance = random.Random(1)  # noqa: S311 (no secret)
    path = tmp_path / "damaged.eval"
    refused = 0
    for n in range(60):
        damaged = bytearray(whole[: chance.randrange(len(whole))] if n % 2 else whole)
        for _ in range(0 if n % 2 else 30):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        try:
            read_log(str(path))
        except LogError as e:
            refused += 1
            assert len(str(e).splitlines()) == 1  # noqa: PT017
    assert refused > 30


def test_newest_by_time_of_change(run_by_hand: RunByHand, tmp_path: Path) -> None:
    import os

    first, second = (Path(run_by_hand(play).location.removeprefix("file://")) for _ in range(2))
    folder = str(tmp_path / "logs")
    os.utime(first, (1, 1))
    assert Path(newest_log(folder)).name == second.name
    os.utime(second, (0, 0))
    assert Path(newest_log(folder)).name == first.name


def test_the_journal_of_a_run_in_progress(run_by_hand: RunByHand) -> None:
    """A log without results, as a killed run leaves it."""
    log = run_by_hand(play)
    log.status, log.results = "started", None
    write_eval_log(log)
    code, out, _ = invoke(log.location.removeprefix("file://"))
    assert code == 1
    assert "started" in out
    assert "No scores in this log." in out


def test_values_of_any_size_and_kind() -> None:
    from hepbench.reports.scores import _number

    given: dict[Any, str] = {0.0: "0.000", 1.0: "1.000", -0.5: "-0.500", 123456.0: "123456", 1e3: "1000"}
    assert {value: _number(value) for value in given} == given
    assert _number(math.nan) == "–"
    assert _number(math.inf) == "inf"
