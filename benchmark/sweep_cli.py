"""`hepbench sweep`: every task with every harness and every model, as one resumable eval set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hepbench.benchmark.sweep_options import with_generate_options

MODELS = "Model, as Inspect names it; say it again for more."
HARNESS = "A harness or a floor; say it again for more. Default: all."
TASK = "ao2, a2bbo6, mx, or a family's folder; say it again for more. Default: the three."
ARGUMENT = "A task parameter, such as lab_budget=100; say it again for more."
MODEL_ARGUMENT = "For the models' provider, as Inspect's -M; say it again for more."
ROLE = "A model beside the agent's, such as auditor=openai/…; say it again for more."
FAIL = "A run that fails does not stop its task: it counts as wrong."
COSTS = "Prices for the money column, as in costs.example.yaml."
DISPLAY = "As Inspect's: full, conversation, rich, plain, log or none."
SAMPLES = "Epochs of a run at a time."
Many = list[str] | None
Text = str | None
File = Path | None
Display = Literal["full", "conversation", "rich", "plain", "log", "none"]


@with_generate_options
def sweep(
    log_dir: Annotated[str, typer.Argument(help="Folder of the set; run again, it does what is missing.")],
    model: Annotated[Many, typer.Option("--model", "-m", metavar="NAME", help=MODELS)] = None,
    harness: Annotated[Many, typer.Option("--harness", metavar="NAME", help=HARNESS)] = None,
    task: Annotated[Many, typer.Option("--task", metavar="NAME", help=TASK)] = None,
    argument: Annotated[Many, typer.Option("-T", metavar="NAME=VALUE", help=ARGUMENT)] = None,
    model_arg: Annotated[Many, typer.Option("-M", metavar="NAME=VALUE", help=MODEL_ARGUMENT)] = None,
    model_base_url: Annotated[Text, typer.Option(metavar="URL", help="URL of the models' provider.")] = None,
    model_role: Annotated[Many, typer.Option(metavar="ROLE=MODEL", help=ROLE)] = None,
    epochs: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of each.")] = 1,
    limit: Annotated[Text, typer.Option(metavar="N", help="Samples of each task: 10, or 10-20.")] = None,
    max_tasks: Annotated[int, typer.Option(metavar="N", min=1, help="Runs at a time.")] = 4,
    max_samples: Annotated[int | None, typer.Option(metavar="N", min=1, help=SAMPLES)] = None,
    tolerant: Annotated[bool, typer.Option("--no-fail-on-error", help=FAIL)] = False,
    costs: Annotated[File, typer.Option("--model-cost-config", metavar="FILE", help=COSTS)] = None,
    display: Annotated[Display, typer.Option(metavar="WORD", help=DISPLAY)] = "rich",
    *,
    generate: dict[str, Any],
) -> None:
    """Run tasks × harnesses × models, and the floors once, as one eval set.

    Options of models are those of `inspect eval-set` and go to every model; floors get none of them.

    Exit code: 0 when every run succeeded; 1 when one did not; 2 when something asked for cannot be run.
    """
    from inspect_ai._util.error import PrerequisiteError

    from hepbench.benchmark import sweep_options as read
    from hepbench.benchmark.sweep import Asking, Sweep, prices, run_sweep

    try:
        asking = Asking(
            model_args=read.pairs("-M", model_arg or ()),
            base_url=model_base_url,
            roles=read.roles(model_role or ()),
            generate=read.generate_config(generate),
        )
        models = [name for given in model or () for name in given.split(",") if name]
        wanted = Sweep(
            models,
            **({"tasks": task} if task else {}),
            harnesses=_harnesses(harness, models),
            arguments=read.pairs("-T", argument or ()),
            asking=asking,
        )
        options: dict[str, Any] = {"model_cost_config": prices(costs)} if costs else {}
        options |= {"epochs": epochs, "limit": read.samples(limit)}
        options |= {"fail_on_error": False if tolerant else None}
        options |= {"max_tasks": max_tasks, "max_samples": max_samples, "display": display}
        done, _ = run_sweep(wanted, log_dir, **options)
    except PrerequisiteError as e:
        typer.echo(f"hepbench sweep: {read.one_line(e.message)}", err=True)
        raise typer.Exit(2) from e
    if not done:
        raise typer.Exit(1)


def _harnesses(asked: list[str] | None, models: list[str]) -> Any:
    from inspect_ai._util.error import PrerequisiteError

    from hepbench.harness.agents.harnesses import FLOORS, HARNESSES

    chosen = asked or list(HARNESSES)
    if set(chosen) - set(HARNESSES):
        raise PrerequisiteError(f"a harness is one of {', '.join(HARNESSES)}")
    if not models and set(chosen) - FLOORS:
        raise PrerequisiteError("a harness that asks a model needs one: --model openai/…")
    return chosen
