"""Any compound family: a folder with a family file and its reference sets, and not a line of code."""

from __future__ import annotations

from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError

from hepbench.tasks.families import FAMILY_IDS
from hepbench.tasks.suite import family_task


@task
def family(
    family: str | None = None,
    harness: str | None = None,
    potential: str | None = None,
    lab_budget: int | None = None,
    turn_limit: int | None = None,
    token_limit: int | None = None,
    context_limit: int | None = None,
    live_time_limit: float | None = None,
    scheduler: str | None = None,
    cache: str | bool | None = None,
    database: str | bool | None = None,
    rules: dict[str, Any] | None = None,
    journal: str | bool | None = None,
    **unknown: Any,
) -> Task:
    """A family of your own; docs/new_family.md tells how one is made.

    Args:
        family: Its folder, or the id of a family that ships with hepbench. It must be given.
        harness: How the agent works; default "hep". Others: "planning", "react", "closed_book", and, without
            a model, "majority", "nearest_neighbour", "decision_tree".
        potential: Id of the interatomic potential; default "chgnet-0.3.0".
        lab_budget: Structures that the laboratory relaxes or looks up; default 160.
        turn_limit: Model generations of the research phase; default 150.
        token_limit: Tokens of the research phase; default none.
        context_limit: The model's context window in tokens, where Inspect does not know it.
        live_time_limit: Seconds for one live relaxation or simulation; default 300.
        scheduler: Address of a Dask scheduler, tcp://host:8786, whose workers do the live relaxations and
            simulations; default none, worker processes of this machine.
        cache: Where live results are kept for other runs: "auto" ($HEPBENCH_CACHE, or else the user's cache
            folder; default), "off", a folder, or the URL of a PostgreSQL database.
        database: Where the agent looks up known structures: "local" (default), "off", a file that ends in
            .db, or the base URL of an OPTIMADE provider.
        rules: Protocol rules that differ from the defaults, for example {"support_threshold": 0.9}.
        journal: Where the durable journal goes: "auto" (beside the log, and the run goes on without it where
            that fails; default), "require", "off", or a folder.
        unknown: Anything else, which is refused: a misspelt parameter must not pass for its default.
    """
    given = locals()
    which = given.pop("family")
    if which is None:
        known = ", ".join(FAMILY_IDS)
        raise PrerequisiteError(
            f"hepbench/family: -T family is missing: a folder with a family.toml, or one of {known}"
        )
    return family_task(str(which), given)
