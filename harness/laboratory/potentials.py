"""Interatomic potentials by name.

Exception tree:
    PotentialError          a potential that cannot be used; one line
    ├── UnknownPotential    no potential has that name
    └── PotentialUnavailable  known, but its package or weights are not here: says which pip command brings it

A potential is *identified* (id, SHA-256 of its weights, package versions) without importing torch, so that
the reference set and the cache can be checked cheaply, and *loaded* as an ASE calculator only in a worker.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

DEFAULT_POTENTIAL = "chgnet-0.3.0"

_ALWAYS = ("ase", "numpy", "spglib")


class PotentialError(ValueError):
    """A potential that cannot be used; the message is one line."""


class UnknownPotential(PotentialError):
    """No potential has that name."""


class PotentialUnavailable(PotentialError):
    """The potential is known, but its package or its weights are not on this machine."""


@dataclass(frozen=True)
class Potential:
    """A potential, ready to be identified or loaded.

    Attributes:
        id: Its name in records and file paths, for example "chgnet-0.3.0".
        description: What it was trained on, with its source.
        packages: Packages whose versions its energies depend on.
        weights: Finds the file of the weights; None when the potential has none (an analytic form).
        load: Builds the ASE calculator. Imports torch where it needs to.
    """

    id: str
    description: str
    packages: tuple[str, ...]
    weights: Callable[[], Path | None]
    load: Callable[[], Calculator]

    def weights_sha256(self) -> str:
        """SHA-256 of the weights' file, or of the id when the potential is a formula.

        Raises:
            PotentialUnavailable: the weights are not here.
        """
        path = self.weights()
        return _sha256(path) if path else hashlib.sha256(self.id.encode()).hexdigest()

    def versions(self) -> dict[str, str]:
        """Versions of the packages that the energies depend on, sorted by name."""
        return {name: _version(name) for name in sorted({*_ALWAYS, *self.packages})}

    def check(self) -> None:
        """Raise PotentialUnavailable, with one line, unless the potential can be loaded here."""
        for package in self.packages:
            if importlib.util.find_spec(_MODULES.get(package, package)) is None:
                extra = _EXTRAS.get(package) or _EXTRAS.get(self.packages[0], "")
                how = f"pip install 'hepbench[{extra}]'" if extra else f"pip install {package}"
                raise PotentialUnavailable(f"potential {self.id} needs {package}: {how}")
        self.weights()


def potential(name: str) -> Potential:
    """The potential of that name.

    Args:
        name: A named potential (`names()`), `mace:/path/to/file.model`, or `ase:module:factory`, where
            calling `factory` without arguments gives an ASE calculator.

    Raises:
        UnknownPotential: no such name, or a malformed one.
    """
    for prefix, build in _PREFIXES.items():
        if name.startswith(prefix):
            return build(name)
    if name not in _NAMED:
        ways = "'mace:/path/to/file.model' or 'ase:module:factory'"
        raise UnknownPotential(f"unknown potential {name!r}: use one of {', '.join(_NAMED)}, {ways}")
    return _NAMED[name]


def names() -> tuple[str, ...]:
    """The named potentials, the default first."""
    return tuple(_NAMED)


@lru_cache(maxsize=4)
def load_calculator(name: str) -> Calculator:
    """The potential's ASE calculator, loaded once in a process.

    Raises:
        PotentialError: it is unknown or not available here.
    """
    chosen = potential(name)
    chosen.check()
    return chosen.load()


def _chgnet(name: str, file: str, description: str) -> Potential:
    def weights() -> Path:
        spec = importlib.util.find_spec("chgnet")
        if spec is None or spec.origin is None:
            raise PotentialUnavailable(f"potential {name} needs chgnet: pip install 'hepbench[chgnet]'")
        path = Path(spec.origin).parent / "pretrained" / file
        if not path.is_file():
            raise PotentialUnavailable(
                f"potential {name}: chgnet has no file {file}: pip install 'chgnet==0.4.2'"
            )
        return path

    def load() -> Calculator:
        from hepbench.harness.laboratory.chgnet import FastCHGNet

        return FastCHGNet.from_weights(weights())

    return Potential(name, description, ("chgnet", "torch", "pymatgen"), weights, load)


def _mace_file(name: str) -> Potential:
    path = Path(name.removeprefix("mace:"))

    def weights() -> Path:
        if not path.is_file():
            raise PotentialUnavailable(f"potential {name}: there is no file {path}")
        return path

    def load() -> Calculator:
        from mace.calculators import MACECalculator

        return MACECalculator(model_paths=str(path), device=_device(), default_dtype="float64")

    return Potential(name, "a MACE model from a file", ("mace-torch", "torch"), weights, load)


def _ase_factory(name: str) -> Potential:
    try:
        _, module, factory = name.split(":")
    except ValueError:
        raise UnknownPotential(f"{name!r}: an ASE calculator is named 'ase:module:factory'") from None

    def load() -> Calculator:
        try:
            built: Calculator = getattr(importlib.import_module(module), factory)()
        except ImportError as e:
            raise PotentialUnavailable(f"potential {name}: cannot import {module}: {e}") from e
        except AttributeError:
            raise PotentialUnavailable(f"potential {name}: {module} has no {factory}") from None
        return built

    return Potential(name, "an ASE calculator", (), lambda: None, load)


_NAMED = {
    p.id: p
    for p in (
        _chgnet(
            "chgnet-0.3.0",
            "0.3.0/chgnet_0.3.0_e29f68s314m37.pth.tar",
            "CHGNet 0.3.0, Materials Project trajectories, PBE(+U); doi:10.1038/s42256-023-00716-3",
        ),
        _chgnet(
            "chgnet-r2scan",
            "r2scan/chgnet_r2scan_transfer_learning_e15f36s161m23.pth.tar",
            "CHGNet, transferred to r2SCAN; doi:10.1038/s41524-025-01796-y",
        ),
    )
}
_PREFIXES: dict[str, Callable[[str], Potential]] = {"mace:": _mace_file, "ase:": _ase_factory}
_MODULES = {"mace-torch": "mace"}
_EXTRAS = {"chgnet": "chgnet", "mace-torch": "mace"}


@lru_cache(maxsize=16)
def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
