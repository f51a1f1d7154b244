"""`hepbench compare`: two models, harnesses or log folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hepbench.benchmark.log_options import Workers, one_line_errors, readings_of

Side = Annotated[
    str, typer.Argument(help="A model, a harness, 'model@harness', or a log, folder or URL of logs.")
]
Pool = Annotated[
    list[str] | None,
    typer.Option(
        "--logs", help="Where models and harnesses are looked up; default ./logs.", envvar="INSPECT_LOG_DIR"
    ),
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the comparison as JSON.")]
MarkdownFile = Annotated[Path | None, typer.Option("--markdown", help="Write it as Markdown.")]


def compare(
    a: Side,
    b: Side,
    logs: Pool = None,
    json: JsonFile = None,
    markdown: MarkdownFile = None,
    workers: Workers = None,
) -> None:
    """Who is better, and is it true? Paired by held-out compound; chemical families are the clusters.

    Two harnesses are compared within each model, two models within each harness.

    Exit code: 0; 4 if something cannot be read, written or compared.
    """
    pool = logs or ["./logs"]
    read = readings_of([a, b, *pool], workers)
    from rich.console import Console

    from hepbench.benchmark.compare import SideError, compare_sides, sides
    from hepbench.benchmark.compare.forms import to_json, to_markdown, to_terminal
    from hepbench.benchmark.statistics import ScoreTableError
    from hepbench.reports.logs import LogError

    with one_line_errors("compare", LogError, SideError, ScoreTableError, OSError):
        found = compare_sides(*sides(a, b, pool, read))
        Console().print(to_terminal(found))
        for path, text in ((json, to_json(found)), (markdown, to_markdown(found))):
            if path is not None:
                path.write_text(text, encoding="utf-8")
