"""What Inspect finds under the name `hepbench`: tasks, solvers, scorers and the model provider."""

from hepbench import scorers
from hepbench.harness.agents.closed_book import closed_book
from hepbench.harness.agents.floors import decision_tree, majority, nearest_neighbour
from hepbench.harness.agents.hep import hep
from hepbench.harness.agents.planning import planning
from hepbench.harness.agents.react import react
from hepbench.harness.scientist import provider
from hepbench.tasks.a2bbo6 import a2bbo6
from hepbench.tasks.ao2 import ao2
from hepbench.tasks.family import family
from hepbench.tasks.mx import mx

__all__ = [
    "a2bbo6",
    "ao2",
    "closed_book",
    "decision_tree",
    "family",
    "hep",
    "majority",
    "mx",
    "nearest_neighbour",
    "planning",
    "provider",
    "react",
    "scorers",
]
