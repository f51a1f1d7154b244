"""Text in logs comes from models: no form of output may run, format or swallow it."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from made_logs import HOSTILE
from rich.console import Console
from typer.testing import CliRunner
from unaudited import unaudited

from hepbench.benchmark.check import Margins, check_runs, make_baseline
from hepbench.benchmark.check import forms as check_forms
from hepbench.benchmark.cli import app
from hepbench.benchmark.compare import compare_sides, sides
from hepbench.benchmark.compare import forms as compare_forms
from hepbench.benchmark.leaderboard import forms
from hepbench.benchmark.leaderboard.build import build_leaderboard
from hepbench.benchmark.leaderboard.collect import Collection, collect
from hepbench.benchmark.leaderboard.plain import csv_text, markdown_text
from hepbench.reports.pages import leaderboard_page

UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def found(hostile_logs: Path) -> Collection:
    return collect([str(hostile_logs)], unaudited)


def terminal(renderable: object) -> str:
    out = io.StringIO()
    Console(file=out, width=200, force_terminal=True, color_system=None).print(renderable)
    return out.getvalue()


def test_csv_cells_are_no_formulas(found: Collection) -> None:
    for row in csv.reader(io.StringIO(forms.to_csv(build_leaderboard(found)))):
        for cell in row:
            assert not re.match(r"[=+@\t\r|%]|-[^0-9]", cell)
            assert not UNSEEN.search(cell)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r=", " =", "%", "|"])
def test_whatever_starts_a_formula_is_quoted(start: str) -> None:
    assert csv_text(f"{start}1+1").startswith("'")


def test_markdown_shows_the_text_itself(found: Collection) -> None:
    board = forms.to_markdown(build_leaderboard(found))
    for text in (board, markdown_text(HOSTILE, 10_000)):
        assert "<script" not in text
        assert "<img" not in text
        assert not UNSEEN.search(text)
    escaped = markdown_text(HOSTILE, 10_000)
    assert r"\*\*bold\*\*" in escaped
    assert r"\[link\]" in escaped
    assert r"\| a \| b \|" in escaped
    assert "https://" not in escaped
    rows = [line for line in board.splitlines() if line.startswith("|")]
    cells = {len(re.split(r"(?<!\\)\|", row)) - 2 for row in rows}
    assert cells == {10, 14, 7}  # the three tables' columns, whatever stands in them


def test_the_terminal_gets_no_escape_codes(found: Collection) -> None:
    shown = terminal(forms.to_terminal(build_leaderboard(found)))
    assert "\x1b" not in shown
    assert not UNSEEN.search(shown.replace("\n", ""))


def test_json_holds_it_as_data(found: Collection) -> None:
    document = json.loads(forms.to_json(build_leaderboard(found)))
    assert any("<img" in entry["model"] for entry in document["entries"])


def test_comparisons(hostile_logs: Path) -> None:
    models = collect([str(hostile_logs)], unaudited)
    hostile = next(model for model, _ in models.entries if "<img" in model)
    result = compare_sides(*sides(hostile, "mockllm/model-a", [str(hostile_logs)], unaudited))
    assert "<img" not in compare_forms.to_markdown(result)
    assert "\x1b" not in terminal(compare_forms.to_terminal(result))
    assert json.loads(compare_forms.to_json(result))["a"] == hostile


def test_verdicts(found: Collection) -> None:
    verdict = check_runs(make_baseline(found), found.where(lambda run: "fails" in run.model), Margins())
    root = ET.fromstring(check_forms.to_junit(verdict))  # noqa: S314 - we wrote it
    assert root.find(".//script") is None
    assert "<img" not in check_forms.to_markdown(verdict)
    assert "\x1b" not in terminal(check_forms.to_terminal(verdict))


class Tags(HTMLParser):
    """Every element of a page, with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def assert_harmless(page: str) -> None:
    parser = Tags()
    parser.feed(page)
    for tag, attributes in parser.seen:
        assert tag not in ("img", "iframe", "object", "embed", "base", "form")
        assert not any(name.startswith("on") for name in attributes)
        assert not str(attributes.get("href", "")).lower().startswith("javascript")
    body = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert "{{" not in body.replace("{{ 7 * 7 }}", "")
    assert not UNSEEN.search(body.replace("\n", ""))


def test_pages(hostile_logs: Path, found: Collection, tmp_path: Path, no_audit: None) -> None:
    assert_harmless(leaderboard_page(build_leaderboard(found)))
    done = CliRunner().invoke(app, ["report", str(hostile_logs), "-o", str(tmp_path / "site")])
    assert done.exit_code == 0, done.output
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) == 4
    for page in pages:
        assert_harmless(page.read_text(encoding="utf-8"))
        assert re.fullmatch(r"[A-Za-z0-9._-]+", page.name)
