"""What an agent's arguments mean, or why they are refused.

Language models slip in a few ways that cost nothing to understand: subscript digits in a formula, a
prototype's name in another case, a list given as text, a number given as text. What remains unclear is
refused with one line that names what is near.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches

from hepbench.harness.laboratory.dynamics import DynamicsMaker
from hepbench.harness.laboratory.elements import UnknownElementError, require_elements
from hepbench.harness.laboratory.family import Compound, Family, Prototype
from hepbench.harness.laboratory.simulations import LARGEST_SEED, STEPS, TEMPERATURES
from hepbench.harness.text import bounded, clean, shorten

MAX_ELEMENTS = 40
"""Elements in one call; their rows take up to 40 kB."""

_SHOWN = 40  # characters of an argument that a refusal repeats


class LabRefusal(ValueError):
    """The laboratory does not answer a call.

    Attributes:
        reason: One line: what is wrong.
        example: What a valid call would look like.
    """

    def __init__(self, reason: str, example: str) -> None:
        self.reason = reason
        self.example = example
        super().__init__(f"Refused (laboratory): {reason} A valid call: {example}")


def compound_of(family: Family, text: str, example: str) -> Compound:
    """The exploration compound of that formula.

    Only exploration compounds are named as near misses, and a sealed compound is refused before anything
    else about the call is looked at, so that a refusal tells no more than that it is sealed.

    Raises:
        LabRefusal: unknown, or sealed.
    """
    formula = "".join(unicodedata.normalize("NFKC", text[:_SHOWN]).split())
    found = family.compound(formula) if len(text) <= _SHOWN else None
    if found is None:
        known = [c.formula for c in family.of_part("exploration")]
        near = _near(formula, known)
        raise LabRefusal(f"there is no compound {_shown(text)} in this family{near}.", example)
    if found.part != "exploration":
        raise LabRefusal(
            f"{found.formula} is sealed: it is one of the compounds to predict at the end, and no laboratory "
            "tool answers for it.",
            example,
        )
    return found


def prototype_of(family: Family, text: str, example: str) -> Prototype:
    """The prototype of that name, whatever its case, spaces and hyphens.

    Raises:
        LabRefusal: there is none.
    """
    found = family.prototype(text)
    if found is None and len(text) <= _SHOWN:
        found = next((p for p in family.prototypes if _folded(p.name) == _folded(text)), None)
    if found is None:
        near = _near(text[:_SHOWN], [p.name for p in family.prototypes])
        raise LabRefusal(f"there is no prototype {_shown(text)}{near}; list_prototypes() names all.", example)
    return found


def prototypes_of(family: Family, given: object, example: str) -> tuple[Prototype, ...]:
    """Two or more distinct prototypes.

    Raises:
        LabRefusal: not a list, too short or long, an unknown name, or one named twice.
    """
    names = _names(given, "prototypes", len(family.prototypes), example)
    found = tuple(prototype_of(family, name, example) for name in names)
    _require_distinct([p.name for p in found], "prototype", example)
    if len(found) == 1:
        raise LabRefusal("a comparison needs two or more prototypes; relax_structure takes one.", example)
    return found


def elements_of(given: object, example: str) -> tuple[str, ...]:
    """Distinct element symbols.

    Raises:
        LabRefusal: not a list, empty or too long, an unknown symbol, or one named twice.
    """
    symbols = tuple(name.strip() for name in _names(given, "elements", MAX_ELEMENTS, example))
    try:
        require_elements(symbols)
    except UnknownElementError as e:
        raise LabRefusal(str(e), example) from e
    _require_distinct(symbols, "element", example)
    return symbols


def pressure_of(given: object, limit: float, example: str) -> float:
    """A pressure in GPa, to 0.001 GPa.

    Args:
        given: A number, or one as text, with or without its unit.
        limit: Largest magnitude, GPa.
        example: A valid call.

    Raises:
        LabRefusal: not a finite number, or beyond the limit.
    """
    return _number(given, "pressure_GPa", (-limit, limit), "GPa", example)


def dynamics_of(temperature: object, steps: object, seed: object, example: str) -> DynamicsMaker:
    """The settings of a simulation.

    Raises:
        LabRefusal: not numbers, or beyond their limits.
    """
    return DynamicsMaker(
        temperature=_number(temperature, "temperature_K", TEMPERATURES, "K", example),
        steps=_whole(steps, "steps", STEPS, example),
        seed=_whole(seed, "seed", (0, LARGEST_SEED), example),
    )


def _number(given: object, what: str, limits: tuple[float, float], unit: str, example: str) -> float:
    """A number within its limits, to 0.001; also as text, with or without its unit."""
    low, high = limits
    value = math.nan
    if isinstance(given, int | float | str) and not isinstance(given, bool):
        with suppress(ValueError, OverflowError):
            text = given.lower().removesuffix(unit.lower()) if isinstance(given, str) else given
            value = float(text)
    if not low <= value <= high:
        of_unit = f" ({unit})" if unit else ""
        reason = f"{what} must be a number from {low:g} to {high:g}{of_unit}, not {_shown(given)}."
        raise LabRefusal(reason, example)
    return round(value, 3) + 0.0  # no -0.0


def _whole(given: object, what: str, limits: tuple[int, int], example: str) -> int:
    value = _number(given, what, limits, "", example)
    if not value.is_integer():
        raise LabRefusal(f"{what} must be a whole number, not {_shown(given)}.", example)
    return int(value)


def _names(given: object, what: str, most: int, example: str) -> list[str]:
    """A list of texts; also as JSON in a text, or as a text with commas."""
    names = _split(given) if isinstance(given, str) and len(given) <= _SHOWN * most else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise LabRefusal(f"{what} must be a list of names.", example)
    if not 1 <= len(names) <= most:
        raise LabRefusal(f"{what} must name 1 to {most}, not {len(names)}.", example)
    return names


def _split(text: str) -> object:
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            return None
    return [part.strip() for part in text.split(",") if part.strip()]


def _require_distinct(names: Sequence[str], what: str, example: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise LabRefusal(f"the {what} {twice} is named twice.", example)


def _folded(name: str) -> str:
    return "".join(c for c in name.casefold().replace("α", "alpha") if c.isalnum())


def _near(text: str, known: Iterable[str]) -> str:
    by_folded = {name.casefold(): name for name in known}
    close = [by_folded[name] for name in get_close_matches(text.casefold(), list(by_folded), n=3)]
    return f" (did you mean {', '.join(close)}?)" if close else ""


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else str(bounded(value))
    return repr(shorten(clean(text), _SHOWN))
