"""Building a reference set: every candidate of a family, relaxed with one potential.

Finished jobs go to a journal (JSON lines) as they come in, so that a killed build resumes where it was. The
journal's name holds a hash of everything the energies depend on: another recipe starts another journal.
The set itself is written at the end, in the family's order, so that two builds give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from hepbench.harness.laboratory.cluster_worker import ClusterError
from hepbench.harness.laboratory.family import Family
from hepbench.harness.laboratory.phases import Candidate, identify
from hepbench.harness.laboratory.potential import PotentialError
from hepbench.harness.laboratory.potentials import Coverage, potential
from hepbench.harness.laboratory.records import Provenance, Relaxation
from hepbench.harness.laboratory.reference import (
    ReferenceError,  # noqa: A004 - the field's word
    ReferenceSet,
    write_reference,
)
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.harness.laboratory.workers import Job, LiveRelaxationError, Outcome, Pool

if TYPE_CHECKING:
    from ase import Atoms

TRIES = 3
GLANCE = 5.0
"""Seconds after which a pool is asked again how many jobs it takes: a cluster's workers come and go."""


@dataclass
class Build:
    """One build of a family's reference set.

    Attributes:
        family: What is relaxed.
        potential_id: With what; its name here, which for a file is a path.
        output: The folder to write.
        maker: The recipe.
        done: Called with each finished job's record, for progress.
        not_held: Formula → why it is not built: the set is a partial one, and says so.
    """

    family: Family
    potential_id: str
    output: Path
    maker: RelaxationMaker = field(default_factory=RelaxationMaker)
    done: Callable[[Relaxation], None] = lambda _: None
    not_held: Mapping[str, str] = field(default_factory=dict)

    @property
    def provenance(self) -> Provenance:
        """Everything that the energies depend on."""
        return potential(self.potential_id).provenance(self.maker.settings())

    @property
    def journal(self) -> Path:
        """Where finished jobs stand until the build is complete."""
        return self.output / f"journal-{_digest(self.provenance)[:12]}.jsonl"

    def jobs(self) -> list[Job]:
        """Every candidate that is built, in the family's order."""
        return [
            Job(self.potential_id, self.maker, compound, prototype)
            for compound in self.family.compounds
            if compound.formula not in self.not_held
            for prototype in self.family.prototypes
        ]

    def run(self, pool: Pool) -> Path:
        """Relax what the journal does not have yet, identify the phases and write the set.

        Returns:
            The folder written.

        Raises:
            PotentialError: the potential is unknown, or its weights are not here.
            ClusterError: the cluster cannot be reached, or a worker of it is not as this machine.
        """
        self.output.mkdir(parents=True, exist_ok=True)
        jobs = self.jobs()
        outcomes = read_journal(self.journal)
        for key in [job.name for job in jobs if job.name in outcomes]:
            self.done(outcomes[key].record)
        self._relax([job for job in jobs if job.name not in outcomes], pool, outcomes)
        self._write([(job, outcomes[job.name]) for job in jobs])
        self.journal.unlink(missing_ok=True)
        return self.output

    def _write(self, results: list[tuple[Job, Outcome]]) -> None:
        records: list[Relaxation] = []
        structures: list[Atoms] = []
        for compound in self.family.compounds:
            mine = [(job, outcome) for job, outcome in results if job.compound.formula == compound.formula]
            found = [Candidate(j.prototype, o.record, o.atoms) for j, o in mine if o.atoms is not None]
            named = identify(self.family, compound, found)
            records += [named.get(job.prototype.name, outcome.record) for job, outcome in mine]
            structures += [_labelled(c.atoms, compound.formula, c.prototype.name) for c in found]
        seconds = {(o.record.compound, o.record.prototype): o.seconds for _, o in results}
        write_reference(self.output, self.provenance, records, structures, seconds, self.not_held)

    def _relax(self, jobs: list[Job], pool: Pool, outcomes: dict[str, Outcome]) -> None:
        with self.journal.open("a", encoding="utf-8") as journal:
            _mend(self.journal, journal)
            for job, outcome in finished(jobs, pool):
                outcomes[job.name] = outcome
                _append(journal, job.name, outcome)
                self.done(outcome.record)


def not_built(family: Family, potential_id: str, wanted: Sequence[str] | None, pool: Pool) -> dict[str, str]:
    """Formula → why it cannot be built, or is not asked for, in the family's order.

    Args:
        family: Whose compounds.
        potential_id: With what; a worker loads it, to ask which elements it knows.
        wanted: Formulas; None for all.
        pool: Where it is loaded.

    Raises:
        PotentialError: a worker cannot load the potential.
        ReferenceError: the family has no such compound, or nothing is left to build.
        ClusterError: the cluster cannot be reached, or a worker of it is not as this machine.
    """
    for formula in wanted or ():
        if family.compound(formula) is None:
            there = ", ".join(c.formula for c in family.compounds)
            raise ReferenceError(f"{family.id} has no compound {formula!r}; it has {there}")
    known = _known_elements(potential_id, pool)
    reasons: dict[str, str] = {}
    for compound in family.compounds:
        lacking = [e for e in compound.elements.values() if known is not None and e not in known]
        if lacking:
            reasons[compound.formula] = f"no {', '.join(lacking)} in this potential"
        elif wanted is not None and compound.formula not in wanted:
            reasons[compound.formula] = "not built"
    if len(reasons) == len(family.compounds):
        why = (reasons[formula] for formula in wanted or reasons)
        raise ReferenceError(f"nothing to build: {next(why)}")
    return reasons


def _known_elements(potential_id: str, pool: Pool) -> frozenset[str] | None:
    question = Coverage(potential_id)
    try:
        return pool.outcome(question, pool.submit(question))
    except LiveRelaxationError as e:
        if isinstance(e.__cause__, PotentialError | ClusterError):
            raise e.__cause__ from e
        return None  # a worker that dies shows in the candidates' own records


def require_no_loss(folder: Path, not_held: Mapping[str, str]) -> None:
    """Refuse to put a set in the place of one that holds more.

    Raises:
        ReferenceError: the folder has a set with compounds that the new one would not hold.
    """
    if not not_held or not (folder / "provenance.json").is_file():
        return
    lost = {formula for formula, _ in ReferenceSet.load(folder).relaxations} & not_held.keys()
    if lost:
        raise ReferenceError(
            f"{folder} has a set with {', '.join(sorted(lost))}, which this one would not hold: "
            "name another folder, --output"
        )


def finished(jobs: list[Job], pool: Pool) -> Iterator[tuple[Job, Outcome]]:
    """Jobs with their outcomes, as they finish; a job is tried three times before it counts as failed.

    Raises:
        PotentialError: a worker cannot load the potential.
        ClusterError: the cluster cannot be reached, or a worker of it is not as this machine.
    """
    waiting = deque((job, 1) for job in jobs)
    running: dict[Future[Outcome], tuple[Job, int]] = {}
    while waiting or running:
        for _ in range(min(len(waiting), pool.room() - len(running))):
            job, tries = waiting.popleft()
            running[pool.submit(job)] = (job, tries)
        for future in wait(running, timeout=GLANCE, return_when=FIRST_COMPLETED).done:
            job, tries = running.pop(future)
            try:
                yield job, pool.outcome(job, future)
            except LiveRelaxationError as e:
                if isinstance(e.__cause__, PotentialError | ClusterError):  # it would fail every job alike
                    raise e.__cause__ from e
                if tries < TRIES:
                    waiting.appendleft((job, tries + 1))
                else:
                    yield job, _failed(job, f"{e}, {tries} times")


def read_journal(path: Path) -> dict[str, Outcome]:
    """The journal's jobs. A line that is no whole entry, such as one torn by a kill, is passed over."""
    outcomes: dict[str, Outcome] = {}
    if not path.exists():
        return outcomes
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
            record = Relaxation.model_validate(entry["record"])
            outcomes[entry["job"]] = Outcome(record, _atoms(entry["atoms"]), float(entry["seconds"]))
        except (ValueError, KeyError, TypeError):
            continue
    return outcomes


def _append(journal: IO[str], job: str, outcome: Outcome) -> None:
    entry = {
        "job": job,
        "record": outcome.record.model_dump(),
        "atoms": _plain(outcome.atoms),
        "seconds": outcome.seconds,
    }
    journal.write(json.dumps(entry) + "\n")
    journal.flush()


def _mend(path: Path, journal: IO[str]) -> None:
    """End a torn last line, so that the next entry starts on its own."""
    text = path.read_bytes()
    if text and not text.endswith(b"\n"):
        journal.write("\n")


def _labelled(atoms: Atoms, compound: str, prototype: str) -> Atoms:
    copy = atoms.copy()
    copy.info = {"compound": compound, "prototype": prototype}
    return copy


def _failed(job: Job, reason: str) -> Outcome:
    record = Relaxation(
        compound=job.compound.formula,
        prototype=job.prototype.name,
        status="failed",
        pressure=job.pressure,
        error=reason,
    )
    return Outcome(record, None, 0.0)


def _plain(atoms: Atoms | None) -> dict[str, Any] | None:
    if atoms is None:
        return None
    return {
        "numbers": atoms.numbers.tolist(),
        "cell": atoms.cell[:].tolist(),
        "positions": atoms.positions.tolist(),
    }


def _atoms(plain: dict[str, Any] | None) -> Atoms | None:
    from ase import Atoms

    return None if plain is None else Atoms(**plain, pbc=True)


def _digest(provenance: Provenance) -> str:
    return hashlib.sha256(provenance.model_dump_json().encode()).hexdigest()
