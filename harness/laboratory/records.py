"""What a relaxation leaves behind: the record that reference sets, caches and results share."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Status = Literal["ok", "failed"]


class Provenance(BaseModel):
    """What an energy depends on. Two records with equal provenance may be compared."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    potential: str = Field(description="potential id, for example 'chgnet-0.3.0'")
    weights_sha256: str
    settings: dict[str, float | int | str | bool] = Field(description="the relaxation settings")
    versions: dict[str, str] = Field(description="package → version")
    dtype: str = Field(description="what the potential computes in, for example 'float32'")
    device: str = Field(description="what it runs on: 'cpu' or 'cuda'")


class Relaxation(BaseModel):
    """One candidate, relaxed.

    Attributes:
        compound: Formula.
        prototype: The prototype that it started as.
        pressure: GPa, external hydrostatic.
        energy: Potential energy at the end, eV/atom. With a pressure, `enthalpy` is what compares.
        enthalpy: energy + pressure × volume, eV/atom.
        volume: Å³/atom.
        space_group: Number found by spglib on the relaxed structure.
        phase: The phase (label of a prototype) that the structure *is*, or None when it is none of the list.
        is_start: The relaxed structure is still the prototype that it started as.
        steps: Energy evaluations, the volume scan included.
        fmax: Largest force component norm at the end, eV/Å.
        smax: Largest deviation of the stress from the external pressure at the end, GPa.
        volume_ratio: Final volume over start volume.
        converged: The optimizer met its criterion within its steps.
        error: One line, when `status` is "failed".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    compound: str
    prototype: str
    status: Status = "ok"
    pressure: float = 0.0
    energy: float | None = None
    enthalpy: float | None = None
    volume: float | None = None
    space_group: int | None = None
    phase: str | None = None
    is_start: bool = False
    steps: int = 0
    fmax: float | None = None
    smax: float | None = None
    volume_ratio: float | None = None
    converged: bool = False
    error: str = ""
