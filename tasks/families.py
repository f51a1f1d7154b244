"""The compound families that ship with hepbench, and where their data lie; anybody's family is a folder.

A family's folder holds `family.toml` and, for each potential, a reference set under `reference/`. Wherever a
family is asked for, the path of such a folder does as well as one of the ids below. Sets that users build for
the shipped families stand outside the package, which may not be writable: under `$HEPBENCH_REFERENCES`, or
else in the user's data folder.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import lru_cache
from pathlib import Path

from platformdirs import user_data_path

from hepbench.harness.laboratory.family import Family, FamilyError, load_family
from hepbench.harness.laboratory.known import Database, LocalDatabase
from hepbench.harness.laboratory.optimade import OptimadeDatabase
from hepbench.harness.laboratory.potential import UnknownPotential
from hepbench.harness.laboratory.potentials import DEFAULT_POTENTIAL, potential
from hepbench.harness.laboratory.reference import ReferenceError, ReferenceSet  # noqa: A004

DATA = Path(__file__).parent / "data"
FAMILY_IDS = ("ao2", "a2bbo6", "mx")
REFERENCES = "HEPBENCH_REFERENCES"
"""Environment variable: the folder of the sets that were built for the shipped families."""


def folder(family: str) -> Path:
    """The folder of a family.

    Args:
        family: One of `FAMILY_IDS`, or the path of a folder with a family.toml.

    Raises:
        FamilyError: it is neither.
    """
    if family in FAMILY_IDS:
        return DATA / family
    if (Path(family) / "family.toml").is_file():
        return Path(family)
    known = ", ".join(FAMILY_IDS)
    raise FamilyError(f"unknown family {family!r}: one of {known}, or a folder with a family.toml")


@lru_cache(maxsize=8)
def load(family: str) -> Family:
    """The family of that id or folder, read once.

    Raises:
        FamilyError: there is no such family, or its file is damaged.
    """
    return load_family(folder(family) / "family.toml")


def reference_path(family: str, potential_id: str) -> Path:
    """The folder of a family's reference set for one potential; it need not exist.

    Args:
        family: Its id or folder.
        potential_id: The potential's id, which for a file of weights is made of their hash.

    Raises:
        FamilyError: there is no such family.
    """
    safe = re.sub(r"[^\w.+-]", "-", potential_id)
    with_family = folder(family) / "reference" / safe
    if family not in FAMILY_IDS or potential_id == DEFAULT_POTENTIAL or with_family.is_dir():
        return with_family
    named = os.environ.get(REFERENCES)
    own = Path(named) if named else user_data_path("hepbench", appauthor=False) / "reference"
    return own / family / safe


def reference_set(family: str, name: str) -> ReferenceSet:
    """A family's reference set for the potential of that name.

    Raises:
        FamilyError: there is no such family.
        PotentialError: there is no such potential, or the file that it names is not here.
        ReferenceError: there is no set for it, and the line says which command makes one; or it is damaged.
    """
    try:
        identity = potential(name).id
    except UnknownPotential:
        if not reference_path(family, name).is_dir():
            raise
        identity = name  # a set is enough for a run that relaxes nothing live
    path = reference_path(family, identity)
    if not (path / "provenance.json").is_file():
        remedy = f"`hepbench reference build {family} --potential {name}`"
        if family in FAMILY_IDS and identity == DEFAULT_POTENTIAL:
            remedy = "installing hepbench again, which comes with it"
        raise ReferenceError(f"no reference set of {family} for {identity} in {path}: made by {remedy}")
    found = ReferenceSet.load(path)
    if found.provenance.potential != identity:
        raise ReferenceError(f"{path} is the set of {found.provenance.potential}, not of {identity}")
    return found


def within(family: Family, reference: ReferenceSet) -> Family:
    """The family as far as a reference set can ask it.

    Compounds that a partial set does not hold are gone. Nobody is asked about compounds whose truth is in
    doubt with this potential: those of the interpolation are explored, among the others of their chemical
    family; those of an extrapolation family, which nobody explores, are gone too.

    Raises:
        ReferenceError: the set is of another version of the family, or leaves nothing to explore or predict.
    """
    compounds = []
    for compound in family.compounds:
        try:
            left_out = reference.truth(compound.formula).left_out
        except KeyError:
            raise ReferenceError(
                f"{reference.path} is of another version of the family: it has no {compound.formula}"
            ) from None
        unexplored = bool(left_out) and compound.part == "extrapolation"
        if compound.formula not in reference.not_held and not unexplored:
            part = "exploration" if left_out else compound.part
            compounds.append(compound.model_copy(update={"part": part}))
    kept = family.model_copy(update={"compounds": tuple(compounds)})
    asked = {c.part for c in kept.compounds if c.formula not in reference.left_out}
    if {c.part for c in family.compounds} == {"exploration"}:
        raise ReferenceError(
            f"no compound of {family.id} is held out: `hepbench reference split` with --write sets the parts"
        )
    if "exploration" not in asked or len(asked) == 1:
        lacking = "held-out" if "exploration" in asked else "exploration"
        raise ReferenceError(
            f"{reference.path} has no {lacking} compound that can be asked: build more of it"
        )
    return kept


def known_database(family: Family, asked: str = "local") -> Database | None:
    """Where known structures of a family are looked up.

    Args:
        family: Whose structures.
        asked: "local" for the one that ships with the family, "off", a file that ends in .db, or the base URL
            of an OPTIMADE provider.

    Returns:
        None for "off", and for "local" where none ships with the family.
    """
    if asked.startswith(("http://", "https://")):
        return OptimadeDatabase(asked, family)
    if asked not in ("local", "off"):
        return LocalDatabase(Path(asked))
    shipped = DATA / family.id / "known.db"
    return LocalDatabase(shipped) if asked == "local" and shipped.is_file() else None


def known_identity(family: Family, asked: str = "local") -> str:
    """What the known structures of a run are called on record: a file by its hash, for a path tells nobody.

    Args:
        family: As for `known_database`.
        asked: As for `known_database`.

    Returns:
        "off" where the agent has no such tool.
    """
    if asked.startswith(("http://", "https://")):
        return asked
    if asked == "off" or known_database(family, asked) is None:
        return "off"
    shipped = asked == "local"
    place = DATA / family.id / "known.db" if shipped else Path(asked)
    if not place.is_file():
        return "no file"
    return f"{'local' if shipped else 'file'} {hashlib.sha256(place.read_bytes()).hexdigest()[:12]}"
