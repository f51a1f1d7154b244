"""Structures of a reference set, read as the set writes them.

`ase.io` reads every format there is, and takes half a second to be imported for it; whoever looks at one
run's report waits for that. This reads the one form that `write_reference` writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ase import Atoms

_PAIR = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')


def read_extxyz(text: str) -> Iterator[tuple[Mapping[str, str], Atoms]]:
    """Each periodic structure with the names in its comment line, cell and positions in Å.

    Raises:
        ValueError: the text is cut off, or is not of this form.
    """
    from ase import Atoms

    lines = iter(text.splitlines())
    for count in lines:
        named = {key: quoted or bare for key, quoted, bare in _PAIR.findall(next(lines, ""))}
        rows = [next(lines, "").split() for _ in range(int(count))]
        if "Lattice" not in named or any(len(row) != 4 for row in rows):  # noqa: PLR2004 - element, x, y, z
            raise ValueError("no structure of a reference set")
        numbers = [float(x) for x in named["Lattice"].split()]
        cell = [numbers[i : i + 3] for i in (0, 3, 6)]
        positions = [[float(x) for x in row[1:]] for row in rows]
        yield named, Atoms([row[0] for row in rows], positions=positions, cell=cell, pbc=True)
