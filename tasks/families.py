"""The compound families that ship with hepbench, and where their data lie; anybody's family is a folder.

A family's folder holds `family.toml` and, for each potential, a reference set under `reference/`. Wherever a
family is asked for, the path of such a folder does as well as one of the ids below.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from hepbench.harness.laboratory.family import Family, FamilyError, load_family
from hepbench.harness.laboratory.known import Database, LocalDatabase
from hepbench.harness.laboratory.optimade import OptimadeDatabase

DATA = Path(__file__).parent / "data"
FAMILY_IDS = ("ao2", "a2bbo6", "mx")


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

    Raises:
        FamilyError: there is no such family.
    """
    safe = potential_id.replace(":", "_").replace("/", "_")
    return folder(family) / "reference" / safe


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
