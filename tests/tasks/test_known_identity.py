"""What the known structures of a run are called among its conditions."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hepbench.tasks import families


def test_known_structures_have_a_name_that_tells_two_worlds_apart(tmp_path: Path) -> None:
    ao2, mx = families.load("ao2"), families.load("mx")
    shipped = hashlib.sha256((families.DATA / "ao2" / "known.db").read_bytes()).hexdigest()
    assert families.known_identity(ao2) == f"local {shipped[:12]}"
    assert families.known_identity(mx) == "off"  # none ships with it, so "local" offers no tool
    assert families.known_identity(ao2, "off") == "off"
    assert families.known_identity(ao2, "https://example.org/optimade") == "https://example.org/optimade"


def test_a_file_is_named_by_its_content(tmp_path: Path) -> None:
    ao2 = families.load("ao2")
    here, there = tmp_path / "one.db", tmp_path / "two.db"
    here.write_bytes(b"structures")
    there.write_bytes(b"structures")
    named = families.known_identity(ao2, str(here))
    assert named == families.known_identity(ao2, str(there))
    there.write_bytes(b"others")
    assert named != families.known_identity(ao2, str(there))
    assert str(tmp_path) not in named
