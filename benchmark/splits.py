"""The split of a family into exploration, interpolation and extrapolation, so that it can be redone.

Whole chemical families named in the family file are the extrapolation. Of the others, a share is drawn as
interpolation, spread over the chemical families by the largest remainder. A draw is thrown away, and the next
one made, when always guessing the most frequent exploration label would score 0.6 or more on a held-out part,
or when a held-out compound's answer is seen for no exploration compound, so that no rule could name it. The
result is a function of the seed, the family and the truth. Nobody is asked about compounds that are left out.
They can be measured like the exploration compounds, but for those of an extrapolation family, which nobody
explores.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from hepbench.harness.laboratory.family import Compound, Family, Part
from hepbench.harness.laboratory.reference import Truth

MAJORITY_LIMIT = 0.6
_DRAWS = 1000


class SplitError(ValueError):
    """No draw meets the conditions of a fair split; the message is one line."""


def split(family: Family, truths: Mapping[str, Truth]) -> dict[str, Part]:
    """Formula → part.

    Args:
        family: With its seed, its extrapolation families and the share of the interpolation.
        truths: Formula → truth, for every compound.

    Raises:
        SplitError: there is nothing to hold out, or no draw keeps the majority guess under 0.6 and every
            held-out answer explored.
    """
    unknown = set(family.extrapolation) - {compound.chemical_family for compound in family.compounds}
    if unknown:
        raise SplitError(
            f"{family.id}: no compound is of the extrapolation family {', '.join(sorted(unknown))}"
        )
    parts: dict[str, Part] = {}
    for draw in range(_DRAWS):
        parts = _draw(family, truths, draw)
        if set(parts.values()) == {"exploration"}:
            raise SplitError(f"{family.id}: too few compounds to hold any of them out")
        scores = majority_scores(parts, truths)
        if all(score < MAJORITY_LIMIT for score in scores.values()) and not unseen(parts, truths):
            return parts
    shown = ", ".join(f"{part} {score:.2f}" for part, score in majority_scores(parts, truths).items())
    never = ", ".join(unseen(parts, truths)) or "none"
    raise SplitError(
        f"{family.id}: no draw keeps the majority guess under {MAJORITY_LIMIT} (last: {shown}) "
        f"and every answer explored (last: {never} unseen); more compounds, other prototypes or another "
        "extrapolation family may"
    )


def unseen(parts: Mapping[str, Part], truths: Mapping[str, Truth]) -> list[str]:
    """Held-out compounds none of whose lowest phases is lowest for an exploration compound."""
    asked = [formula for formula in parts if not truths[formula].left_out]
    seen = {label for f in asked if parts[f] == "exploration" for label in truths[f].labels}
    return [f for f in asked if parts[f] != "exploration" and not seen & set(truths[f].labels)]


def majority_scores(parts: Mapping[str, Part], truths: Mapping[str, Truth]) -> dict[Part, float]:
    """Held-out part → accuracy of always guessing the most frequent exploration label.

    A label counts for exploration once for each compound that it is lowest or tied for, and is right
    wherever it is lowest or tied.
    """
    by_part: dict[Part, list[Truth]] = {"exploration": [], "interpolation": [], "extrapolation": []}
    for formula, part in parts.items():
        if not truths[formula].left_out:
            by_part[part].append(truths[formula])
    seen = Counter(label for truth in by_part.pop("exploration") for label in truth.labels)
    most = max(seen.values(), default=0)
    majority = [label for label, count in seen.items() if count == most]
    return {
        part: max((_accuracy(label, held_out) for label in majority), default=0.0)
        for part, held_out in by_part.items()
    }


def rewritten(toml: str, parts: Mapping[str, Part]) -> str:
    """The family file with the parts of its compounds replaced, and nothing else touched."""
    for formula, part in parts.items():
        place = re.compile(rf'(formula = "{re.escape(formula)}"\n(?:.+\n)*?part = )"\w+"')
        toml = place.sub(rf'\1"{part}"', toml)
    return toml


def _draw(family: Family, truths: Mapping[str, Truth], draw: int) -> dict[str, Part]:
    rng = random.Random(f"{family.id}/{family.split_seed}/{draw}")  # noqa: S311 - a split, not a secret
    parts: dict[str, Part] = dict.fromkeys((c.formula for c in family.compounds), "exploration")
    asked = [c for c in family.compounds if not truths[c.formula].left_out]
    inside = [c for c in asked if c.chemical_family not in family.extrapolation]
    for compound in family.compounds:
        if compound.chemical_family in family.extrapolation:
            parts[compound.formula] = "extrapolation"
    for group, count in _quotas(inside, family.interpolation_share):
        for compound in rng.sample(group, count):
            parts[compound.formula] = "interpolation"
    return parts


def _quotas(compounds: Sequence[Compound], share: float) -> list[tuple[list[Compound], int]]:
    """How many of each chemical family are held out: the largest remainder fills the total.

    A family of one is not held out: nothing like it would be left to explore.
    """
    ordered = sorted(compounds, key=lambda c: c.chemical_family)
    groups = [list(members) for _, members in groupby(ordered, key=lambda c: c.chemical_family)]
    exact = [len(group) * share for group in groups]
    counts = [int(value) for value in exact]
    missing = round(sum(exact)) - sum(counts)
    for index in sorted(
        (i for i, group in enumerate(groups) if len(group) > 1), key=lambda i: (counts[i] - exact[i], i)
    )[:missing]:
        counts[index] += 1
    return list(zip(groups, counts, strict=True))


def _accuracy(label: str, truths: Sequence[Truth]) -> float:
    return sum(label in truth.labels for truth in truths) / len(truths) if truths else 0.0
