"""The site as files."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from pathlib import Path, PurePosixPath

from hepbench.harness.steps import CATEGORIES
from hepbench.reports.board import Leaderboard
from hepbench.reports.gather import DetailedRun
from hepbench.reports.opening import LogError, one_line
from hepbench.reports.pages import board_page, run_page
from hepbench.reports.pages.environment import ASSETS, STYLE, VENDOR, beside
from hepbench.reports.pages.run_data import run_data
from hepbench.reports.pages.run_page import Others
from hepbench.reports.records import RunRecord

_GENERATOR = b'<meta name="generator" content="hepbench report">'
_HEAD = 2_000  # bytes in which it stands

_ASSETS = (STYLE, *VENDOR, "vendor/d3.LICENSE", "vendor/plot.LICENSE", *board_page.SCRIPTS, *run_page.SCRIPTS)


def _raised(error: LogError) -> None:
    raise error


def write_site(
    folder: Path,
    board: Leaderboard,
    runs: Sequence[DetailedRun],
    doubts: Mapping[str, str] | None = None,
    refused: Callable[[LogError], None] = _raised,
) -> Path:
    """Write the site; the same logs give the same files.

    Args:
        folder: Made if it is not there; files of a former site are replaced.
        board: The leaderboard.
        runs: The runs that get a page.
        doubts: Path or URL of a log → why it does not count. A forged copy has the id of its original.
        refused: What to do about a run whose events or metadata do not fit together; it gets no page.

    Returns:
        The page to open.

    Raises:
        OSError: a file cannot be written.
        LogError: as `refused` does by default.
    """
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    (folder / "assets").mkdir(exist_ok=True)
    for name in dict.fromkeys(_ASSETS):
        shutil.copyfile(ASSETS / name, folder / "assets" / Path(name).name)
    links: list[board_page.RunLink] = []
    records = [run.record for run in runs]
    for run in sorted(runs, key=lambda run: _place(run.record)):
        name = f"runs/{page_name(run.record, [link.href for link in links])}"
        parts = beside("../assets/", run_page.SCRIPTS)
        log = PurePosixPath(run.record.where.replace("\\", "/")).name
        doubt = (doubts or {}).get(run.record.where, "")
        try:
            with one_line(run.record.where):  # a log's metadata may be anything
                data = run_data(run)
                others = other_harnesses(run.record, records)
                page = run_page.run_page(data, others, parts, log=log, doubt=doubt)
        except LogError as e:
            refused(e)
            continue
        _write(folder / name, page)
        links.append(board_page.RunLink(run.record, name, run_page.ending(data), doubt))
    parts = beside("assets/", board_page.SCRIPTS)
    index = folder / "index.html"
    _write(index, board_page.board_page(board, links, parts, home="index.html"))
    _remove_former(folder / "runs", {Path(link.href).name for link in links})
    return index


def _place(record: RunRecord) -> tuple[str, str, str, str, int, str]:
    return record.task, record.model, record.harness, record.sample, record.epoch, record.log_id


def _remove_former(folder: Path, written: Collection[str]) -> None:
    """Pages of a former site in the same folder, which nothing leads to any more; other files stay."""
    for path in folder.glob("*.html"):
        if path.name not in written and path.is_file():
            with path.open("rb") as page:
                ours = _GENERATOR in page.read(_HEAD)
            if ours:
                path.unlink()


def page_name(record: RunRecord, taken: Collection[str] = ()) -> str:
    """A file name that says what the run is, and is its own.

    Args:
        record: The run.
        taken: Pages, below `runs/`, that there are already; copies of a log share its id.
    """
    words = (record.task.rpartition("/")[2], record.model, record.harness, record.sample)
    slugs = [re.sub(r"[^a-z0-9.]+", "-", word.lower()).strip("-.")[:40] for word in words]
    name = "_".join(dict.fromkeys(slug for slug in slugs if slug))
    own = re.sub(r"[^A-Za-z0-9]", "", record.log_id)[:22]
    stem = f"{name}_{record.epoch}_{own}"
    numbered = (f"{stem}{'' if n == 1 else f'_{n}'}.html" for n in count(1))
    return next(page for page in numbered if f"runs/{page}" not in taken)


def other_harnesses(record: RunRecord, records: Sequence[RunRecord]) -> Others:
    """What every other harness with the same model and task did with its turns.

    HEP's flow stands beside planning's, and that of any other beside HEP's.
    """
    found: dict[str, dict[str, float]] = {}
    counterpart = "planning" if record.harness == "hep" else "hep"
    flow: dict[str, Counter[str]] = {}
    for harness in sorted({r.harness for r in records} - {record.harness}):
        same = [r for r in records if (r.harness, r.model, r.task) == (harness, record.model, record.task)]
        mixes = [r.scores for r in same if any(f"step_{c}" in r.scores for c in CATEGORIES)]
        if mixes:
            found[harness] = {c: sum(m.get(f"step_{c}", 0.0) for m in mixes) / len(mixes) for c in CATEGORIES}
        for row, counts in (pair for r in same for pair in r.flow.items() if harness == counterpart):
            flow.setdefault(row, Counter()).update(counts)
    return Others(found, counterpart if flow else "", flow)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
