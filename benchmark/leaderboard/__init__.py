"""Who is better: one row for each model and harness over the suite, from audited logs alone."""

from hepbench.benchmark.leaderboard.build import build_leaderboard
from hepbench.benchmark.leaderboard.collect import Collection, LogCheck, collect

__all__ = ["Collection", "LogCheck", "build_leaderboard", "collect"]
