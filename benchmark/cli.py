"""The `hepbench` command. Its parts are imported when they are called."""

from __future__ import annotations

import gc
from typing import Annotated, ClassVar

import typer

import hepbench
from hepbench.benchmark.deferred import DeferredGroup
from hepbench.benchmark.log_options import UNUSABLE


class Commands(DeferredGroup):
    """Every command: name → (module and attribute below `hepbench.benchmark`, one line of help)."""

    table: ClassVar = {
        "sweep": ("sweep_cli:sweep", "Run tasks × harnesses × models as one resumable eval set."),
        "scores": ("scores_cli:scores", "Show the scores of a log, or of a folder's newest log."),
        "leaderboard": ("leaderboard_cli:leaderboard", "Who is better: one row for each model and harness."),
        "compare": ("compare_cli:compare", "Two models, harnesses or log folders, paired by compound."),
        "check": ("check_cli:check", "Hold logs against a baseline: did we break something?"),
        "baseline": ("check_cli:baseline", "Write a baseline from logs."),
        "report": ("report_cli:report", "A static site: the leaderboard, and a page for each run."),
        "audit": ("audit_cli:audit", "Check every run of logs from its record: is it what it says?"),
        "hypotheses": ("hypotheses_cli:hypotheses", "A run's hypotheses: how they came, fared and ended."),
        "journal": ("journal_cli:app", "Read a run's durable journal, or compare it with the log."),
        "reference": ("reference_cli:app", "Build, verify and show the reference sets."),
        "database": ("database_cli:app", "The local databases of known structures."),
        "potentials": ("potentials_cli:potentials", "List the potentials, and say which run here."),
        "cache": ("cache_cli:app", "The cache of live relaxations and simulations."),
    }
    usage_exits: ClassVar = {"check": UNUSABLE}


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,  # rich takes longer to import than everything else that the help needs
    help="Does an LLM agent do science, or does it only look busy?",
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"hepbench {hepbench.__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which version this is.")
]


@app.callback()
def _root(version: Version = False) -> None:
    """Does an LLM agent do science, or does it only look busy?"""


def main() -> None:
    """Run the command line."""
    gc.set_threshold(100_000, 20, 20)  # imports leave no garbage; looking for some is a tenth of their time
    app()
