"""The leaderboard over many logs beside Inspect's own data frames.

`python perf/leaderboard/run.py --template LOG [--logs 1000]` makes the logs from one real run (its header is
rewritten for each), then measures every reader in a process of its own: wall and processor time, and the
highest resident memory. Prints rows for README.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from inspect_ai.log import read_eval_log, write_eval_log

READERS = {
    "evals_df + samples_df": (
        "from inspect_ai.analysis import evals_df, samples_df; evals_df({0!r}); samples_df({0!r})"
    ),
    "hepbench leaderboard, first time (every log read and audited)": "LEADERBOARD",
    "hepbench leaderboard, again (from what is remembered)": "LEADERBOARD",
}
LEADERBOARD = (
    "import sys; sys.argv = ['hepbench', 'leaderboard', {0!r}, '-o', {1!r}]; "
    "from hepbench.benchmark.cli import main; main()"
)


def main() -> None:
    """Make the logs and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=1_000)
    parser.add_argument("--template", type=Path, required=True, help="An eval log of about 100 turns.")
    parser.add_argument("--folder", type=Path, help="Where the logs go; default: a temporary folder.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.folder or Path(scratch) / "logs"
        make_logs(asked.template, folder, asked.logs)
        environment = {**os.environ, "HEPBENCH_CACHE": str(Path(scratch)), "OMP_NUM_THREADS": "1"}
        print("| reader | wall, s | processor, s | memory, MB |\n| --- | --- | --- | --- |")
        for name, code in READERS.items():
            code_ = (LEADERBOARD if code == "LEADERBOARD" else code).format(
                str(folder), str(Path(scratch) / "out")
            )
            print(f"| {name} | {' | '.join(measured(code_, environment))} |", flush=True)


def make_logs(template: Path, folder: Path, count: int) -> None:
    """Copies of a log that differ in their ids: a log a run of the same model."""
    folder.mkdir(parents=True, exist_ok=True)
    log = read_eval_log(str(template))
    for number in range(count):
        log.eval.eval_id = f"perf-eval-{number:05}"
        log.eval.task_id = f"perf-task-{number:05}"
        write_eval_log(log, str(folder / f"2026-01-01T00-00-00_ao2_{number:05}.eval"))


def measured(code: str, environment: dict[str, str]) -> list[str]:
    """Wall time, processor time and highest memory of a fresh interpreter that runs this."""
    begin = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - begin
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"exit code {os.waitstatus_to_exitcode(status)}: {code}")
    return [f"{wall:.1f}", f"{usage.ru_utime + usage.ru_stime:.1f}", f"{usage.ru_maxrss / 1024:.0f}"]


if __name__ == "__main__":
    main()
