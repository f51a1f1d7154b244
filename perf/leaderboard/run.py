"""The leaderboard over many logs beside Inspect's own data frames.

`python perf/leaderboard/run.py --template LOG [--logs 1000] [--rounds 5] [--alone]` makes the logs from one
real run (its ids are rewritten for each), then measures every reader in a process of its own: wall time,
processor time and the highest memory, the last two of all its processes together (shared pages once). The
readers take turns, so that what else the machine does meets all of them; the table has the medians over all
rounds, and of the ratio to the frames of the same round. `--alone` measures one worker too. Prints rows for
README.md. The frames want `pip install pyarrow`. Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple
from zipfile import ZipFile

import inspect_ai.log  # noqa: F401 - teaches the zipfile module the logs' compression

FRAMES = "evals_df + samples_df"
ALONE = "hepbench leaderboard, first time, one worker"
READERS = {
    FRAMES: "from inspect_ai.analysis import evals_df, samples_df; evals_df({0!r}); samples_df({0!r})",
    ALONE: "LEADERBOARD --workers 1",
    "hepbench leaderboard, first time, a worker a core (every log read and audited)": "LEADERBOARD",
    "hepbench leaderboard, again (from what is remembered)": "LEADERBOARD again",
}
LEADERBOARD = (
    "import sys; sys.argv = ['hepbench', 'leaderboard', {0!r}, '-o', {1!r}, *{2!r}]; "
    "from hepbench.benchmark.cli import main; main()"
)


class Measured(NamedTuple):
    """Seconds by the clock, seconds of all processors, and megabytes."""

    wall: float
    processor: float
    memory: float


def main() -> None:
    """Make the logs and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=1_000)
    parser.add_argument("--template", type=Path, required=True, help="An eval log of about 100 turns.")
    parser.add_argument("--folder", type=Path, help="Where the logs go; default: a temporary folder.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--alone", action="store_true", help="Measure the leaderboard with one worker, too.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.folder or Path(scratch) / "logs"
        make_logs(asked.template, folder, asked.logs)
        readers = {name: code for name, code in READERS.items() if asked.alone or name != ALONE}
        rounds = [one_round(readers, folder, Path(scratch) / str(number)) for number in range(asked.rounds)]
    print("| reader | wall, s | processor, s | memory, MB | × the frames' wall, of each round |")
    print("| --- | --- | --- | --- | --- |")
    for name in readers:
        found = Measured(*map(median, zip(*(one[name] for one in rounds), strict=True)))
        ratios = sorted(one[name].wall / one[FRAMES].wall for one in rounds)
        spread = f"{median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})" if name != FRAMES else ""
        print(f"| {name} | {found.wall:.1f} | {found.processor:.1f} | {found.memory:.0f} | {spread} |")


def one_round(readers: Mapping[str, str], folder: Path, scratch: Path) -> dict[str, Measured]:
    """Every reader once; what is remembered is that of this round."""
    found: dict[str, Measured] = {}
    cache = scratch
    for number, (name, reader) in enumerate(readers.items()):
        if not reader.endswith("again"):
            cache = scratch / str(number)
            cache.mkdir(parents=True)
        environment = {**os.environ, "HEPBENCH_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
        found[name] = measured(code(reader, folder, cache), environment)
        print(f"{found[name].wall:.1f} s: {name}", file=sys.stderr, flush=True)
    return found


def code(reader: str, folder: Path, out: Path) -> str:
    """What a fresh interpreter is to run."""
    if not reader.startswith("LEADERBOARD"):
        return reader.format(str(folder))
    options = [word for word in reader.split()[1:] if word != "again"]
    return LEADERBOARD.format(str(folder), str(out / "out"), options)


def make_logs(template: Path, folder: Path, count: int) -> None:
    """Copies of a log that differ in their ids: a log a run of the same model. Those that are there stay."""
    folder.mkdir(parents=True, exist_ok=True)
    with ZipFile(template) as whole:
        kinds = {info.filename: info.compress_type for info in whole.infolist()}
        members = {name: whole.read(name) for name in kinds}
    stated = json.loads(members["header.json"])["eval"]
    for number in range(count):
        path = folder / f"2026-01-01T00-00-00_ao2_{number:05}.eval"
        if path.exists():
            continue
        with ZipFile(path, "w") as copy:
            for name, content in members.items():
                own = content
                for key in ("eval_id", "task_id"):
                    own = own.replace(stated[key].encode(), f"perf-{key}-{number:05}".encode())
                copy.writestr(name, own, compress_type=kinds[name])


def measured(command: str, environment: dict[str, str]) -> Measured:
    """What a fresh interpreter takes, and all that it starts."""
    begin, highest = time.perf_counter(), 0.0
    spent: dict[str, float] = {}
    child = subprocess.Popen(
        [sys.executable, "-c", command],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        highest = max(highest, look(child.pid, spent))
        time.sleep(0.2)
    wall = time.perf_counter() - begin
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"exit code {os.waitstatus_to_exitcode(status)}: {command}")
    others = sum(seconds for process, seconds in spent.items() if process != str(child.pid))
    return Measured(wall, usage.ru_utime + usage.ru_stime + others, highest)


def look(session: int, spent: dict[str, float]) -> float:
    """Note what a session's processes have spent, s; their megabytes, shared pages counted once."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(folder.name)) == session:
                rollup = (folder / "smaps_rollup").read_text().splitlines()
                total += next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
                ticks = (folder / "stat").read_text().rpartition(")")[2].split()[11:13]
                spent[folder.name] = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
        except (OSError, StopIteration):
            continue  # it has ended
    return total / 1024


if __name__ == "__main__":
    main()
