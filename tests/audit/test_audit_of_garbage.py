"""A file that is no log gets one line of error, and no verdict."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from forging import Edit, Sample, forge
from honest_runs import scientist_log
from typer.testing import CliRunner

from hepbench.benchmark.cli import app


def every(kind: str, **changed: Any) -> Edit:
    """Give the transcript's events of a kind other values."""

    def edit(sample: Sample) -> None:
        for event in sample["events"]:
            if event["event"] == kind:
                event.update(changed)

    return edit


def about(sample: Sample) -> None:
    sample["metadata"]["about"] = ["x"]


MISSHAPEN: dict[str, Edit] = {
    "events no list": lambda sample: sample.update(events=5),
    "events no objects": lambda sample: sample.update(events=["x"]),
    "tools no list": every("model", tools=5),
    "an error that is a text": every("tool", error="x"),
    "changes no list": every("store", changes=5),
    "attachments no object": lambda sample: sample.update(attachments=["x"]),
    "store no object": lambda sample: sample.update(store=["x"]),
    "metadata no object": lambda sample: sample.update(metadata=["x"]),
    "about no object": about,
    "held-outs no list": lambda sample: sample["metadata"].update(heldout=5),
    "prediction no object": lambda sample: sample["metadata"].update(prediction=["x"]),
}


@pytest.mark.parametrize("edit", MISSHAPEN.values(), ids=MISSHAPEN)
def test_a_misshapen_log_costs_itself_alone(
    edit: Edit,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEPBENCH_CACHE", "off")
    honest = scientist_log(tmp_path_factory.getbasetemp())
    shutil.copy(honest, tmp_path / "good.eval")
    forge(honest, tmp_path / "bad.eval", edit, lambda header: header["eval"].update(eval_id="another"))
    for command in (["leaderboard"], ["report", "-o", str(tmp_path / "site")]):
        done = CliRunner().invoke(app, [*command, str(tmp_path)])
        assert done.exit_code == 0, (command, done.output)
        assert done.exception is None
    pages = len(list((tmp_path / "site" / "runs").glob("*.html")))
    assert f"({pages} run" in done.output  # the report's
    shown = CliRunner().invoke(app, ["leaderboard", str(tmp_path)])
    assert "hepbench/scientist" in shown.output
    assert "bad.eval: " in shown.output
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "bad.eval")])
    assert done.exit_code in (0, 1, 2), done.output
    assert isinstance(done.exception, SystemExit | None)


def test_nothing_read_is_not_called_clean(tmp_path: Path) -> None:
    path = tmp_path / "g.eval"
    path.write_text("garbage\n")
    done = CliRunner().invoke(app, ["audit", str(path)])
    assert done.exit_code == 2
    assert "clean" not in done.output
    assert "cannot be read" in done.output
