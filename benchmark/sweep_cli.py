"""`hepbench sweep`: every task with every harness and every model, as one resumable eval set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

MODELS = "Model, as Inspect names it; say it again for more."
HARNESS = "A harness or a floor; say it again for more. Default: all."
TASK = "ao2, a2bbo6, mx, or a family's folder; say it again for more. Default: the three."
ARGUMENT = "A task parameter, such as lab_budget=100; say it again for more."
COSTS = "Prices, for the money column (see costs.example.yaml)."


def sweep(
    log_dir: Annotated[str, typer.Argument(help="Folder of the set; run again, it does what is missing.")],
    model: Annotated[list[str] | None, typer.Option("--model", "-m", help=MODELS)] = None,
    harness: Annotated[list[str] | None, typer.Option("--harness", help=HARNESS)] = None,
    task: Annotated[list[str] | None, typer.Option("--task", help=TASK)] = None,
    argument: Annotated[list[str] | None, typer.Option("-T", help=ARGUMENT)] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Runs of each.")] = 1,
    max_tasks: Annotated[int, typer.Option(min=1, help="Runs at a time.")] = 4,
    costs: Annotated[Path | None, typer.Option("--model-cost-config", help=COSTS, exists=True)] = None,
    display: Annotated[str, typer.Option(help="As Inspect's: full, rich, plain, log or none.")] = "rich",
) -> None:
    """Run tasks × harnesses × models, and the floors once, as one eval set.

    Exit code: 0 when every run succeeded; 1 when one did not; 2 when something asked for cannot be run.
    """
    from inspect_ai._util.error import PrerequisiteError
    from pydantic import TypeAdapter, ValidationError

    from hepbench.benchmark.sweep import Sweep, prices, run_sweep
    from hepbench.harness.agents.harnesses import FLOORS, HARNESSES, HarnessName

    try:
        chosen = TypeAdapter(list[HarnessName]).validate_python(harness or list(HARNESSES))
        if not model and set(chosen) - FLOORS:
            raise PrerequisiteError("a harness that asks a model needs one: --model openai/…")  # noqa: TRY301
        wanted = Sweep(
            model or [], **({"tasks": task} if task else {}), harnesses=chosen, arguments=_read(argument)
        )
        options: dict[str, Any] = {"model_cost_config": prices(costs)} if costs else {}
        done, _ = run_sweep(wanted, log_dir, epochs=epochs, max_tasks=max_tasks, display=display, **options)
    except ValidationError:
        typer.echo(f"hepbench sweep: a harness is one of {', '.join(HARNESSES)}", err=True)
        raise typer.Exit(2) from None
    except PrerequisiteError as e:
        typer.echo(f"hepbench sweep: {e.message}", err=True)
        raise typer.Exit(2) from e
    if not done:
        raise typer.Exit(1)


def _read(arguments: list[str] | None) -> dict[str, Any]:
    """`name=value` pairs, the values as YAML: as `inspect eval -T` reads them."""
    import yaml

    pairs = (argument.partition("=") for argument in arguments or [])
    return {name: yaml.safe_load(value) for name, _, value in pairs}
