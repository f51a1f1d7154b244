"""Time and size of the report of one run: `python perf/report/run.py LOG`. Prints a row for README.md."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Make the site of one log in a fresh process, three times, and say the best time and the size."""
    (log,) = sys.argv[1:]
    walls = []
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(3):
            begin = time.perf_counter()
            command = "from hepbench.benchmark.cli import main; main()"
            asked = ["report", log, "-o", scratch]
            subprocess.run([sys.executable, "-c", command, *asked], check=True, stdout=subprocess.DEVNULL)
            walls.append(time.perf_counter() - begin)
        files = [path for path in Path(scratch).rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
    print(f"| report of one run | {min(walls):.1f} s | {size / 1e6:.2f} MB in {len(files)} files |")


if __name__ == "__main__":
    main()
