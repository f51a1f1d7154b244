"""MACE models by mace-torch: its named foundation models, and anybody's file of weights.

mace-torch is imported where a model is loaded: it imports torch.
"""

from __future__ import annotations

import ast
import importlib.util
import logging
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hepbench.harness.laboratory.potential import (
    HASH_SHOWN,
    UNREADABLE,
    Potential,
    PotentialError,
    PotentialUnavailable,
    file_sha256,
    torch_device,
)

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

MODELS = "HEPBENCH_MODELS"
"""Environment variable: a folder of model files, in which the weights behind an id are looked for."""

_PACKAGES = ("mace-torch", "torch")
MACE_MODELS = (
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


def _loaded(name: str, path: Path) -> Calculator:
    try:
        with _hushed():
            from mace.calculators import MACECalculator

            # float64: in float32 MACE's forces are too noisy for a relaxation to converge.
            return MACECalculator(model_paths=str(path), device=torch_device(), default_dtype="float64")
    except UNREADABLE as e:
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


def mace_file(name: str) -> Potential:
    """A file of weights, `mace:/path/to/file.model`, or one in `MODELS` by its hash, `mace:3f2a90c11b7e`."""
    path = Path(name.removeprefix("mace:")).expanduser()
    by_hash = re.fullmatch(f"mace:[0-9a-f]{{{HASH_SHOWN}}}", name) and not path.is_file()

    def weights() -> Path:
        if by_hash:
            return _model_of_hash(name)
        if not path.is_file():
            raise PotentialUnavailable(f"potential {name}: there is no file {path}")
        return path

    return Potential(
        name,
        "a MACE model from a file",
        _PACKAGES,
        weights,
        lambda: _loaded(name, weights()),
        "float64",
        kind="" if by_hash else "mace",
        knows=_elements,
    )


def _model_of_hash(name: str) -> Path:
    folder = os.environ.get(MODELS)
    for file in sorted(Path(folder).glob("*.model")) if folder else ():
        if file_sha256(file).startswith(name.removeprefix("mace:")):
            return file
    raise PotentialUnavailable(
        f"potential {name} is named by its weights' hash: give the file, mace:/path/to/file.model, or in "
        f"{MODELS} the folder that it is in"
    )


def _elements(calculator: Any) -> Iterable[int]:
    return tuple(calculator.z_table.zs)


def mace_named(name: str, key: str, description: str) -> Potential:
    """One of mace-torch's `mace_mp` models, under a name that says which."""

    def weights() -> Path:
        path = _cached(name, key)
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
        _PACKAGES,
        weights,
        lambda: _loaded(name, weights()),
        "float64",
        fetch=fetch,
        knows=_elements,
    )


def _cached(name: str, key: str) -> Path:
    """Where mace-torch keeps a model. Read from its source, because importing it imports torch."""
    spec = importlib.util.find_spec("mace")
    if spec is None or spec.origin is None:
        raise PotentialUnavailable(f"potential {name} needs mace-torch: pip install 'hepbench[mace]'")
    url = _urls(Path(spec.origin).parent / "calculators" / "foundations_models.py").get(key)
    if url is None:
        raise PotentialUnavailable(
            f"potential {name}: this mace-torch has no model {key!r}: pip install --upgrade mace-torch"
        )
    file = "".join(c for c in url.rpartition("/")[2] if c.isalnum() or c == "_")
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mace" / file


@lru_cache(maxsize=2)
def _urls(source: Path) -> dict[str, str]:
    try:
        body = ast.parse(source.read_text(encoding="utf-8")).body
    except (OSError, SyntaxError):
        return {}
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "mace_mp_urls":
            return dict(ast.literal_eval(node.value))
    return {}
