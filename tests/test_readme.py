"""What the README shows is what the commands print."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from hepbench.benchmark.cli import app

README = Path(__file__).parents[1] / "README.md"
COMMAND = ("reference", "show", "ao2", "--markdown")


def between(text: str, marker: str) -> str:
    """What stands between `<!-- marker -->` and `<!-- /marker -->`."""
    begin, end = f"<!-- {marker} -->\n", f"<!-- /{marker} -->"
    assert text.count(begin) == text.count(end) == 1
    return text.split(begin)[1].split(end, maxsplit=1)[0].strip()


def test_the_table_of_truth() -> None:
    printed = CliRunner().invoke(app, list(COMMAND))
    assert printed.exit_code == 0, printed.output
    shown = between(README.read_text(encoding="utf-8"), "truth")
    assert shown == printed.output.strip(), "the reference set was built anew: make readme"
