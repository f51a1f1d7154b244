"""Known structures from any OPTIMADE provider, through the client of the `optimade` package.

A provider is a stranger's server: it may be slow, huge, broken or hostile. So the whole query has a time
limit and a size limit, only structures of the compound that was asked for are taken, and whatever goes wrong
is one line. The client knows no limit on a response, and tries a busy server for ever; both are ours.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from hepbench.harness.laboratory.family import Compound, Family
from hepbench.harness.laboratory.known import DatabaseError, Entry, described, found_space_group
from hepbench.harness.text import clean, shorten, without_login

if TYPE_CHECKING:
    from ase import Atoms

TIME_LIMIT = 30.0
"""Seconds for a whole query."""
MOST_BYTES = 8_000_000
"""Of one response."""
MOST_ENTRIES = 12
"""Structures that are looked at; the provider's own order."""
_MOST_SITES = 200

_FIELDS = (
    "chemical_formula_reduced",
    "lattice_vectors",
    "cartesian_site_positions",
    "species_at_sites",
    "nsites",
)


def require_provider(url: str) -> None:
    """Raise DatabaseError, with one line, unless it is the base URL of a provider.

    The URL stands in records and answers, so it may hold no password; public providers want none.
    """
    try:
        found = urlsplit(url)
        right = found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:  # a port or an address that is none
        right = False
    if not right:
        raise DatabaseError(f"{without_login(url)} is no URL of an OPTIMADE provider: https://host/path")
    if "@" in found.netloc or found.query:
        raise DatabaseError(f"{without_login(url)} is to be given without user, password and ?query")


class OptimadeDatabase:
    """A provider by its base URL.

    Args:
        url: For example "https://optimade.materialsproject.org".
        family: Whose prototypes the structures are compared with.
        time_limit: Seconds for a whole query.

    Raises:
        DatabaseError: it is no such URL, or holds a password.
    """

    def __init__(self, url: str, family: Family, time_limit: float = TIME_LIMIT) -> None:
        require_provider(url)
        self.name = url
        self._family = family
        self._time_limit = time_limit

    def entries(self, compound: str) -> list[Entry]:
        """Structures of a compound, at most `MOST_ENTRIES`. Blocks: call it in a thread.

        Raises:
            DatabaseError: the package `optimade` is not installed, or the provider does not answer well.
        """
        member = self._family.compound(compound)
        if member is None:
            return []
        found = self._query(reduced_formula(member))
        return [e for e in (self._entry(member, resource) for resource in found) if e is not None]

    def _query(self, formula: str) -> list[Mapping[str, Any]]:
        try:
            from optimade.client import OptimadeClient
        except ImportError as e:
            raise DatabaseError("OPTIMADE needs a package: pip install 'hepbench[optimade]'") from e

        client = OptimadeClient(
            [self.name],
            max_results_per_provider=MOST_ENTRIES,
            max_attempts=1,
            silent=True,
            http_timeout=self._time_limit,
            http_client=_bounded_client(),
        )
        client._progress.print = lambda *_, **__: None  # noqa: SLF001 - `silent` prints errors all the same
        asking = client.get_one_async(
            "structures",
            f'chemical_formula_reduced="{formula}"',
            self.name,
            response_fields=list(_FIELDS),
            page_limit=MOST_ENTRIES,
            paginate=False,
        )
        return self._data(asyncio.run(self._in_time(asking)))

    async def _in_time(self, asking: Any) -> Any:
        try:
            return await asyncio.wait_for(asking, self._time_limit)
        except TimeoutError:
            raise DatabaseError(f"{self.name} did not answer within {self._time_limit:g} s") from None

    def _data(self, answered: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        result = answered.get(self.name)
        errors = list(getattr(result, "errors", None) or ["no answer"])
        data = getattr(result, "data", None)
        if result is None or (errors and errors != ["no answer"]):
            raise DatabaseError(f"{self.name} gives no usable answer: {_one_line(errors[0])}")
        if not isinstance(data, list):
            raise DatabaseError(f"{self.name} gives no usable answer: `data` is no list")
        return [d for d in data if isinstance(d, Mapping)][:MOST_ENTRIES]

    def _entry(self, compound: Compound, resource: Mapping[str, Any]) -> Entry | None:
        """What a resource is, or None when it is not what was asked for."""
        atoms = _atoms(resource.get("attributes"))
        if atoms is None or not _is_compound(atoms, compound):
            return None
        identifier = shorten(clean(str(resource.get("id"))), 60)
        space_group = found_space_group(atoms)
        return described(
            atoms,
            identifier=identifier,
            source=f"{self.name}, structure {identifier}",
            phase=self._phase(compound, atoms, space_group),
            space_group=space_group,
        )

    def _phase(self, compound: Compound, atoms: Atoms, space_group: int | None) -> str | None:
        from hepbench.harness.laboratory.phases import Candidate, match_list
        from hepbench.harness.laboratory.records import Relaxation

        listed = {p.number for p in self._family.prototypes}
        mirrored = _MIRRORED.get(space_group or 0)
        if mirrored in listed and space_group not in listed:
            atoms, space_group = _mirror_image(atoms), mirrored
        any_start = self._family.prototypes[0].model_copy(update={"name": "not a start"})
        record = Relaxation(compound=compound.formula, prototype="", space_group=space_group)
        return match_list(self._family, compound, Candidate(any_start, record, atoms))


_PAIRS = (
    (76, 78),
    (91, 95),
    (92, 96),
    (144, 145),
    (151, 153),
    (152, 154),
    (169, 170),
    (171, 172),
    (178, 179),
    (180, 181),
    (212, 213),
)
_MIRRORED = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
"""Space groups that are each other's mirror image: the hand of a crystal makes no other phase of it."""


def _mirror_image(atoms: Atoms) -> Atoms:
    inverted = atoms.copy()
    inverted.positions *= -1
    return inverted


def reduced_formula(compound: Compound) -> str:
    """OPTIMADE's reduced formula: elements in alphabetical order, "O2Ti".

    The formula of a family's compound is taken apart by its elements and numbers.
    """
    counts = _counts(compound)
    divisor = math.gcd(*counts.values())
    reduced = {element: n // divisor for element, n in sorted(counts.items())}
    return "".join(f"{element}{'' if n == 1 else n}" for element, n in reduced.items())


def _counts(compound: Compound) -> dict[str, int]:
    from ase.formula import Formula

    return {str(e): int(n) for e, n in Formula(compound.formula).count().items()}


def _is_compound(atoms: Atoms, compound: Compound) -> bool:
    symbols = atoms.get_chemical_symbols()
    counts = _counts(compound)
    unit = sum(counts.values())
    return len(symbols) % unit == 0 and all(
        symbols.count(e) * unit == n * len(symbols) for e, n in counts.items()
    )


def _atoms(attributes: object) -> Atoms | None:
    """The structure of a resource; None for one that is incomplete, disordered, too large or nonsense."""
    from ase import Atoms

    if not isinstance(attributes, Mapping):
        return None
    symbols, places = attributes.get("species_at_sites"), attributes.get("cartesian_site_positions")
    if not isinstance(symbols, list) or not 0 < len(symbols) <= _MOST_SITES:
        return None
    try:
        atoms = Atoms(symbols, positions=places, cell=attributes.get("lattice_vectors"), pbc=True)
        sound = bool(np.isfinite(atoms.positions).all()) and math.isfinite(atoms.get_volume())
        sound = sound and atoms.get_volume() > len(atoms)
    except (KeyError, TypeError, ValueError):
        return None
    return atoms if sound else None


def _one_line(error: object) -> str:
    return shorten(" ".join(clean(str(error)).split()), 200)


@cache
def _bounded_client() -> Any:
    """An HTTP client that reads no more of a response than `MOST_BYTES`."""
    import httpx2

    class BoundedClient(httpx2.AsyncClient):  # type: ignore[misc] # an extra, not always there
        """`get` alone is what OPTIMADE's client calls."""

        async def get(self, url: Any, **options: Any) -> Any:
            request = self.build_request("GET", url, timeout=options["timeout"])
            follow = bool(options["follow_redirects"])
            response = await self.send(request, stream=True, follow_redirects=follow)
            try:
                body = await _bounded_body(response)
            finally:
                await response.aclose()
            headers = {k: v for k, v in response.headers.items() if k.lower() != "content-encoding"}
            return httpx2.Response(response.status_code, headers=headers, content=body, request=request)

    return BoundedClient


async def _bounded_body(response: Any) -> bytes:
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > MOST_BYTES:
            raise ValueError(f"an answer of more than {MOST_BYTES / 1e6:g} MB")
    return bytes(body)
