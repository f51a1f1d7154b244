"""Commands that are imported when they are called, so that `hepbench --help` answers at once."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

_USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]
"""Of every mistake on a command line; Typer gives it no public name."""


class Deferred(TyperCommand):
    """Stands for a command until it is called.

    Args:
        name: What it is called on the command line.
        target: "module:attribute" of a function or of a Typer app, below `hepbench.benchmark`.
        summary: One line for the list of commands.
        usage_exit: Exit code of a mistake on the command line, which is then said in one line; None for
            Typer's own words and its 2.
    """

    def __init__(self, name: str, target: str, summary: str, usage_exit: int | None = None) -> None:
        super().__init__(name, help=summary, callback=None)
        self._target = target
        self._usage_exit = usage_exit

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """The context of the real command, which is imported now."""
        try:
            return self.real().make_context(info_name, args, parent, **extra)
        except _USAGE_ERROR as e:
            if self._usage_exit is None:
                raise
            said = e.format_message() if isinstance(e, typer.BadParameter) else str(e)
            typer.echo(f"hepbench {self.name}: {said}", err=True)
            raise typer.Exit(self._usage_exit) from e

    def real(self) -> Any:
        """The command itself."""
        module, _, attribute = self._target.partition(":")
        found = getattr(import_module(f"hepbench.benchmark.{module}"), attribute)
        if isinstance(found, typer.Typer):
            return typer.main.get_group(found)
        alone = typer.Typer(add_completion=False)
        alone.command(self.name)(found)
        return typer.main.get_command(alone)


class DeferredGroup(TyperGroup):
    """A group whose commands stand in a table: name → (target, summary)."""

    table: ClassVar[dict[str, tuple[str, str]]] = {}
    usage_exits: ClassVar[dict[str, int]] = {}
    """Command → exit code of a mistake on its command line, where 2 has a meaning of its own."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - Typer's own signature
        """The names, in the table's order."""
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command of that name, not imported yet; None if there is none."""
        if cmd_name not in self.table:
            return None
        return Deferred(cmd_name, *self.table[cmd_name], self.usage_exits.get(cmd_name))
