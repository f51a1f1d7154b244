"""The reliability figures of hepbench: `python perf/reliability/run.py [--quick] [--only kills,calls]`.

Takes some 15 minutes on two cores. Prints rows for README.md.
"""

from __future__ import annotations

import argparse
import importlib
import time

PARTS = ("kills", "calls", "disks", "samples", "damaged", "speed")


def main() -> None:
    """Measure the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="A tenth of everything.")
    parser.add_argument("--only", default=",".join(PARTS), help="Comma-separated parts.")
    asked = parser.parse_args()
    for part in asked.only.split(","):
        begin = time.perf_counter()
        for name, figure in importlib.import_module(part).measure(quick=asked.quick):
            print(f"| {name} | {figure} |", flush=True)
        print(f"({part}: {time.perf_counter() - begin:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
