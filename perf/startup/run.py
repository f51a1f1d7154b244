"""Start of the command line: `python perf/startup/run.py`. Prints rows for README.md."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

REPEATS = 15
COMMANDS = {
    'python -c "import typer"': [sys.executable, "-c", "import typer"],
    "hepbench --help": [str(Path(sys.executable).with_name("hepbench")), "--help"],
}


def main() -> None:
    """Measure both in turn, so that a busy machine slows both, and take the best of each."""
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(REPEATS):
        for name, command in COMMANDS.items():
            begin = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            best[name] = min(best[name], time.perf_counter() - begin)
    for name, seconds in best.items():
        print(f"| `{name}` | {seconds:.2f} s |")
    typer, helped = best.values()
    print(f"| ratio | {helped / typer:.2f} |")


if __name__ == "__main__":
    main()
