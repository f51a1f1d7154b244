"""Time and size of the report of one run: `python perf/report/run.py LOG [--rounds 9]`.

Fresh processes that take turns, so that what else the machine does meets all of them: Inspect's own import,
without which no log is read, and the report of a log that is new or remembered. The table has the medians
over all rounds, and of the ratio to the import of the same round. Prints rows for README.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

COMMAND = "from hepbench.benchmark.cli import main; main()"
IMPORT = "import inspect_ai.log"
READERS = {
    IMPORT: (IMPORT, "off"),
    "report of one run, first time (read and audited)": (COMMAND, "off"),
    "report of one run, again": (COMMAND, ""),
}


def main() -> None:
    """Make the site of one log in fresh processes, and say what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log")
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        site = str(Path(scratch) / "site")
        found: dict[str, list[float]] = {name: [] for name in READERS}
        for _ in range(asked.rounds):
            for name, (code, cache) in READERS.items():
                command = [sys.executable, "-c", code, "report", asked.log, "-o", site]
                found[name].append(wall(command, cache or scratch))
        files = [path for path in Path(site).rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files) / 1e6
    print("| | wall, s | × the import, of each round |\n| --- | --- | --- |")
    for name, times in found.items():
        ratio = median(one / base for one, base in zip(times, found[IMPORT], strict=True))
        print(f"| {name} | {median(times):.1f} ({min(times):.1f}–{max(times):.1f}) | {ratio:.2f} |")
    print(f"{size:.2f} MB in {len(files)} files")


def wall(command: list[str], cache: str) -> float:
    """Wall time of a command, s."""
    environment = {**os.environ, "HEPBENCH_CACHE": cache, "OMP_NUM_THREADS": "1"}
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=True)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
