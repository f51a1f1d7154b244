"""Building with EMT: the same code as with CHGNet, in a second and without torch."""

from pathlib import Path

import pytest

from hepbench.benchmark import reference as building
from hepbench.benchmark.reference import Build, read_journal
from hepbench.harness.laboratory.family import Compound, Family, Prototype, Site
from hepbench.harness.laboratory.potential import PotentialError
from hepbench.harness.laboratory.records import Relaxation
from hepbench.harness.laboratory.reference import ReferenceSet
from hepbench.harness.laboratory.workers import WorkerPool

EMT = "ase:ase.calculators.emt:EMT"
FILES = ("energies.csv", "structures.extxyz", "provenance.json")


def prototype(name: str, number: int, edge: float, anion: tuple[float, float, float]) -> Prototype:
    sites = (Site(role="M", xyz=(0.0, 0.0, 0.0)), Site(role="X", xyz=anion))
    lattice = (edge, edge, edge, 90.0, 90.0, 90.0)
    return Prototype(
        name=name, label=name, description="", source="textbook", number=number, lattice=lattice, sites=sites
    )


def member(metal: str, other: str) -> Compound:
    elements = {"M": metal, "X": other}
    return Compound(formula=metal + other, elements=elements, chemical_family="alloys", part="exploration")


ALLOYS = Family(
    id="ao2",
    version="1-A",
    title="alloys",
    question="?",
    label_name="prototype",
    anion_roles=("X",),
    split_seed=1,
    extrapolation=(),
    prototypes=(prototype("B2", 221, 3.0, (0.5, 0.5, 0.5)), prototype("B1", 225, 5.5, (0.5, 0.5, 0.5))),
    compounds=(member("Cu", "Pd"), member("Ag", "Au")),
)


@pytest.fixture(scope="module")
def finished_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with WorkerPool(2) as pool:
        return Build(ALLOYS, EMT, tmp_path_factory.mktemp("whole")).run(pool)


def test_set_is_complete_and_physical(finished_set: Path) -> None:
    reference = ReferenceSet.load(finished_set)
    assert list(reference.relaxations) == [(c, p) for c in ("CuPd", "AgAu") for p in ("B2", "B1")]
    assert all(r.converged and r.is_start for r in reference.relaxations.values())
    assert reference.truth("CuPd").labels == ("B2",)
    assert len(reference.structure("AgAu", "B1")) == 2
    assert reference.provenance.versions["ase"]
    assert not list(finished_set.glob("journal-*"))
    assert len((finished_set / "timings.csv").read_text().splitlines()) == 5


def test_killed_build_resumes_without_repeating_and_gives_the_same_bytes(
    finished_set: Path, tmp_path: Path
) -> None:
    class Killed(RuntimeError):
        pass

    def die_at_the_third(record: Relaxation) -> None:
        seen.append(record)
        if len(seen) == 3:
            raise Killed

    seen: list[Relaxation] = []
    build = Build(ALLOYS, EMT, tmp_path, done=die_at_the_third)
    with pytest.raises(Killed), WorkerPool(2) as pool:
        build.run(pool)
    assert len(read_journal(build.journal)) == 3
    with build.journal.open("a") as journal:
        journal.write('{"job": "AgAu as B1", "rec')  # torn by the kill
    computed: list[str] = []
    original = WorkerPool.submit

    class Watching(WorkerPool):
        def submit(self, job: building.Job) -> "building.Future[building.Outcome]":
            computed.append(job.name)
            return original(self, job)

    with Watching(1) as pool:
        Build(ALLOYS, EMT, tmp_path).run(pool)
    assert len(computed) == 1
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (finished_set / name).read_bytes()


def test_torn_line_is_ended_before_the_next_entry(tmp_path: Path) -> None:
    build = Build(ALLOYS, EMT, tmp_path)
    build.output.mkdir(exist_ok=True)
    build.journal.write_text('{"torn')
    kept: list[dict[str, object]] = []
    with WorkerPool(2) as pool:
        build.done = lambda _: kept.append(dict(read_journal(build.journal)))
        build.run(pool)
    assert len(kept[-1]) == 4


def test_other_recipe_starts_another_journal(tmp_path: Path) -> None:
    from hepbench.harness.laboratory.relaxation import RelaxationMaker

    one = Build(ALLOYS, EMT, tmp_path).journal
    assert one != Build(ALLOYS, EMT, tmp_path, RelaxationMaker(fmax=0.001)).journal
    assert one != Build(ALLOYS, "ase:ase.calculators.lj:LennardJones", tmp_path).journal


def test_job_that_always_kills_its_worker_is_recorded_as_failed(tmp_path: Path) -> None:
    family = ALLOYS.model_copy(
        update={"compounds": ALLOYS.compounds[:1], "prototypes": ALLOYS.prototypes[:1]}
    )
    with WorkerPool(1) as pool:
        Build(family, "ase:os:abort", tmp_path).run(pool)
    record = ReferenceSet.load(tmp_path).relaxation("CuPd", "B2")
    assert record is not None
    assert record.status == "failed"
    assert "the worker process died" in record.error
    assert record.error.endswith("3 times")
    assert ReferenceSet.load(tmp_path).left_out == {"CuPd": "no candidate converged to a listed phase"}


def test_potential_that_no_worker_can_load_ends_the_build(tmp_path: Path) -> None:
    build = Build(ALLOYS, "ase:math:no_such_factory", tmp_path)
    with WorkerPool(1) as pool, pytest.raises(PotentialError, match="math has no no_such_factory"):
        build.run(pool)
    assert read_journal(build.journal) == {}
    assert not (tmp_path / "energies.csv").exists()


@pytest.mark.parametrize("line", ["[]", "7", "{}", '{"job": "x", "record": {"energy": "much"}}', "\x00\x00"])
def test_line_that_is_no_entry_is_passed_over(tmp_path: Path, line: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(line + "\n")
    assert read_journal(path) == {}
