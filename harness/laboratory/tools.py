"""The laboratory's tools, as Inspect tools over one run's `Laboratory`.

A tool answers, or it refuses: the refusal goes on record, the agent sees one line, and the sample goes on.
Numbers and lists are also taken as text, because a schema error would leave no trace in the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from logging import getLogger
from typing import Any

import anyio
from inspect_ai.tool import Tool, ToolDef, ToolError
from inspect_ai.util import LimitExceededError

from hepbench.harness.laboratory import elements as element_data
from hepbench.harness.laboratory import results
from hepbench.harness.laboratory.arguments import (
    LabRefusal,
    compound_of,
    dynamics_of,
    elements_of,
    pressure_of,
    prototype_of,
    prototypes_of,
)
from hepbench.harness.laboratory.known import Database, DatabaseError
from hepbench.harness.laboratory.laboratory import Laboratory
from hepbench.harness.laboratory.simulations import (
    DEFAULT_STEPS,
    simulation_answer,
    simulation_checks,
    simulation_key,
)
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.store import current_registry
from hepbench.harness.text import clean, shorten, to_text

logger = getLogger(__name__)

TOOL_NAMES = (
    "list_prototypes",
    "element_properties",
    "query_database",
    "relax_structure",
    "compare_structures",
    "run_md",
)
"""`query_database` is offered where the run has a database."""


def laboratory_tools(lab: Laboratory) -> list[Tool]:
    """The tools over one run's laboratory.

    They are built by `ToolDef`, not by `@tool`, which would keep the laboratory in Inspect's global registry.
    """
    look_up = [list_prototypes(lab), element_properties(lab)]
    known = [query_database(lab, lab.database)] if lab.database else []
    return [*look_up, *known, relax_structure(lab), compare_structures(lab), run_md(lab)]


def list_prototypes(lab: Laboratory) -> Tool:
    """What there is to work with."""

    async def execute() -> str:
        """List the candidate crystal structures (prototypes) and the compounds that you may explore.

        Each prototype stands with the label that it counts as, its space group and a description. Also says
        which interatomic potential is used, and how much of the budget is left. Free.
        """
        with _asked(lab, "list_prototypes", {}) as registry:
            family = lab.family
            answer = {
                "family": family.title,
                "label_name": family.label_name,
                "potential": lab.provenance.potential,
                "prototypes": [
                    {
                        "name": p.name,
                        "label": p.label,
                        "space_group": p.number,
                        "description": p.description,
                    }
                    for p in family.prototypes
                ],
                "exploration_compounds": [c.formula for c in family.of_part("exploration")],
                "budget_left": lab.budget_left,
            }
            return _recorded(registry, "list_prototypes", {}, answer)

    return ToolDef(execute, name="list_prototypes", max_output=0).as_tool()


def element_properties(lab: Laboratory) -> Tool:
    """Table data of elements."""

    async def execute(elements: list[str] | str) -> str:
        """Look up tabulated properties of chemical elements.

        Answers with group, period, electronegativity (Pauling), electron configuration, oxidation states,
        the first six ionization energies (eV), Shannon ionic radii (Å) by charge, coordination and spin, and
        d and f electron counts by charge. Free. Table data help to think, but they are no measurement: they
        cannot move a belief as evidence.

        Args:
            elements: Up to 40 element symbols, for example ["Ti", "O"].
        """
        arguments = {"elements": elements}
        with _asked(lab, "element_properties", arguments) as registry:
            if not element_data.is_loaded():
                await anyio.to_thread.run_sync(element_data.symbols)
            symbols = elements_of(elements, lab.example("element_properties"))
            answer = {
                "units": dict(element_data.UNITS),
                "elements": [element_data.element_row(symbol) for symbol in symbols],
                "provenance": element_data.provenance(),
            }
            return _recorded(registry, "element_properties", arguments, answer)

    return ToolDef(execute, name="element_properties", max_output=0).as_tool()


def query_database(lab: Laboratory, database: Database) -> Tool:
    """Known structures of a compound."""

    async def execute(compound: str) -> str:
        """Look up the known crystal structures of a compound.

        Answers with one entry for each structure: what it is called, which listed prototype it is (null: none
        of them), space group, cell (a, b, c in Å, angles in degrees), volume (Å³/atom) and where it comes
        from. An empty list says that this database has none, not that none is known. Free. What is known from
        experiment or from another calculation need not be what the potential of this question prefers: it
        helps to think, but it is no measurement and cannot move a belief.

        Args:
            compound: Formula of an exploration compound, for example "TiO2".
        """
        arguments = {"compound": compound}
        with _asked(lab, "query_database", arguments) as registry:
            example = lab.example("query_database")
            found = compound_of(lab.family, compound, example)
            try:
                entries = await anyio.to_thread.run_sync(
                    database.entries, found.formula, abandon_on_cancel=True
                )
            except DatabaseError as e:
                raise LabRefusal(f"{e}.", example) from e
            answer = {
                "compound": found.formula,
                "database": database.name,
                "structures": [entry.row() for entry in entries],
            }
            return _recorded(registry, "query_database", arguments, answer)

    return ToolDef(execute, name="query_database").as_tool()


def relax_structure(lab: Laboratory) -> Tool:
    """One compound in one prototype."""

    async def execute(compound: str, prototype: str, pressure_GPa: float | str = 0.0) -> str:  # noqa: N803
        """Relax one compound in one prototype (cell and positions) with the interatomic potential.

        Answers with energy and enthalpy (eV/atom), volume (Å³/atom), space group, the phase that the relaxed
        structure is, whether that is still the prototype it started as, and the checks that decide whether
        the result is trusted as evidence. Costs 1 structure of the budget, also when the relaxation fails;
        a structure that you have seen before costs nothing. A pressure makes it a live relaxation, which
        takes some seconds to minutes.

        Args:
            compound: Formula of an exploration compound, for example "TiO2".
            prototype: Name of a prototype, as list_prototypes gives it.
            pressure_GPa: External hydrostatic pressure in GPa, from -50 to 50; 0 if left out.
        """
        arguments = {"compound": compound, "prototype": prototype, "pressure_GPa": pressure_GPa}
        with _asked(lab, "relax_structure", arguments) as registry:
            example = lab.example("relax_structure")
            found = compound_of(lab.family, compound, example)
            start = prototype_of(lab.family, prototype, example)
            pressure = pressure_of(pressure_GPa, lab.settings.max_pressure, example)
            (measured,) = await lab.measure(found, [start], pressure)
            _require_result(lab, measured)
            checks = results.relaxation_checks(measured, lab.settings.tolerances)
            answer = {**results.relaxation_answer(measured, checks), **_footer(lab, [measured])}
            keys = [results.measurement_key(measured)]
            return _recorded(registry, "relax_structure", arguments, answer, checks, keys)

    return ToolDef(execute, name="relax_structure").as_tool()


def compare_structures(lab: Laboratory) -> Tool:
    """One compound in several prototypes."""

    async def execute(
        compound: str,
        prototypes: list[str] | str,
        pressure_GPa: float | str = 0.0,  # noqa: N803
    ) -> str:
        """Relax one compound in several prototypes and rank the phases, lowest first.

        Answers with the lowest phase and the ranking by energy above the lowest (meV/atom; enthalpy under
        pressure), with volume (Å³/atom) and space group. Starts that relaxed into something else stand under
        "changed" with the phase they became (null: none of the list), failed ones under "failed". The checks
        decide whether the result is trusted as evidence. Costs 1 structure of the budget for each prototype
        that you have not seen for this compound and pressure; a call that costs more than is left is refused
        whole. A pressure makes it live relaxations, which take some seconds to minutes each.

        Args:
            compound: Formula of an exploration compound, for example "TiO2".
            prototypes: Names of two or more prototypes, for example ["rutile", "anatase"].
            pressure_GPa: External hydrostatic pressure in GPa, from -50 to 50; 0 if left out.
        """
        arguments = {"compound": compound, "prototypes": prototypes, "pressure_GPa": pressure_GPa}
        with _asked(lab, "compare_structures", arguments) as registry:
            example = lab.example("compare_structures")
            found = compound_of(lab.family, compound, example)
            starts = prototypes_of(lab.family, prototypes, example)
            pressure = pressure_of(pressure_GPa, lab.settings.max_pressure, example)
            measured = await lab.measure(found, starts, pressure)
            compared = results.compare(measured, lab.settings.tolerances)
            answer = results.comparison_answer(found.formula, pressure, compared)
            answer |= _footer(lab, measured)
            keys = [results.measurement_key(m) for m in measured]
            return _recorded(registry, "compare_structures", arguments, answer, compared.checks, keys)

    return ToolDef(execute, name="compare_structures").as_tool()


def run_md(lab: Laboratory) -> Tool:
    """Molecular dynamics of one compound in one prototype."""

    async def execute(
        compound: str,
        prototype: str,
        temperature_K: float | str,  # noqa: N803
        steps: int | str = DEFAULT_STEPS,
        seed: int | str = 0,
    ) -> str:
        """Run molecular dynamics of one compound in one prototype: does the phase survive the temperature?

        Starts from the relaxed structure in a fixed cell of 24 to 96 atoms at constant temperature (NVT,
        Langevin, 2 fs a step), then relaxes the positions of the end and says which phase that is. Answers
        with survived, the phase at the end, the mean-square displacement from the starting sites (Å², by
        element), mean and standard deviation of the temperature, energies, the energy drift, and the checks
        that decide whether the result is trusted as evidence. A short run can show that a phase is unstable;
        it cannot show that one is stable. Costs 10 structures of the budget (1 if the structure does not
        relax to that prototype) and takes one to some minutes; a repeat costs nothing.

        Args:
            compound: Formula of an exploration compound, for example "TiO2".
            prototype: Name of a prototype, as list_prototypes gives it.
            temperature_K: Temperature in K, from 50 to 3000.
            steps: Steps of 2 fs, from 100 to 1000; 300 if left out.
            seed: Seed of the random velocities, from 0 to 999; 0 if left out. Another seed is another run.
        """
        given = {"temperature_K": temperature_K, "steps": steps, "seed": seed}
        arguments = {"compound": compound, "prototype": prototype, **given}
        with _asked(lab, "run_md", arguments) as registry:
            example = lab.example("run_md")
            found = compound_of(lab.family, compound, example)
            start = prototype_of(lab.family, prototype, example)
            maker = dynamics_of(temperature_K, steps, seed, example)
            simulated = await lab.simulate(found, start, maker)
            checks = simulation_checks(simulated)
            answer = {**simulation_answer(simulated, checks), **_footer(lab, [])}
            answer["provenance"]["source"] = "live"
            keys = [simulation_key(simulated)]
            return _recorded(registry, "run_md", arguments, answer, checks, keys)

    return ToolDef(execute, name="run_md").as_tool()


@contextmanager
def _asked(lab: Laboratory, tool: str, arguments: Mapping[str, Any]) -> Iterator[Registry]:
    """The boundary of a tool: whatever goes wrong inside is put on record and becomes one line.

    Limits pass, and so does cancellation, which is no `Exception`.
    """
    registry = current_registry()
    try:
        _require_open(lab, registry)
        yield registry
    except LabRefusal as refusal:
        raise _refused(registry, tool, arguments, refusal) from refusal
    except LimitExceededError:
        raise
    except Exception as e:  # the sample goes on, whatever broke in here
        logger.exception("laboratory tool %s failed", tool)
        broken = LabRefusal(
            f"the laboratory broke down: {type(e).__name__}: {shorten(str(e), 200)}", lab.example(tool)
        )
        raise _refused(registry, tool, arguments, broken) from e


def _require_open(lab: Laboratory, registry: Registry) -> None:
    if lab.closed or registry.state.ended is not None:
        raise LabRefusal("the laboratory is closed.", "none; the laboratory stays closed")


def _refused(registry: Registry, tool: str, arguments: Mapping[str, Any], refusal: LabRefusal) -> ToolError:
    registry.refuse(tool, arguments, "laboratory", refusal.reason)
    return ToolError(" ".join(clean(str(refusal)).split()))


def _require_result(lab: Laboratory, measured: results.Measured) -> None:
    r = measured.relaxation
    if r.status == "failed":
        at = f" at {r.pressure:g} GPa" if r.pressure else ""
        raise LabRefusal(
            f"no result for {r.compound} as {r.prototype}{at}: {r.error}. It is paid for; "
            f"{lab.budget_left} structures are left.",
            lab.example("relax_structure"),
        )


def _footer(lab: Laboratory, measured: list[results.Measured]) -> dict[str, Any]:
    return {"provenance": lab.provenance_of(measured), "budget_left": lab.budget_left}


def _recorded(
    registry: Registry,
    tool: str,
    arguments: Mapping[str, Any],
    answer: Mapping[str, Any],
    checks: Mapping[str, bool] | None = None,
    measured: Sequence[tuple[str, str]] = (),
) -> str:
    """Put the answer on record and give it to the agent, its id first. Without checks it is table data."""
    result = registry.record_result(
        tool,
        arguments,
        answer,
        checks or {},
        measurement=checks is not None,
        measured=measured,
    )
    return to_text({"result": result, **answer})
