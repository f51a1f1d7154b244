"""Molecular dynamics: EMT's copper alloys as real physics, a fake worker for what the agent sees."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT

from hepbench.harness.laboratory.arguments import LabRefusal, dynamics_of
from hepbench.harness.laboratory.dynamics import MAX_ATOMS, MIN_ATOMS, DynamicsError, DynamicsMaker, supercell
from hepbench.harness.laboratory.family import Compound, Family, Prototype, Site
from hepbench.harness.laboratory.laboratory import Laboratory, LabSettings
from hepbench.harness.laboratory.records import Provenance
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.harness.laboratory.simulations import (
    MD_COST,
    Simulated,
    simulation_answer,
    simulation_checks,
    simulation_key,
)
from hepbench.harness.laboratory.workers import T, Work

EMT_ID = "ase:ase.calculators.emt:EMT"
MakeLab = Callable[..., Laboratory]

CUAU = Compound(formula="CuAu", elements={"M": "Cu", "X": "Au"}, chemical_family="alloy", part="exploration")
L10 = Prototype(
    name="L10",
    label="L10",
    description="CuAu, ordered along c",
    source="textbook",
    number=123,
    lattice=(2.8, 2.8, 3.67, 90.0, 90.0, 90.0),
    sites=(Site(role="M", xyz=(0.0, 0.0, 0.0)), Site(role="X", xyz=(0.5, 0.5, 0.5))),
)
ROCK_SALT = Prototype(
    name="rock salt",
    label="rock salt",
    description="B1",
    source="textbook",
    number=225,
    lattice=(5.2, 5.2, 5.2, 90.0, 90.0, 90.0),
    sites=(Site(role="M", xyz=(0.0, 0.0, 0.0)), Site(role="X", xyz=(0.5, 0.5, 0.5))),
)
ALLOYS = Family(
    id="alloys",
    version="1-A",
    title="Alloys",
    question="?",
    label_name="phase",
    anion_roles=("X",),
    split_seed=0,
    extrapolation=(),
    prototypes=(L10, ROCK_SALT),
    compounds=(CUAU,),
)


class Nothing:
    """A reference set of EMT that knows nothing."""

    def __init__(self) -> None:
        from hepbench.harness.laboratory.potentials import potential

        self.provenance = Provenance(
            potential=EMT_ID,
            weights_sha256=potential(EMT_ID).weights_sha256(),
            settings=RelaxationMaker().settings(),
            versions={},
            dtype="float64",
            device="cpu",
        )

    def relaxation(self, compound: str, prototype: str) -> None:
        return None


def emt_lab() -> Laboratory:
    async def run(work: Work[T]) -> T:
        return work.do()

    return Laboratory(ALLOYS, Nothing(), LabSettings(budget=100), run)


def simulate(lab: Laboratory, maker: DynamicsMaker, prototype: Prototype = L10) -> Simulated:
    return anyio.run(lab.simulate, CUAU, prototype, maker)


@pytest.fixture(scope="module")
def cold() -> Simulated:
    return simulate(emt_lab(), DynamicsMaker(temperature=300, steps=150))


def test_a_solid_survives_room_temperature(cold: Simulated) -> None:
    answer = simulation_answer(cold, simulation_checks(cold))
    assert answer["trusted"], answer
    assert answer["survived"] is True
    assert answer["phase_at_end"] == "L10"
    assert answer["quenched_above_start_meV_per_atom"] == pytest.approx(0, abs=0.5)
    assert 0.001 < answer["mean_square_displacement_A2"]["Cu"] < 0.2
    assert MIN_ATOMS <= cold.record.atoms <= MAX_ATOMS
    assert cold.record.temperature_sd == pytest.approx(300 * math.sqrt(2 / (3 * cold.record.atoms)), rel=0.7)


def test_the_same_seed_gives_the_same_trajectory_and_another_another(cold: Simulated) -> None:
    atoms = bulk("CuAu", "rocksalt", a=5.3)  # any crystal does
    short = DynamicsMaker(temperature=200, steps=20, nve_steps=5, quench_steps=2)
    first, second, third = (m.run(atoms, EMT())[0] for m in (short, short, replace(short, seed=1)))
    assert first == second != third


def test_a_phase_that_only_its_symmetry_held_together_does_not_survive() -> None:
    gone = simulate(emt_lab(), DynamicsMaker(temperature=300, steps=100), ROCK_SALT)
    assert gone.record.quenched_energy < gone.record.start_energy - 0.1
    assert gone.record.phase != "rock salt"
    assert not gone.survived


def test_a_time_step_too_long_shows_as_drift(cold: Simulated) -> None:
    atoms = bulk("Cu", cubic=True)
    lost = DynamicsMaker(temperature=900, steps=30, timestep=40.0, quench_steps=1)
    with pytest.raises(DynamicsError, match=r"flew apart|broke off"):
        lost.run(atoms, EMT())
    sound = DynamicsMaker(temperature=900, steps=30, timestep=2.0, quench_steps=1).run(atoms, EMT())[0]
    assert abs(sound.drift) < 20
    drifting = replace(cold, record=cold.record.model_copy(update={"drift": -150.0}))
    assert simulation_checks(drifting)["energy_drift"] is False


@pytest.mark.parametrize(
    ("changes", "fails"),
    [
        ({"temperature_mean": 420.0}, "temperature"),
        ({"temperature_mean": math.nan}, "temperature"),
        ({"potential_mean": math.nan}, "finite_energy"),
        ({"drift": math.nan}, "energy_drift"),
        ({"quench_fmax": 0.3}, "quenched"),
    ],
)
def test_each_check(cold: Simulated, changes: dict[str, float], fails: str) -> None:
    checks = simulation_checks(replace(cold, record=cold.record.model_copy(update=changes)))
    assert [name for name, passed in checks.items() if not passed] == [fails]


def test_a_phase_that_did_not_survive_is_a_sound_result(cold: Simulated) -> None:
    gone = replace(cold, record=cold.record.model_copy(update={"phase": None}))
    answer = simulation_answer(gone, simulation_checks(gone))
    assert answer["survived"] is False
    assert answer["trusted"] is True


@pytest.mark.parametrize(("size", "expected"), [(1, 24), (2, 24), (20, 40), (96, 96)])
def test_cells_are_repeated_to_a_bounded_size(size: int, expected: int) -> None:
    atoms = Atoms("Cu" * size, cell=[3, 4, 5], pbc=True, positions=np.zeros((size, 3)))
    assert expected <= len(supercell(atoms)) <= MAX_ATOMS


def test_a_cell_too_large_is_one_line() -> None:
    with pytest.raises(DynamicsError, match="97 atoms; dynamics take at most 96"):
        supercell(Atoms("Cu97", cell=[9, 9, 9], pbc=True, positions=np.zeros((97, 3))))


def test_cost_repeat_and_refusals(make_lab: MakeLab, family: Family, worker: Any) -> None:
    lab = make_lab(budget=2 * MD_COST + 5)
    tio2, rutile = family.compounds[0], family.prototypes[0]
    maker = DynamicsMaker(temperature=1000, steps=100)

    def run(**changes: Any) -> Simulated:
        return anyio.run(lab.simulate, tio2, rutile, replace(maker, **changes))

    first = run()
    assert lab.budget_left == MD_COST + 5
    assert run() is first
    assert lab.budget_left == MD_COST + 5
    assert simulation_key(run(seed=1)) != simulation_key(first)
    with pytest.raises(LabRefusal, match=f"costs {MD_COST}, and 5 structures are left"):
        run(seed=2)


def test_a_start_that_is_not_the_prototype_costs_one(make_lab: MakeLab, family: Family, worker: Any) -> None:
    worker.ends["rutile"] = "exploded"
    lab = make_lab(budget=30)
    with pytest.raises(LabRefusal, match=r"no relaxed structure to start from.*29 structures are left"):
        anyio.run(lab.simulate, family.compounds[0], family.prototypes[0], DynamicsMaker(1000, 100))


def test_no_result_is_one_line(make_lab: MakeLab, family: Family, worker: Any) -> None:
    worker.ends["MD of"] = "slow"
    lab = make_lab(budget=30)
    with pytest.raises(LabRefusal, match=r"MD of .* stopped after 120 s.*20 structures are left"):
        anyio.run(lab.simulate, family.compounds[0], family.prototypes[0], DynamicsMaker(1000, 100))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((math.nan, 300, 0), "temperature_K must be a number from 50 to 3000"),
        ((10**400, 300, 0), "temperature_K"),
        (("hot", 300, 0), "temperature_K"),
        ((True, 300, 0), "temperature_K"),
        ((1000, 1001, 0), "steps must be a number from 100 to 1000"),
        ((1000, 100.5, 0), "steps must be a whole number"),
        ((1000, 300, -1), "seed"),
        ((1000, None, 0), "steps"),
    ],
)
def test_absurd_settings(given: tuple[Any, Any, Any], says: str) -> None:
    with pytest.raises(LabRefusal, match=says):
        dynamics_of(*given, "")


def test_settings_as_models_write_them() -> None:
    assert dynamics_of("1200 K", "300", 0.0, "") == DynamicsMaker(temperature=1200, steps=300, seed=0)
