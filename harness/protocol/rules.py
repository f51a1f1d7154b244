"""The thresholds and gates of the protocol, in one frozen object that the log records."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ProtocolRules(BaseModel):
    """What the gates enforce.

    Defaults follow Takahara & Mizoguchi, "Toward Auditable AI Scientists" (2026) where the paper gives
    them (verdict thresholds); the others are this project's own decisions (see docs/protocol.md).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    support_threshold: float = Field(default=0.8, gt=0.5, le=1.0, description="P(H) needed for `supported`")
    refute_threshold: float = Field(default=0.2, ge=0.0, lt=0.5, description="P(H) needed for `refuted`")
    min_prior: float = Field(default=0.01, ge=0.0, le=0.5)
    max_prior: float = Field(default=0.99, ge=0.5, le=1.0)
    max_statement: int = Field(default=2_000, ge=50, le=20_000, description="characters")
    max_text: int = Field(default=4_000, ge=50, le=40_000, description="characters of a rationale or summary")
    strict_generation: bool = Field(
        default=False, description="leave inspired_by links out of the generation"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_prior >= self.max_prior:
            raise ValueError("min_prior must be below max_prior")
        return self
