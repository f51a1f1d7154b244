"""hepbench: does an LLM agent do science, or does it only look busy?

The five sub-packages are links to the folders of the repository's root. Imports go one way:
benchmark → reports → tasks → scorers → harness.
"""

__version__: str


def __getattr__(name: str) -> str:
    """`__version__`, looked up when it is asked for: `importlib.metadata` would slow every start."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hepbench")
    except PackageNotFoundError:  # a source tree that was never installed
        return "0+unknown"
