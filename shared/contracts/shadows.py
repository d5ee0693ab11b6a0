"""Shadows: a share of a tenant's jobs, done again with another model or prompt, beside the answers that were given."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from shared.contracts.common import Answer, Request, Time
from shared.contracts.evaluations import EvaluationSummary

#: Kinds whose jobs change nothing but their own answer, and take what they did from no earlier one.
ShadowKind = Literal["transform", "document", "search"]
ShadowState = Literal["running", "stopped"]


class ShadowInput(Request):
    """``model`` or ``prompt`` (``key@version``), or both."""

    kind: ShadowKind
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    prompt: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,100}@[0-9]{1,9}$")] | None = None
    share: Annotated[float, Field(gt=0, le=1)] = 0.01  #: of the jobs that ask a model
    #: What its jobs may take within 24 hours; they count towards the tenant's own quota of tokens, too.
    tokens_per_day: Annotated[int, Field(ge=1, le=10**12)] = 100_000

    @model_validator(mode="after")
    def _differs(self) -> Self:
        if self.model is None and self.prompt is None:
            raise ValueError("give a model or a prompt: without either the same would be done again")
        return self


class ShadowSummary(Answer):
    id: str
    kind: ShadowKind
    model: str | None
    prompt: str | None
    share: float  #: of the jobs of the kind that are done again
    tokens_per_day: int
    state: ShadowState
    tokens_today: int  #: what its jobs took within 24 hours
    #: Jobs that were chosen and not done again, by cause: ``budget``, ``behind``, ``unfit``, ``unanswered``.
    passed_over: dict[str, int]
    actor: str
    created_at: Time
    stopped_at: Time | None = None  #: since when it chooses no further job


class ShadowView(ShadowSummary):
    evaluations: list[EvaluationSummary]  #: newest first, at most 20: variant ``live`` beside ``shadow``
