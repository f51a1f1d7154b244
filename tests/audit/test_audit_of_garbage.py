"""A file that is no log gets one line of error, and no verdict."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from hepbench.benchmark.cli import app


def test_nothing_read_is_not_called_clean(tmp_path: Path) -> None:
    path = tmp_path / "g.eval"
    path.write_text("garbage\n")
    done = CliRunner().invoke(app, ["audit", str(path)])
    assert done.exit_code == 2
    assert "clean" not in done.output
    assert "cannot be read" in done.output
