"""The `hepbench` command."""

from __future__ import annotations

import typer

from hepbench.benchmark import reference_cli, scores_cli

app = typer.Typer(no_args_is_help=True, help="Does an LLM agent do science, or does it only look busy?")
app.add_typer(reference_cli.app, name="reference")
app.command("scores")(scores_cli.scores)


def main() -> None:
    """Run the command line."""
    app()
