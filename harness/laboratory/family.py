"""A compound family as data: its compounds, prototypes and splits.

A family is one TOML file (`tasks/data/<id>/family.toml`) read with the standard library, so that
listing tasks and scoring import neither pymatgen nor torch. Building atoms from a prototype is the
business of `structures.py`.
"""

from __future__ import annotations

import tomllib
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

Part = Literal["exploration", "interpolation", "extrapolation"]


_IN_ORDER = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr "
    "Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm "
    "Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No "
    "Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
)
SYMBOLS = frozenset(_IN_ORDER.split())
"""Of the elements; here, because a family is read where neither ASE nor pymatgen is loaded."""


class FamilyError(ValueError):
    """A family file that cannot be used; the message names the file, the place and what is right."""


class Site(BaseModel):
    """One orbit of a prototype's crystal: a species role and fractional coordinates."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: str = Field(description="which element of the compound sits here, for example 'A' or 'O'")
    xyz: tuple[float, float, float]


class Prototype(BaseModel):
    """A candidate crystal structure.

    Either `aflow` names an ideal prototype of the AFLOW library that ships in pymatgen, or `spacegroup`,
    `lattice` and `sites` give it in full.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    label: str = Field(description="the phase that counts for the prediction; several starts may share it")
    description: str
    source: str = Field(description="where the structure is described in the literature")
    number: int = Field(ge=1, le=230, description="space group number of the ideal structure")
    aflow: str | None = None
    strukturbericht: str | None = Field(default=None, description="tells apart prototypes of one AFLOW label")
    roles: dict[str, str] = Field(default_factory=dict, description="AFLOW species → role of the family")
    lattice: tuple[float, float, float, float, float, float] | None = Field(
        default=None, description="a, b, c in Å and α, β, γ in degrees"
    )
    sites: tuple[Site, ...] = ()
    expand: bool = Field(
        default=True, description="apply the space group's operations to `sites`; else they are all atoms"
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.aflow is None) == (self.lattice is None):
            raise ValueError(f"prototype {self.name!r}: give either `aflow` or `lattice` with `sites`")
        return self


class Compound(BaseModel):
    """A member of the family: the elements that play its roles, and where it stands in the split."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    formula: str
    elements: dict[str, str] = Field(description="role → element symbol, for example {'A': 'Ti', 'O': 'O'}")
    charges: dict[str, int] = Field(default_factory=dict, description="role → formal charge")
    chemical_family: str = Field(description="the cluster for statistics, for example '3d' or 'actinides'")
    part: Part


class Family(BaseModel):
    """A compound family with its question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    version: str = Field(description="task version: comparability-interface, for example '1-A'")
    title: str
    question: str
    label_name: str = Field(description="what the label is called, for example 'polymorph'")
    anion_roles: tuple[str, ...] = Field(description="roles of the anions, whose neighbours are counted")
    order_roles: tuple[str, ...] = Field(
        default=(),
        description="roles whose order is the label (double perovskites); empty: the whole structure",
    )
    split_seed: int
    extrapolation: tuple[str, ...] = Field(description="chemical families that are never explored")
    interpolation_share: float = Field(
        default=0.2, gt=0, lt=1, description="of the other compounds, the share that is held out"
    )
    prototypes: tuple[Prototype, ...]
    compounds: tuple[Compound, ...]
    left_out: dict[str, str] = Field(default_factory=dict, description="formula → why it is not asked")

    @model_validator(mode="after")
    def _unique(self) -> Self:
        for what, names in (
            ("prototype", [p.name for p in self.prototypes]),
            ("compound", [c.formula for c in self.compounds]),
        ):
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise ValueError(f"{what} given twice: {', '.join(twice)}")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """What would otherwise fail late, compound by compound."""
        for compound in self.compounds:
            for role, element in compound.elements.items():
                if element not in SYMBOLS:
                    raise ValueError(f"{compound.formula}: {element!r} in role {role} is no element")
            for prototype in self.prototypes:
                lacking = sorted(
                    {*prototype.roles.values(), *(s.role for s in prototype.sites)} - {*compound.elements}
                )
                if lacking:
                    raise ValueError(
                        f"{compound.formula} has no element for role {lacking[0]} of {prototype.name}"
                    )
        return self

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The phases that a prediction may name, in the order of the prototypes."""
        return tuple(dict.fromkeys(p.label for p in self.prototypes))

    def compound(self, formula: str) -> Compound | None:
        """The compound of that formula, or None."""
        return next((c for c in self.compounds if c.formula == formula), None)

    def prototype(self, name: str) -> Prototype | None:
        """The prototype of that name, or None."""
        return next((p for p in self.prototypes if p.name == name), None)

    def of_part(self, *parts: Part) -> tuple[Compound, ...]:
        """The compounds of these parts of the split, in the file's order."""
        return tuple(c for c in self.compounds if c.part in parts)


def load_family(path: Path) -> Family:
    """Read a family file.

    Raises:
        FamilyError: the file is missing, is not TOML, or does not describe a family.
    """
    try:
        return Family.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as e:
        raise FamilyError(f"family file {path}: {e.strerror or e}") from e
    except tomllib.TOMLDecodeError as e:
        raise FamilyError(f"family file {path} is not TOML: {e}") from e
    except ValidationError as e:
        first = e.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise FamilyError(f"family file {path}, {where or 'top level'}: {first['msg']}") from e
