"""The thresholds and gates of the protocol, in one frozen object that the log records."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Action = Literal["off", "warn", "refuse"]
"""What a rule does when it bites: nothing, a recorded warning, or a refusal."""


class ProtocolRules(BaseModel):
    """What the gates enforce.

    Defaults follow Takahara & Mizoguchi, "Toward Auditable AI Scientists" (2026) where the paper gives
    them (verdict thresholds); the others are this project's own decisions (see docs/protocol.md).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    support_threshold: float = Field(default=0.8, gt=0.5, le=1.0, description="P(H) needed for `supported`")
    refute_threshold: float = Field(default=0.2, ge=0.0, lt=0.5, description="P(H) needed for `refuted`")
    min_prior: float = Field(default=0.01, ge=0.0, le=0.5, description="least P(H) that may be stated")
    max_prior: float = Field(default=0.99, ge=0.5, le=1.0, description="highest P(H) that may be stated")
    max_statement: int = Field(default=2_000, ge=50, le=20_000, description="characters")
    max_text: int = Field(default=4_000, ge=50, le=40_000, description="characters of a rationale or summary")
    strict_generation: bool = Field(
        default=False, description="leave inspired_by links out of the generation"
    )
    near_duplicate: Action = Field(
        default="refuse", description="a statement that says what another says, in other words"
    )
    similar_statement: Action = Field(
        default="warn", description="a statement that shares most of its words, and all numbers, with another"
    )
    similarity: float = Field(default=0.8, gt=0, le=1, description="share of words that counts as most")
    repeated_data: Action = Field(
        default="refuse", description="evidence that only repeats measurements counted for the hypothesis"
    )
    outside_scope: Action = Field(
        default="refuse", description="evidence about none of the compounds that the hypothesis is about"
    )
    thin_verdict: Action = Field(
        default="warn", description="`supported` by trusted results about fewer compounds than the minimum"
    )
    min_verdict_subjects: int = Field(default=2, ge=1, le=100, description="that minimum")
    postdicted_verdict: Action = Field(
        default="warn", description="`supported` by results alone that were known when it was stated"
    )
    abandoned: Action = Field(default="warn", description="`dormant` without any evidence")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_prior >= self.max_prior:
            raise ValueError("min_prior must be below max_prior")
        return self
