"""What a site is made of, without a browser."""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import made_folders
import pytest
from honest_runs import scientist_log
from typer.testing import CliRunner
from unaudited import saying, unaudited

from hepbench.benchmark.cli import app
from hepbench.harness.laboratory.reference import ReferenceSet
from hepbench.reports.board import Leaderboard
from hepbench.reports.figures.family_map import family_map, place_of_element
from hepbench.reports.figures.structures import phase_structures
from hepbench.reports.gather import detailed_runs, find_logs
from hepbench.reports.pages.environment import ASSETS, data_block
from hepbench.reports.pages.site import write_site
from hepbench.tasks import families

VENDORED = {
    "d3.min.js": "912111098ea99503a6f4967361d2bbdc9dbf58cf9c678c8e27e5b02d1a07f0c1",
    "plot.umd.min.js": "4358086467740777dd788d6b27a95cebdbaefdd50c730a3060117073bd7134cb",
}


@pytest.fixture
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_folders.site_logs(tmp_path_factory.getbasetemp())


def test_pages_name_nothing_outside(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for address in re.findall(r'(?:src|href)="([^"]*)"', text):
            assert not re.match(r"(https?:)?//", address), (page.name, address)
        assert "default-src 'none'" in html.unescape(text)


TABLES = {
    "accuracy": 'aria-label="Ranking table"',
    "cost": 'aria-label="Cost table"',
    "scaling": 'aria-label="Process table"',
    "mechanisms": 'aria-label="Process table"',
    "steps": 'aria-label="Step mix table"',
    "tree": 'aria-label="Table of hypotheses"',
    "beliefs": 'aria-label="Beliefs"',
    "mix": "<summary>Step mix as a table",
    "flow": 'aria-label="Step flow"',
    "flow_beside": 'aria-label="Step flow of the other harness"',
    "map": 'aria-label="Table of predictions"',
    "energies": 'aria-label="Energies"',
}
"""Figure → what stands right before its table."""


def test_every_figure_has_a_table(site: Path) -> None:
    drawn: set[str] = set()
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        figures = set(re.findall(r'data-figure="(\w+)"', text))
        drawn |= figures
        for figure in figures:
            section = next(s for s in text.split("<section") if f'data-figure="{figure}"' in s)
            _, found, after = section.partition(TABLES[figure])
            assert found, (page.name, figure)
            assert "<table" in after[:80], (page.name, figure)
    assert drawn >= {"accuracy", "cost", "scaling", "tree", "beliefs", "map"}


def test_the_cost_table_has_what_the_figure_shows(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    table = text.partition('aria-label="Cost table"')[2].partition("</table>")[0]
    assert '>accuracy</th><th scope="col">Pareto front in</th>' in table
    assert "laboratory calls" in table.partition("<tbody>")[2]  # somebody is on the Pareto front


def test_what_the_map_shows_of_exploration_is_in_a_table(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    runs = detailed_runs(str(scientist_log(tmp_path_factory.getbasetemp())))
    write_site(tmp_path, Leaderboard(suite=(), entries=(), left_out=()), runs)
    (page,) = (tmp_path / "runs").glob("*.html")
    text = page.read_text(encoding="utf-8")
    data = json.loads(re.findall(r'id="figure-data"[^>]*>(.*?)</script>', text, flags=re.DOTALL)[0])
    drawn = [cell["compound"] for cell in data["map"]["cells"] if cell["part"] == "exploration"]
    table = text.partition('aria-label="Compounds open to exploration"')[2].partition("</table>")[0]
    assert re.findall(r'<th scope="row">(.*?)</th>', table) == drawn
    assert len(drawn) > 10


def test_a_copy_of_a_log_has_a_page_and_a_doubt_of_its_own(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    honest = scientist_log(tmp_path_factory.getbasetemp())
    copy = shutil.copy(honest, tmp_path / "copy.eval")
    runs = [run for where in (str(honest), str(copy)) for run in detailed_runs(where)]
    write_site(tmp_path, Leaderboard(suite=(), entries=(), left_out=()), runs, {str(copy): "it is forged"})
    pages = sorted((tmp_path / "runs").glob("*.html"))
    assert ["it is forged" in page.read_text(encoding="utf-8") for page in pages] == [False, True]


def test_pages_of_a_former_site_go_and_other_files_stay(logs: Path, tmp_path: Path) -> None:
    runs = [r for where in find_logs([str(logs)]) for r in detailed_runs(where)]
    board = Leaderboard(suite=(), entries=(), left_out=())
    write_site(tmp_path, board, runs[:2])
    (tmp_path / "runs" / "mine.html").write_text("<p>my notes")
    before = {path.name for path in (tmp_path / "runs").iterdir()}
    write_site(tmp_path, board, runs[:1])
    after = {path.name for path in (tmp_path / "runs").iterdir()}
    assert len(before) == 3
    assert len(after) == 2
    assert "mine.html" in after


def test_each_phase_is_shown_by_a_structure_of_its_space_group_with_whole_coordination() -> None:
    family = families.load("mx")
    reference = ReferenceSet.load(families.reference_path("mx", "chgnet-0.3.0"))
    about = {"task": "hepbench/mx", "potential": "chgnet-0.3.0", "reference_sha256": reference.sha256}
    shown = {s["label"]: s for s in phase_structures(about, family.labels)}
    ideal = {p.label: p.number for p in family.prototypes}
    assert {label: s["space_group"] for label, s in shown.items()} == {label: ideal[label] for label in shown}
    for label, neighbours in (("rock salt", 6), ("NiAs", 6), ("zincblende", 4), ("wurtzite", 4), ("CsCl", 8)):
        bonds = Counter(atom for bond in shown[label]["bonds"] for atom in bond)
        assert max(bonds.values()) == neighbours, label


def test_a_site_of_one_run_is_small(logs: Path, tmp_path: Path) -> None:
    (run, *_) = [r for where in find_logs([str(logs)]) for r in detailed_runs(where)]
    write_site(tmp_path, Leaderboard(suite=(), entries=(), left_out=()), [run])
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 2_000_000


def test_the_same_logs_give_the_same_site(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hepbench.benchmark.leaderboard.pool.readings", unaudited)
    for name in ("one", "two"):
        done = CliRunner().invoke(app, ["report", str(logs), "-o", str(tmp_path / name)])
        assert done.exit_code == 0, done.output
    one, two = (
        {p.relative_to(tmp_path / name): p.read_bytes() for p in (tmp_path / name).rglob("*.*")}
        for name in ("one", "two")
    )
    assert one == two


def test_a_log_that_does_not_count_has_pages_that_say_so(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = saying(lambda where: ("event 3 is odd",))
    monkeypatch.setattr("hepbench.benchmark.leaderboard.pool.readings", odd)
    done = CliRunner().invoke(app, ["report", str(logs), "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    for page in (tmp_path / "runs").glob("*.html"):
        assert "This log does not count:</strong> the audit finds: event 3 is odd" in page.read_text()


def test_data_blocks_cannot_be_ended_from_inside() -> None:
    block = data_block({"a": "</script><script>alert(1)</script><!--"}, "x")
    assert block.count("<") == 2


def test_vendored_scripts_are_those_published_on_npm() -> None:
    for name, digest in VENDORED.items():
        assert hashlib.sha256((ASSETS / "vendor" / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize(
    ("symbol", "place"),
    [
        ("H", ("1", "1")),
        ("He", ("18", "1")),
        ("C", ("14", "2")),
        ("Ti", ("4", "4")),
        ("Ce", ("4", "4f")),
        ("Lu", ("3", "6")),
        ("Hf", ("4", "6")),
        ("U", ("6", "5f")),
        ("Og", ("18", "7")),
        ("Xx", None),
    ],
)
def test_places_in_the_periodic_table(symbol: str, place: tuple[str, str] | None) -> None:
    assert place_of_element(symbol) == place


def sites(**roles: str) -> list[dict[str, str]]:
    return [{"role": role, "element": element} for role, element in roles.items()]


def test_the_map_follows_what_differs() -> None:
    oxides = {"TiO2": sites(A="Ti", O="O"), "ThO2": sites(A="Th", O="O")}
    found = family_map(oxides, {"TiO2": "3d", "ThO2": "actinides"})
    assert (found.kind, found.rows) == ("periodic table", ["4", "5f"])
    mx = {"TiS": sites(M="Ti", X="S"), "CrS": sites(M="Cr", X="S"), "VP": sites(M="V", X="P")}
    found = family_map(mx, dict.fromkeys(mx, "3d"))
    assert (found.kind, found.columns, found.rows) == ("matrix of elements", ["P", "S"], ["Ti", "V", "Cr"])
    found = family_map({}, {"a": "x", "b": "x", "c": "y"})
    assert (found.kind, found.columns, found.rows) == ("chemical families", ["1", "2"], ["x", "y"])
