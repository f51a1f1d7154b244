"""A potential: how it is told apart from others, and what it needs here.

Exception tree:
    PotentialError          a potential that cannot be used; one line
    ├── UnknownPotential    no potential has that name
    └── PotentialUnavailable  known, but its package or weights are not here: says which pip command brings it

A potential is *identified* (id, SHA-256 of its weights, package versions) without importing torch, so that
the reference set and the cache can be checked cheaply, and *loaded* as an ASE calculator only in a worker.

Its *name* is how it is asked for here; its *id* is what stands in records. They differ for a file of weights,
whose id is made of its hash: two people who keep one model at two places have one potential.
"""

from __future__ import annotations

import hashlib
import importlib.util
import pickle
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hepbench.harness.laboratory.records import Provenance

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

_ALWAYS = ("ase", "numpy", "spglib")
HASH_SHOWN = 12
"""Digits of the weights' SHA-256 in an id."""
_MODULES = {"mace-torch": "mace"}
_EXTRAS = {"chgnet": "chgnet", "mace-torch": "mace", "sevenn": "sevennet"}
_GPU_NODES = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
"""What the drivers of NVIDIA, of WSL and of AMD show."""
UNREADABLE = (
    OSError, RuntimeError, EOFError, ImportError, AttributeError, KeyError, IndexError, TypeError, ValueError,
    pickle.UnpicklingError,
)  # fmt: skip
"""What unpickling a file that is no model, or one of another version, ends in."""


class PotentialError(ValueError):
    """A potential that cannot be used; the message is one line."""


class UnknownPotential(PotentialError):
    """No potential has that name."""


class PotentialUnavailable(PotentialError):
    """The potential is known, but its package or its weights are not on this machine."""


def torch_device() -> str:
    """Where torch computes here. It is not imported where the system has no GPU driver."""
    if sys.platform == "linux" and not any(Path(node).exists() for node in _GPU_NODES):
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


@dataclass(frozen=True)
class Potential:
    """A potential, ready to be identified or loaded.

    Attributes:
        name: What it is asked for by: "chgnet-0.3.0", "mace:/path/to/file.model".
        description: What it was trained on, with its source.
        packages: Packages whose versions its energies depend on.
        weights: Finds the file of the weights; None when the potential has none (an analytic form).
        load: Builds the ASE calculator. Imports torch where it needs to.
        dtype: What it computes in.
        device: Says what it runs on here: "cuda" where torch has one, else "cpu".
        fetch: Brings the weights that `weights` does not find, over the network; None when they come with
            the package.
        kind: For a file of weights, what stands before the hash in its id: "mace". Empty for all others.
        knows: Atomic numbers that the calculator covers; None when it does not say.
    """

    name: str
    description: str
    packages: tuple[str, ...]
    weights: Callable[[], Path | None]
    load: Callable[[], Calculator]
    dtype: str = "float32"
    device: Callable[[], str] = torch_device
    fetch: Callable[[], None] | None = None
    kind: str = ""
    knows: Callable[[Any], Iterable[int] | None] = lambda _: None

    @property
    def id(self) -> str:
        """What it is called in records: its name, or "mace:" and the first digits of its weights' SHA-256.

        Raises:
            PotentialUnavailable: the file of its weights is not here.
        """
        return f"{self.kind}:{self.weights_sha256()[:HASH_SHOWN]}" if self.kind else self.name

    def weights_sha256(self) -> str:
        """SHA-256 of the weights' file, or of the name when the potential is a formula.

        Raises:
            PotentialUnavailable: the weights are not here.
        """
        path = self._fetched()
        return file_sha256(path) if path else hashlib.sha256(self.name.encode()).hexdigest()

    def versions(self) -> dict[str, str]:
        """Versions of the packages that the energies depend on, sorted by name."""
        return {name: installed_version(name) for name in sorted({*_ALWAYS, *self.packages})}

    def provenance(self, settings: Mapping[str, float | int | str | bool]) -> Provenance:
        """All that its energies depend on, here, with the settings of a recipe.

        Raises:
            PotentialUnavailable: the weights are not here.
        """
        return Provenance(
            potential=self.id,
            weights_sha256=self.weights_sha256(),
            settings=dict(settings),
            versions=self.versions(),
            dtype=self.dtype,
            device=self.device(),
        )

    def check(self) -> None:
        """Raise PotentialUnavailable, with one line, unless the potential can be loaded here.

        Weights that are fetched on first use are fetched now.
        """
        self._require_packages()
        self._fetched()

    def why_not(self) -> str:
        """Why the potential does not run here, without fetching anything; empty when it does."""
        try:
            self._require_packages()
            if self.weights() is None:
                self.load()  # nothing but loading tells whether there is such a factory
        except PotentialError as e:
            return str(e)
        return ""

    def _require_packages(self) -> None:
        for package in self.packages:
            if importlib.util.find_spec(_MODULES.get(package, package)) is None:
                extra = _EXTRAS.get(package) or _EXTRAS.get(self.packages[0], "")
                how = f"pip install 'hepbench[{extra}]'" if extra else f"pip install {package}"
                raise PotentialUnavailable(f"potential {self.name} needs {package}: {how}")

    def _fetched(self) -> Path | None:
        try:
            return self.weights()
        except PotentialUnavailable:
            if self.fetch is None:
                raise
            self._require_packages()
            self.fetch()
            return self.weights()


@lru_cache(maxsize=16)
def file_sha256(path: Path) -> str:
    """SHA-256 of a file of weights, read once in a process."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@lru_cache(maxsize=64)
def installed_version(package: str) -> str:
    """Of a package here; "not installed" where it is not."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
