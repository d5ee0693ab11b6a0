"""Shadows: a share of a tenant's jobs, rerun with another model or prompt, for comparison with the live answers."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, Request, Time
from shared.contracts.evaluations import EvaluationSummary
from shared.faults import PROMPT_VERSION

#: Kinds whose jobs change nothing but their own answer, and take what they did from no earlier one.
ShadowKind = TypeAliasType(
    "ShadowKind",
    Annotated[Literal["transform", "document", "search"], Field(description="Job kind that can be shadowed")],
)
ShadowState = TypeAliasType(
    "ShadowState", Annotated[Literal["running", "stopped"], Field(description="State of a shadow")]
)


class ShadowInput(Request):
    """A shadow to start: repeat a share of the jobs with another model, another prompt, or both."""

    kind: ShadowKind
    """Job kind to repeat"""
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Model to repeat the jobs with; null keeps the original one"""
    prompt: Annotated[str, Field(pattern=PROMPT_VERSION)] | None = None
    """Prompt to repeat the jobs with, as `KEY@VERSION`; null keeps the original one"""
    share: Annotated[float, Field(gt=0, le=1)] = 0.01
    """Share to repeat of the kind's jobs that call a model, greater than 0 and at most 1"""
    tokens_per_day: Annotated[int, Field(ge=1, le=10**12)] = 100_000
    """Maximum tokens within 24 hours; they also count towards the tenant's quota"""

    @model_validator(mode="after")
    def _differs(self) -> Self:
        if self.model is None and self.prompt is None:
            raise ValueError("give a model or a prompt: without either the same would be done again")
        return self


class ShadowSummary(Answer):
    """A shadow without its results."""

    id: str
    """Shadow id"""
    kind: ShadowKind
    """Job kind that is repeated"""
    model: str | None
    """Model that jobs are repeated with; null if it is the original one"""
    prompt: str | None
    """Prompt that jobs are repeated with, as `KEY@VERSION`; null if it is the original one"""
    share: float
    """Share of the kind's jobs that are repeated, 0 to 1"""
    tokens_per_day: int
    """Maximum tokens within 24 hours"""
    state: ShadowState
    """Whether the shadow still chooses jobs"""
    tokens_today: int
    """Tokens used within the last 24 hours"""
    passed_over: dict[str, int]
    """Number of chosen jobs that were not repeated, by cause: `budget`, `behind`, `unfit`, `unanswered`"""
    actor: str
    """Id of the API key that started the shadow"""
    created_at: Time
    """Time at which the shadow was started"""
    stopped_at: Time | None = None
    """Time at which the shadow was stopped; null while it runs"""


class ShadowView(ShadowSummary):
    """A shadow with its results."""

    evaluations: list[EvaluationSummary]
    """Evaluations that compare variant `live` with `shadow`, newest first, at most 20"""
