"""How pages are made: templates that escape everything, and the policy that lets only our scripts run."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from hepbench.harness.text import clean

HERE = Path(__file__).parent
ASSETS = HERE / "assets"
VENDOR = ("vendor/d3.min.js", "vendor/plot.umd.min.js")
STYLE = "site.css"

_WORD = re.compile(r"[A-Z]?[^A-Z]+|[A-Z]+")


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates' environment; autoescape is on for all of them."""
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "plain": plain,
        "num": number,
        "pct": percent,
        "data": data_block,
        "breakable": breakable,
    }
    return found


def plain(value: object) -> str:
    """Text of a log without control, bidirectional or invisible characters; Jinja escapes it afterwards."""
    return clean(str(value))


def breakable(name: str) -> Markup:
    """A name such as LabResultRecorded, which a narrow column may break between its words."""
    return Markup("<wbr>").join(_WORD.findall(name) or [name])


def number(value: float | None, digits: int = 2) -> str:
    """A number of few digits, or a dash."""
    return "–" if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"


def percent(value: float) -> str:
    """Such as "71 %"."""
    return f"{100 * value:.0f} %"


def data_block(value: Any, name: str) -> Markup:
    """A JSON block that a script reads: nothing in it can end the block or be run."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup('<script type="application/json" id="{}">{}</script>').format(name, Markup(text))  # noqa: S704


def beside(prefix: str, scripts: Sequence[str]) -> dict[str, Any]:
    """Styles, scripts and policy for a page whose assets lie in a folder beside it.

    Args:
        prefix: From the page to the folder, such as "../assets/".
        scripts: Names of the page's own scripts.
    """
    names = [Path(name).name for name in (*VENDOR, *scripts)]
    link = Markup('<link rel="stylesheet" href="{}">').format(prefix + STYLE)
    tags = Markup("\n").join(Markup('<script src="{}"></script>').format(prefix + name) for name in names)
    return {
        "styles": link,
        "scripts": tags,
        "policy": _policy("'self' file:", "'self' file: 'unsafe-inline'"),
    }


def inlined(scripts: Sequence[str]) -> dict[str, Any]:
    """The same for a page that is a single file; the policy names the hash of each script."""
    texts = [asset(name) for name in (*VENDOR, *scripts)]
    tags = [Markup("<script>{}</script>").format(Markup(text)) for text in texts]  # noqa: S704 - our own files
    style = Markup("<style>{}</style>").format(Markup(asset(STYLE)))  # noqa: S704
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    allowed = " ".join(f"'sha256-{found}'" for found in hashes)
    return {
        "styles": style,
        "scripts": Markup("\n").join(tags),
        "policy": _policy(allowed, "'unsafe-inline'"),
    }


@lru_cache(maxsize=16)
def asset(name: str) -> str:
    """The text of an asset."""
    return (ASSETS / name).read_text(encoding="utf-8")


def _policy(scripts: str, styles: str) -> str:
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
