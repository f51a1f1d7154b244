"""Time and size of the report of one run: `python perf/report/run.py LOG`. Prints rows for README.md."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = "from hepbench.benchmark.cli import main; main()"


def main() -> None:
    """Make the site of one log in fresh processes, five times each, and say the best times and the size."""
    (log,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        site = str(Path(scratch) / "site")
        rows = {
            "import inspect_ai.log": ("import inspect_ai.log", "off"),
            "report of one run, first time": (COMMAND, "off"),
            "report of one run, again": (COMMAND, scratch),
        }
        for name, (code, cache) in rows.items():
            runs = [
                _measured([sys.executable, "-c", code, "report", log, "-o", site], cache) for _ in range(5)
            ]
            wall, processor = (min(times) for times in zip(*runs, strict=True))
            print(f"| {name} | {wall:.1f} | {processor:.1f} |", flush=True)
        files = [path for path in Path(site).rglob("*") if path.is_file()]
        print(f"{sum(path.stat().st_size for path in files) / 1e6:.2f} MB in {len(files)} files")


def _measured(command: list[str], cache: str) -> tuple[float, float]:
    """Wall and processor time of a command, s."""
    begin = time.perf_counter()
    environment = {**os.environ, "HEPBENCH_CACHE": cache, "OMP_NUM_THREADS": "1"}
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"it failed: {command}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
