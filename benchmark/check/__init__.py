"""The regression gate: did we break something? One verdict gives banner, reports and exit code."""

from hepbench.benchmark.check.baseline import Baseline, BaselineError, make_baseline, read_baseline
from hepbench.benchmark.check.gate import Outcome, Verdict, check_runs
from hepbench.benchmark.check.margins import Margins, MarginsError, read_margins

__all__ = [
    "Baseline",
    "BaselineError",
    "Margins",
    "MarginsError",
    "Outcome",
    "Verdict",
    "check_runs",
    "make_baseline",
    "read_baseline",
    "read_margins",
]
