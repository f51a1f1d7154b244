"""Cost of a result that need not be computed, and memory: `python perf/relaxation/results.py`. Prints rows.

Each measurement runs in a fresh interpreter: processor time of one result from the reference set and one from
the cache, after the first; the resident memory of a laboratory that answers 10,000 questions; and the
highest memory of the processes of an eval with live relaxations.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REFERENCE = """
import json, sys, time
import anyio
from hepbench.harness.laboratory.laboratory import LabSettings, Laboratory
from hepbench.harness.laboratory.reference import ReferenceSet
from hepbench.tasks import families

family = families.load("ao2")
reference = ReferenceSet.load(families.reference_path("ao2", "chgnet-0.3.0"))
lab = Laboratory(family, reference, LabSettings(budget=10_000))
compounds = family.of_part("exploration")

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6

async def main():
    await lab.measure(compounds[0], family.prototypes[:1], 0.0)
    begin, before = time.process_time(), resident()
    for number in range(10_000):
        compound = compounds[number % len(compounds)]
        await lab.measure(compound, [family.prototypes[number % len(family.prototypes)]], 0.0)
    spent = time.process_time() - begin
    found = {"ms": spent / 10, "before": before, "after": resident(), "torch": "torch" in sys.modules}
    print(json.dumps(found))

anyio.run(main)
"""

CACHE = """
import json, sys, time
from hepbench.harness.laboratory.cache import Cache
from hepbench.harness.laboratory.records import Relaxation
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.harness.laboratory.structures import start_atoms
from hepbench.harness.laboratory.workers import Job, Outcome
from hepbench.tasks import families

family = families.load("ao2")
cache = Cache(sys.argv[1])
jobs = [
    Job("chgnet-0.3.0", RelaxationMaker(), c, p, 5.0)
    for c in family.of_part("exploration")
    for p in family.prototypes
]
for job in jobs:
    atoms = start_atoms(job.prototype, job.compound)
    names = {"compound": job.compound.formula, "prototype": job.prototype.name}
    record = Relaxation(**names, pressure=5.0, energy=-1.0)
    cache.put(job, Outcome(record, atoms, 1.0))
def spent():
    begin = time.process_time()
    assert all([cache.get(job) for job in jobs])
    return 1000 * (time.process_time() - begin) / len(jobs)

print(json.dumps({"ms": spent(), "again": spent(), "torch": "torch" in sys.modules}))
"""

EVAL = """
import anyio, json
from hepbench.harness.laboratory.laboratory import LabSettings, Laboratory
from hepbench.harness.laboratory.reference import ReferenceSet
from hepbench.tasks import families
import hepbench.tasks._registry  # what inspect eval imports
import inspect_ai.model

family = families.load("ao2")
reference = ReferenceSet.load(families.reference_path("ao2", "chgnet-0.3.0"))
lab = Laboratory(family, reference, LabSettings(time_limit=600))

def highest(pid):
    lines = open(f"/proc/{pid}/status").read().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM"))

async def main():
    await lab.measure(family.compound("TiO2"), family.prototypes[:4], 5.0)
    children = []
    for task in __import__("pathlib").Path("/proc/self/task").iterdir():
        children += (task / "children").read_text().split()
    print(json.dumps({"main": highest("self"), "workers": [highest(pid) for pid in children]}), flush=True)

anyio.run(main)
__import__("os")._exit(0)
"""


def main() -> None:
    """Measure all, each in an interpreter of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        looked_up = _run(REFERENCE)
        cached = _run(CACHE, str(Path(scratch) / "live.db"))
        live = _run(EVAL)
    print("| | |\n| --- | --- |")
    print(f"| a result from the reference set, processor time | {looked_up['ms']:.2f} ms |")
    print(f"| a result from the cache, read for the first time | {cached['ms']:.2f} ms |")
    print(f"| the same again in that process | {cached['again']:.2f} ms |")
    print(f"| torch imported for these | {'yes' if looked_up['torch'] or cached['torch'] else 'no'} |")
    print(
        "| memory of a laboratory before and after 10,000 results "
        f"| {looked_up['before']:.0f} MB, {looked_up['after']:.0f} MB |"
    )
    print(f"| highest memory of the main process of live relaxations | {live['main']:.0f} MB |")
    print(f"| highest memory of a worker | {max(live['workers']):.0f} MB |")


def _run(code: str, *arguments: str) -> dict[str, float | bool | list[float]]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float | bool | list[float]] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
