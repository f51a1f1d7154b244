"""The potentials that can be asked for: by name, by file, by factory. What one is: `potential.py`."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from hepbench.harness.laboratory.mace import MACE_MODELS, mace_file, mace_named
from hepbench.harness.laboratory.potential import (
    UNREADABLE,
    Potential,
    PotentialError,
    PotentialUnavailable,
    UnknownPotential,
    torch_device,
)

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

DEFAULT_POTENTIAL = "chgnet-0.3.0"


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

        return FastCHGNet.from_weights(weights(), torch_device())

    return Potential(name, description, ("chgnet", "torch", "pymatgen"), weights, load)


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

        return SevenNetCalculator(keyword, device=torch_device())

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
        except UNREADABLE as e:
            why = " ".join(f"{type(e).__name__}: {e}".split())[:120]
            raise PotentialError(f"potential {name}: {factory}() fails ({why})") from e
        if not hasattr(built, "get_potential_energy"):
            raise PotentialError(f"potential {name}: {factory}() gives no ASE calculator")
        return built

    return Potential(name, "an ASE calculator", (), here, load, "its own precision", lambda: "its own device")


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
        *(mace_named(*model) for model in MACE_MODELS),
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
_PREFIXES: dict[str, Callable[[str], Potential]] = {"mace:": mace_file, "ase:": _ase_factory}
