"""What Inspect finds under the name `hepbench`: tasks, solvers, scorers and the model provider."""

from hepbench import scorers
from hepbench.harness.agents.hep import hep
from hepbench.harness.scientist.provider import hepbench_provider
from hepbench.tasks.ao2 import ao2

__all__ = ["ao2", "hep", "hepbench_provider", "scorers"]
