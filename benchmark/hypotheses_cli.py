"""`hepbench hypotheses`: the story of a run in the terminal."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from hepbench.benchmark.log_options import one_line_errors

UNREADABLE = 2

Log = Annotated[str, typer.Argument(metavar="LOG", help="An eval log, a folder's newest, or a journal.")]
Id = Annotated[str | None, typer.Option("--id", help="One hypothesis with its whole event log, such as H7.")]
Epoch = Annotated[int | None, typer.Option(min=1, help="That epoch alone.")]
Format = Annotated[Literal["text", "json", "md"], typer.Option("--format", help="text, json or md.")]


def hypotheses(log: Log, id: Id = None, epoch: Epoch = None, format: Format = "text") -> None:  # noqa: A002
    """How the hypotheses of a run came to be, what was found about each, and how it ended.

    Exit code: 0; 1 if there is no such hypothesis or run; 2 if the log cannot be read.
    """
    from rich.console import Console

    from hepbench.reports import hypotheses as told
    from hepbench.reports.opening import LogError
    from hepbench.reports.stories import stories_of

    with (
        one_line_errors("hypotheses", LogError, code=UNREADABLE),
        one_line_errors("hypotheses", told.StoryError, code=1),
    ):
        stories = [s for number, s in stories_of(log) if epoch in (None, number)]
        if not stories:
            raise told.StoryError("there is no run with a record in it")
        if format == "json":
            typer.echo(told.to_json(stories, id))
        elif format == "md":
            typer.echo(told.to_markdown(stories, id), nl=False)
        else:
            for story in stories:
                Console().print(told.tree(story) if id is None else told.one(story, id))
