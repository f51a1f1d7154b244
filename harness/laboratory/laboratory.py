"""The laboratory of one run: what may be asked, what it costs, and where a relaxation comes from.

One `Laboratory` belongs to one sample. It keeps what that run has spent and seen, and shares nothing with
other samples but read-only data and the worker processes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hepbench.harness.laboratory.arguments import LabRefusal
from hepbench.harness.laboratory.dynamics import DynamicsMaker
from hepbench.harness.laboratory.family import Compound, Family, Prototype
from hepbench.harness.laboratory.known import Database
from hepbench.harness.laboratory.live import LiveRelaxations, RunJob, shared_runner
from hepbench.harness.laboratory.potential import PotentialError
from hepbench.harness.laboratory.records import Provenance, Relaxation
from hepbench.harness.laboratory.relaxation import RelaxationError
from hepbench.harness.laboratory.results import Measured, Source, Tolerances, relaxation_checks
from hepbench.harness.laboratory.simulations import MD_COST, Simulated
from hepbench.harness.laboratory.workers import LiveRelaxationError


class Reference(Protocol):
    """Relaxations at zero pressure that were done beforehand."""

    @property
    def provenance(self) -> Provenance:
        """What all its energies depend on."""
        ...

    def relaxation(self, compound: str, prototype: str) -> Relaxation | None:
        """The record of a candidate, or None when there is none."""
        ...


@dataclass(frozen=True)
class LabSettings:
    """How much a run may do.

    Attributes:
        budget: Structures relaxed or looked up. A structure is a compound in a prototype at a pressure; a
            simulation costs as much as `MD_COST` of them.
        time_limit: Seconds for one live relaxation or simulation.
        max_pressure: Largest magnitude of a pressure, GPa.
        tolerances: What a relaxation must meet to be trusted.

    Raises:
        ValueError: a value is out of its range.
    """

    budget: int = 160
    time_limit: float = 120.0
    max_pressure: float = 50.0
    tolerances: Tolerances = field(default_factory=Tolerances)

    def __post_init__(self) -> None:
        if self.budget < 0:
            raise ValueError(f"budget must be 0 or more structures, not {self.budget}")
        for name in ("time_limit", "max_pressure"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be a positive number, not {value}")


class Laboratory:
    """The laboratory of one run.

    Args:
        family: What may be asked.
        reference: Relaxations at zero pressure; its potential and recipe are those of live ones too.
        settings: Budget and limits.
        run_job: Does live relaxations and simulations; by default in the worker processes of this process.
        database: Known structures; None where the run has none.
        potential: What the reference's potential is called here, where that is not its id.
    """

    def __init__(
        self,
        family: Family,
        reference: Reference,
        settings: LabSettings | None = None,
        run_job: RunJob | None = None,
        database: Database | None = None,
        potential: str | None = None,
    ) -> None:
        self.family = family
        self.settings = settings or LabSettings()
        self.database = database
        self.provenance = reference.provenance
        self.closed = False
        self._reference = reference
        self._live = LiveRelaxations(
            family, self.provenance, run_job or shared_runner(self.settings.time_limit), potential
        )
        self._spent = 0
        self._seen: set[_Structure] = set()
        self._simulated: dict[_Simulation, Simulated] = {}

    @property
    def budget_left(self) -> int:
        """Structures that may still be relaxed or looked up."""
        return self.settings.budget - self._spent

    def close(self) -> None:
        """Answer nothing from now on: the predictions are due."""
        self.closed = True

    async def measure(
        self, compound: Compound, prototypes: Sequence[Prototype], pressure: float
    ) -> list[Measured]:
        """Relax a compound in some prototypes, or look the relaxations up.

        The budget is charged first, for what this run has not seen yet. A relaxation that fails is paid for:
        it took its time. One without a result (too slow, a dead worker) is tried again, and paid for again,
        when it is asked again.

        Args:
            compound: An exploration compound.
            prototypes: Distinct ones.
            pressure: External, GPa. Zero looks into the reference set first.

        Returns:
            In the order of the prototypes; a relaxation that failed has the status "failed".

        Raises:
            LabRefusal: the budget does not suffice, or the potential for live relaxations is not here.
        """
        known = {} if pressure else self._looked_up(compound, prototypes)
        missing = [p for p in prototypes if p.name not in known]
        if missing:
            self._require_live()
        self._charge(compound, prototypes, pressure)
        live, lost = await self._live.relax(compound, missing, pressure) if missing else ({}, {})
        self._seen -= {_Structure(compound.formula, name, pressure) for name in lost}
        return [_measured(p, known, {**live, **lost}) for p in prototypes]

    async def simulate(self, compound: Compound, prototype: Prototype, maker: DynamicsMaker) -> Simulated:
        """Run molecular dynamics of a compound in a prototype, from its relaxed structure.

        Costs `MD_COST`, and 1 where the structure does not relax to the prototype that it is named for. One
        that was run before in this run costs nothing; one without a result is paid for.

        Raises:
            LabRefusal: the budget does not suffice, the potential is not here, the start is not sound, or
                there is no result.
        """
        key = _Simulation(compound.formula, prototype.name, maker)
        if key not in self._simulated:
            self._require_live()
            self._pay(MD_COST)
            await self._require_sound(compound, prototype)
            try:
                self._simulated[key] = await self._live.simulate(compound, prototype, maker)
            except LiveRelaxationError as e:
                raise LabRefusal(f"no result: {e}. {self._paid()}", self.example("run_md")) from e
        return self._simulated[key]

    async def _require_sound(self, compound: Compound, prototype: Prototype) -> None:
        live, lost = await self._live.relax(compound, [prototype], 0.0)
        record = {**live, **lost}[prototype.name]
        checks = relaxation_checks(Measured(prototype, record, "live"), self.settings.tolerances)
        if all(checks.values()):
            return
        self._spent -= MD_COST - 1
        became = f"it becomes {record.phase or 'a structure outside the list'}"
        failed = ", ".join(name for name, passed in checks.items() if not passed)
        why = record.error or (became if not record.is_start else f"it fails its checks: {failed}")
        raise LabRefusal(
            f"{compound.formula} as {prototype.name} has no relaxed structure to start from: {why}. "
            f"{self._paid()}",
            self.example("run_md"),
        )

    def _paid(self) -> str:
        return f"It is paid for; {self.budget_left} structures are left."

    def provenance_of(self, measured: Sequence[Measured]) -> dict[str, str]:
        """Potential, hash of its weights, and source, for an answer."""
        return {
            "potential": self.provenance.potential,
            "weights_sha256": self.provenance.weights_sha256,
            "source": " and ".join(sorted({m.source for m in measured})),
        }

    def example(self, tool: str) -> str:
        """A valid call of a tool, for refusals."""
        compound = self.family.of_part("exploration")[0].formula
        names = [p.name for p in self.family.prototypes[:2]]
        return {
            "relax_structure": f'relax_structure(compound="{compound}", prototype="{names[0]}")',
            "compare_structures": f'compare_structures(compound="{compound}", prototypes={names})',
            "run_md": f'run_md(compound="{compound}", prototype="{names[0]}", temperature_K=1000)',
            "query_database": f'query_database(compound="{compound}")',
            "element_properties": 'element_properties(elements=["Ti", "O"])',
        }.get(tool, f"{tool}()").replace("'", '"')

    def _looked_up(self, compound: Compound, prototypes: Sequence[Prototype]) -> dict[str, Relaxation]:
        found = {p.name: self._reference.relaxation(compound.formula, p.name) for p in prototypes}
        return {name: record for name, record in found.items() if record is not None}

    def _require_live(self) -> None:
        try:
            self._live.recipe()
        except (PotentialError, RelaxationError) as e:
            without = f"{self.example('relax_structure')}, at zero pressure"
            raise LabRefusal(
                f"this needs a live relaxation, which is not to be had here: {e}.", without
            ) from e

    def _charge(self, compound: Compound, prototypes: Sequence[Prototype], pressure: float) -> None:
        new = {_Structure(compound.formula, p.name, pressure) for p in prototypes} - self._seen
        self._pay(len(new))
        self._seen |= new

    def _pay(self, cost: int) -> None:
        if cost > self.budget_left:
            raise LabRefusal(
                f"the budget is too small: the call costs {cost}, and {self.budget_left} structures "
                "are left.",
                f"one for at most {self.budget_left} new structures; those already seen cost nothing",
            )
        self._spent += cost


@dataclass(frozen=True)
class _Structure:
    """What the budget counts."""

    compound: str
    prototype: str
    pressure: float


@dataclass(frozen=True)
class _Simulation:
    """What a simulation is remembered by."""

    compound: str
    prototype: str
    maker: DynamicsMaker


def _measured(prototype: Prototype, known: dict[str, Relaxation], live: dict[str, Relaxation]) -> Measured:
    source: Source = "reference set" if prototype.name in known else "live"
    return Measured(prototype, known.get(prototype.name) or live[prototype.name], source)
