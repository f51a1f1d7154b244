"""The statistics of the benchmark: intervals, paired comparisons, corrections and ranks.

The item is a held-out compound, and its chemical family is the cluster: compounds of one family are
predicted rightly or wrongly together, so that forty of them are worth less than forty independent ones.
Everything here takes a *score table*, a pandas frame with one row for each compound and epoch
(`table.COLUMNS`), averages the epochs of each compound first, and gives every task the same weight.

    >>> estimate = mean_estimate(table)                 # one score with its interval
    >>> comparison = compare(table_a, table_b)          # two models or harnesses on the same compounds

`docs/statistics.md` says which formula comes from where; `tests/statistics` shows coverage by simulation and
equality with statsmodels and scipy where they compute the same.
"""

from hepbench.benchmark.statistics.bootstrap import bootstrap_interval
from hepbench.benchmark.statistics.estimate import Estimate, mean_estimate
from hepbench.benchmark.statistics.paired import IDENTICAL, Comparison, compare, pairwise_p
from hepbench.benchmark.statistics.permutation import sign_flip_p
from hepbench.benchmark.statistics.planning import epochs_to_decide
from hepbench.benchmark.statistics.ranking import holm, tie_groups
from hepbench.benchmark.statistics.table import COLUMNS, ScoreTableError, item_means

__all__ = [
    "COLUMNS",
    "IDENTICAL",
    "Comparison",
    "Estimate",
    "ScoreTableError",
    "bootstrap_interval",
    "compare",
    "epochs_to_decide",
    "holm",
    "item_means",
    "mean_estimate",
    "pairwise_p",
    "sign_flip_p",
    "tie_groups",
]
