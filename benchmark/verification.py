"""Verifying a reference set: a sample of its candidates relaxed again, from scratch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hepbench.benchmark.reference import finished
from hepbench.harness.laboratory.family import Family
from hepbench.harness.laboratory.potentials import potential
from hepbench.harness.laboratory.records import Relaxation
from hepbench.harness.laboratory.reference import ReferenceError, ReferenceSet  # noqa: A004
from hepbench.harness.laboratory.relaxation import RelaxationError, RelaxationMaker
from hepbench.harness.laboratory.workers import Job, Pool

ENERGY_TOLERANCE = 0.001  # eV/atom: half of what counts as a tie
VOLUME_TOLERANCE = 0.01  # relative: soft cells stop at slightly different volumes on another machine
TOLERANCE = "within 1 meV/atom and 1 % of the volume, same space group"


@dataclass(frozen=True)
class Finding:
    """A candidate's record beside the new one."""

    stored: Relaxation
    again: Relaxation

    @property
    def agrees(self) -> bool:
        """Whether status, convergence, space group, energy and volume are the same within tolerance."""
        old, new = self.stored, self.again
        if (old.status, old.converged, old.space_group) != (new.status, new.converged, new.space_group):
            return False
        if old.energy is None or new.energy is None or old.volume is None or new.volume is None:
            return old.energy is None and new.energy is None
        near = abs(old.energy - new.energy) <= ENERGY_TOLERANCE
        return near and abs(new.volume / old.volume - 1) <= VOLUME_TOLERANCE

    def __str__(self) -> str:
        verdict = "agrees" if self.agrees else "DIFFERS"
        return f"{verdict}: {_told(self.stored)}; again: {_numbers(self.again)}"


def verify_sample(
    family: Family,
    reference: ReferenceSet,
    picked: Sequence[tuple[str, str]],
    pool: Pool,
    name: str | None = None,
) -> Iterator[Finding]:
    """Relax the picked candidates again with the set's own settings.

    Args:
        family: Of the set.
        reference: What is verified.
        picked: (formula, prototype name) of each candidate.
        pool: Where the work is done.
        name: What the set's potential is called here, where that is not its id.

    Raises:
        ReferenceError: the weights here are not the set's, or the family does not have a candidate.
        PotentialError: the potential is not available here.
        ClusterError: the cluster cannot be reached, or a worker of it is not as this machine.
    """
    stated = reference.provenance
    chosen = potential(name or stated.potential)
    chosen.check()
    if chosen.weights_sha256() != stated.weights_sha256:
        raise ReferenceError(f"{reference.path}: the weights of {stated.potential} here are not the set's")
    try:
        maker = RelaxationMaker.from_settings(stated.settings)
    except RelaxationError as e:
        raise ReferenceError(f"{reference.path}: {e}") from None
    jobs = [_job(family, chosen.name, maker, candidate) for candidate in picked]
    for job, outcome in finished(jobs, pool):
        stored = reference.relaxations[job.compound.formula, job.prototype.name]
        yield Finding(stored, outcome.record)


def _job(family: Family, potential_id: str, maker: RelaxationMaker, name: tuple[str, str]) -> Job:
    compound, prototype = family.compound(name[0]), family.prototype(name[1])
    if compound is None or prototype is None:
        raise ReferenceError(f"{family.id} has no {name[0]} as {name[1]}: the set is of another version")
    return Job(potential_id, maker, compound, prototype)


def _told(record: Relaxation) -> str:
    return f"{record.compound} as {record.prototype} {_numbers(record)}"


def _numbers(record: Relaxation) -> str:
    if record.energy is None or record.volume is None:
        return f"failed ({record.error})"
    return f"{record.energy:.5f} eV/atom, {record.volume:.3f} Å³/atom, space group {record.space_group}"
