"""hepbench: does an LLM agent do science, or does it only look busy?

The five sub-packages are links to the folders of the repository's root. Imports go one way:
benchmark → reports → tasks → scorers → harness.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("hepbench")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"
