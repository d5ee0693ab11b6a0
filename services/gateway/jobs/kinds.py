"""Job kinds as the HTTP API shows them."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from fastapi.openapi.models import Example
from pydantic import AfterValidator
from pydantic_core import PydanticKnownError

from shared.contracts.jobs import JobKind
from shared.kinds import KINDS, KindSpec


def _known(kind: str) -> str:
    if kind not in KINDS:
        *others, last = map(repr, KINDS)
        raise PydanticKnownError("enum", {"expected": f"{', '.join(others)} or {last}"})
    return kind


#: The name of a kind, in a query.
KnownKind: TypeAlias = Annotated[JobKind, AfterValidator(_known)]


def example_of(kind: KindSpec[Any]) -> Example:
    return {"summary": kind.example.summary, "value": {"kind": kind.name, "input": kind.example.input}}


def is_large_kind(content: object) -> bool:
    """Whether a submit, or a batch with one, is of a kind that takes large bodies."""
    if not isinstance(content, dict):
        return False
    jobs = content.get("jobs")
    submits = jobs if isinstance(jobs, list) else [content]
    kinds = [KINDS.get(str(submit.get("kind"))) for submit in submits if isinstance(submit, dict)]
    return any(kind is not None and kind.large_body for kind in kinds)
