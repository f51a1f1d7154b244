"""Interatomic potentials by name.

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

import ast
import hashlib
import importlib
import importlib.util
import logging
import os
import pickle
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

DEFAULT_POTENTIAL = "chgnet-0.3.0"

MODELS = "HEPBENCH_MODELS"
"""Environment variable: a folder of model files, in which the weights behind an id are looked for."""

_ALWAYS = ("ase", "numpy", "spglib")
_HASH_SHOWN = 12


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
    device: Callable[[], str] = lambda: _device()  # noqa: PLW0108 - it stands further down
    fetch: Callable[[], None] | None = None
    kind: str = ""
    knows: Callable[[Any], Iterable[int] | None] = lambda _: None

    @property
    def id(self) -> str:
        """What it is called in records: its name, or "mace:" and the first digits of its weights' SHA-256.

        Raises:
            PotentialUnavailable: the file of its weights is not here.
        """
        return f"{self.kind}:{self.weights_sha256()[:_HASH_SHOWN]}" if self.kind else self.name

    def weights_sha256(self) -> str:
        """SHA-256 of the weights' file, or of the name when the potential is a formula.

        Raises:
            PotentialUnavailable: the weights are not here.
        """
        path = self._fetched()
        return _sha256(path) if path else hashlib.sha256(self.name.encode()).hexdigest()

    def versions(self) -> dict[str, str]:
        """Versions of the packages that the energies depend on, sorted by name."""
        return {name: _version(name) for name in sorted({*_ALWAYS, *self.packages})}

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
        ways = " or ".join(forms())
        raise UnknownPotential(f"unknown potential {name!r}: use one of {', '.join(_NAMED)}, {ways}")
    return _NAMED[name]


def names() -> tuple[str, ...]:
    """The named potentials, the default first."""
    return tuple(_NAMED)


def forms() -> tuple[str, ...]:
    """How the potentials that stand in no list are named."""
    return ("mace:/path/to/file.model", "ase:module:factory")


@lru_cache(maxsize=4)
def load_calculator(name: str) -> Calculator:
    """The potential's ASE calculator, loaded once in a process.

    Raises:
        PotentialError: it is unknown or not available here.
    """
    chosen = potential(name)
    chosen.check()
    return chosen.load()


@dataclass(frozen=True)
class Coverage:
    """Work for a worker: which elements a potential knows.

    Attributes:
        potential: Its name.
    """

    potential: str

    @property
    def name(self) -> str:
        """For messages."""
        return f"the elements of {self.potential}"

    def do(self) -> frozenset[str] | None:
        """The symbols; None where the potential does not say.

        Raises:
            PotentialError: it is unknown, not available here, or its file is damaged.
        """
        from ase.data import chemical_symbols

        numbers = potential(self.potential).knows(load_calculator(self.potential))
        return None if numbers is None else frozenset(chemical_symbols[int(n)] for n in numbers)


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

        return FastCHGNet.from_weights(weights(), _device())

    return Potential(name, description, ("chgnet", "torch", "pymatgen"), weights, load)


def _mace(name: str, path: Path) -> Calculator:
    try:
        with _hushed():
            from mace.calculators import MACECalculator

            # float64: in float32 MACE's forces are too noisy for a relaxation to converge.
            return MACECalculator(model_paths=str(path), device=_device(), default_dtype="float64")
    except _UNREADABLE as e:
        why = str(e).strip().splitlines()[0][:120] if str(e).strip() else type(e).__name__
        raise PotentialError(f"potential {name}: {path} is no MACE model that loads here ({why})") from e


@contextmanager
def _hushed() -> Iterator[None]:
    """Without what mace-torch and e3nn say at each start about their own loading."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def _mace_file(name: str) -> Potential:
    path = Path(name.removeprefix("mace:")).expanduser()
    by_hash = re.fullmatch(f"mace:[0-9a-f]{{{_HASH_SHOWN}}}", name) and not path.is_file()

    def weights() -> Path:
        if by_hash:
            return _model_of_hash(name)
        if not path.is_file():
            raise PotentialUnavailable(f"potential {name}: there is no file {path}")
        return path

    return Potential(
        name,
        "a MACE model from a file",
        _MACE_PACKAGES,
        weights,
        lambda: _mace(name, weights()),
        "float64",
        kind="" if by_hash else "mace",
        knows=_mace_elements,
    )


def _model_of_hash(name: str) -> Path:
    folder = os.environ.get(MODELS)
    for file in sorted(Path(folder).glob("*.model")) if folder else ():
        if _sha256(file).startswith(name.removeprefix("mace:")):
            return file
    raise PotentialUnavailable(
        f"potential {name} is named by its weights' hash: give the file, mace:/path/to/file.model, or in "
        f"{MODELS} the folder that it is in"
    )


def _mace_elements(calculator: Any) -> Iterable[int]:
    return tuple(calculator.z_table.zs)


def _mace_named(name: str, key: str, description: str) -> Potential:
    """One of mace-torch's `mace_mp` models, under a name that says which."""

    def weights() -> Path:
        path = _mace_cached(name, key)
        if not path.is_file():
            raise PotentialUnavailable(
                f"potential {name}: its weights are not here; mace-torch fetches them on first use, where "
                "there is a network"
            )
        return path

    def fetch() -> None:
        from mace.calculators.foundations_models import download_mace_mp_checkpoint

        try:
            download_mace_mp_checkpoint(key)
        except (OSError, RuntimeError) as e:
            why = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
            raise PotentialUnavailable(
                f"potential {name}: mace-torch could not fetch its weights ({why}); fetch them where there "
                "is a network, or name a file: mace:/path/to/file.model"
            ) from e

    return Potential(
        name,
        description,
        _MACE_PACKAGES,
        weights,
        lambda: _mace(name, weights()),
        "float64",
        fetch=fetch,
        knows=_mace_elements,
    )


def _mace_cached(name: str, key: str) -> Path:
    """Where mace-torch keeps a model. Read from its source, because importing it imports torch."""
    spec = importlib.util.find_spec("mace")
    if spec is None or spec.origin is None:
        raise PotentialUnavailable(f"potential {name} needs mace-torch: pip install 'hepbench[mace]'")
    url = _mace_urls(Path(spec.origin).parent / "calculators" / "foundations_models.py").get(key)
    if url is None:
        raise PotentialUnavailable(
            f"potential {name}: this mace-torch has no model {key!r}: pip install --upgrade mace-torch"
        )
    file = "".join(c for c in url.rpartition("/")[2] if c.isalnum() or c == "_")
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mace" / file


@lru_cache(maxsize=2)
def _mace_urls(source: Path) -> dict[str, str]:
    try:
        body = ast.parse(source.read_text(encoding="utf-8")).body
    except (OSError, SyntaxError):
        return {}
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "mace_mp_urls":
            return dict(ast.literal_eval(node.value))
    return {}


def _sevennet(name: str, keyword: str, file: str, description: str) -> Potential:
    def weights() -> Path:
        spec = importlib.util.find_spec("sevenn")
        if spec is None or spec.origin is None:
            raise PotentialUnavailable(f"potential {name} needs sevenn: pip install 'hepbench[sevennet]'")
        path = Path(spec.origin).parent / "pretrained_potentials" / file
        if not path.is_file():
            raise PotentialUnavailable(f"potential {name}: this sevenn has no file {file}")
        return path

    def load() -> Calculator:
        from sevenn.calculator import SevenNetCalculator

        return SevenNetCalculator(keyword, device=_device())

    return Potential(name, description, ("sevenn", "torch"), weights, load)


def _ase_factory(name: str) -> Potential:
    found = re.fullmatch(r"ase:([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*)", name)
    if found is None:
        raise UnknownPotential(f"{name!r}: an ASE calculator is named 'ase:module:factory'")
    module, factory = found.groups()

    def here() -> None:
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            raise PotentialUnavailable(f"potential {name}: cannot import {module}: it is not installed")

    def load() -> Calculator:
        try:
            build = getattr(importlib.import_module(module), factory)
        except ImportError as e:
            raise PotentialUnavailable(f"potential {name}: cannot import {module}: {e}") from e
        except AttributeError:
            raise PotentialUnavailable(f"potential {name}: {module} has no {factory}") from None
        try:
            built: Calculator = build()
        except _UNREADABLE as e:
            why = " ".join(f"{type(e).__name__}: {e}".split())[:120]
            raise PotentialError(f"potential {name}: {factory}() fails ({why})") from e
        if not hasattr(built, "get_potential_energy"):
            raise PotentialError(f"potential {name}: {factory}() gives no ASE calculator")
        return built

    return Potential(name, "an ASE calculator", (), here, load, "its own precision", lambda: "its own device")


_GPU_NODES = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
"""What the drivers of NVIDIA, of WSL and of AMD show."""
_UNREADABLE = (
    OSError, RuntimeError, EOFError, ImportError, AttributeError, KeyError, IndexError, TypeError, ValueError,
    pickle.UnpicklingError,
)  # fmt: skip
"""What unpickling a file that is no model, or one of another version, ends in."""
_MACE_PACKAGES = ("mace-torch", "torch")
_MACE_MODELS = (
    ("mace-mpa-0-medium", "medium-mpa-0", "MACE-MPA-0, MPtrj and sAlex, PBE(+U)"),
    ("mace-mp-0-small", "small", "MACE-MP-0, MPtrj, PBE(+U); arXiv:2401.00096"),
    ("mace-mp-0-medium", "medium", "MACE-MP-0, MPtrj, PBE(+U); arXiv:2401.00096"),
    ("mace-mp-0-large", "large", "MACE-MP-0, MPtrj, PBE(+U); arXiv:2401.00096"),
    ("mace-mp-0b-small", "small-0b", "MACE-MP-0b, MPtrj, PBE(+U)"),
    ("mace-mp-0b-medium", "medium-0b", "MACE-MP-0b, MPtrj, PBE(+U)"),
    ("mace-mp-0b2-small", "small-0b2", "MACE-MP-0b2, MPtrj, PBE(+U)"),
    ("mace-mp-0b2-medium", "medium-0b2", "MACE-MP-0b2, MPtrj, PBE(+U)"),
    ("mace-mp-0b2-large", "large-0b2", "MACE-MP-0b2, MPtrj, PBE(+U)"),
    ("mace-mp-0b3-medium", "medium-0b3", "MACE-MP-0b3, MPtrj, PBE(+U)"),
    ("mace-omat-0-small", "small-omat-0", "MACE-OMAT-0, OMat24; Academic Software License"),
    ("mace-omat-0-medium", "medium-omat-0", "MACE-OMAT-0, OMat24; Academic Software License"),
    ("mace-matpes-pbe-0", "mace-matpes-pbe-0", "MACE-MATPES, PBE; Academic Software License"),
    ("mace-matpes-r2scan-0", "mace-matpes-r2scan-0", "MACE-MATPES, r2SCAN; Academic Software License"),
)
_NAMED = {
    p.name: p
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
        *(_mace_named(*model) for model in _MACE_MODELS),
        _sevennet(
            "sevennet-0",
            "7net-0",
            "SevenNet_0__11Jul2024/checkpoint_sevennet_0.pth",
            "SevenNet-0 (11 July 2024), MPtrj, PBE(+U); doi:10.1021/acs.jctc.4c00190",
        ),
        _sevennet(
            "sevennet-l3i5",
            "7net-l3i5",
            "SevenNet_l3i5/checkpoint_l3i5.pth",
            "SevenNet-l3i5, MPtrj, PBE(+U); doi:10.1021/acs.jctc.4c00190",
        ),
    )
}
_PREFIXES: dict[str, Callable[[str], Potential]] = {"mace:": _mace_file, "ase:": _ase_factory}
_MODULES = {"mace-torch": "mace"}
_EXTRAS = {"chgnet": "chgnet", "mace-torch": "mace", "sevenn": "sevennet"}


@lru_cache(maxsize=16)
def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@lru_cache(maxsize=64)
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _device() -> str:
    """Where torch computes here. It is not imported where the system has no GPU driver."""
    if sys.platform == "linux" and not any(Path(node).exists() for node in _GPU_NODES):
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
