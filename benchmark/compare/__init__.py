"""Two models, harnesses or log folders on the same held-out compounds: who is better, and is it true?"""

from hepbench.benchmark.compare.build import Comparison, compare_sides
from hepbench.benchmark.compare.sides import Side, SideError, sides

__all__ = ["Comparison", "Side", "SideError", "compare_sides", "sides"]
