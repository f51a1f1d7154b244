"""The compound families that ship with hepbench, and where their data lie."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from hepbench.harness.laboratory.family import Family, FamilyError, load_family

DATA = Path(__file__).parent / "data"
FAMILY_IDS = ("ao2", "a2bbo6", "mx")


@lru_cache(maxsize=8)
def load(family_id: str) -> Family:
    """The family of that id, read once.

    Raises:
        FamilyError: there is no such family, or its file is damaged.
    """
    if family_id not in FAMILY_IDS:
        raise FamilyError(f"unknown family {family_id!r}: one of {', '.join(FAMILY_IDS)}")
    return load_family(DATA / family_id / "family.toml")


def reference_path(family_id: str, potential_id: str) -> Path:
    """The folder of a family's reference set for one potential; it need not exist."""
    safe = potential_id.replace(":", "_").replace("/", "_")
    return DATA / family_id / "reference" / safe
