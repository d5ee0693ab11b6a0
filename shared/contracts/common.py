"""What every contract shares: strict requests, tolerant answers, pages, problems, references to files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, ValidatorFunctionWrapHandler

from shared.contracts.described import Contract

Item = TypeVar("Item")


class Request(Contract):
    """A body that a client sends: an unknown field is an error, and so are a number that comes as text and a NaN."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class Answer(Contract):
    """A body that the server sends: a client ignores the fields that it does not know."""

    model_config = ConfigDict(extra="ignore")


@dataclass(frozen=True)
class Reference:
    """Marks a field that holds the id or name of something of the caller's tenant: a submit checks that it exists."""

    noun: Literal["file", "conversation", "flow", "collection", "job", "definitions"]


@dataclass(frozen=True)
class LocalPath:
    """Marks a field that holds a path on the server: only an installation on one machine reads it."""


Loc = tuple[str | int, ...]
Mark = Reference | LocalPath
#: The id of a file of the caller's tenant.
FileId = Annotated[str, Reference("file"), Field(min_length=1, max_length=64)]


_PART = 1_000


def in_parts(values: object, validate: ValidatorFunctionWrapHandler) -> Any:  # noqa: ANN401 - as pydantic has it
    """Validate a long list in parts: of a million wrong items only the first thousand are checked."""
    if not isinstance(values, list) or len(values) <= _PART:
        return validate(values)
    whole = []
    for start in range(0, len(values), _PART):
        try:
            whole += validate(values[start : start + _PART])
        except ValidationError:
            return validate(values[: start + _PART])  # raises again, with the places in the whole list
    return whole


def marked_values(value: object, loc: Loc = ()) -> Iterator[tuple[Mark, Loc, str | int]]:
    """Yield every marked value inside a contract model, with its location (field names and list positions)."""
    if isinstance(value, BaseModel):
        for name, mark in _marked_fields(type(value)):
            inner = getattr(value, name)
            if mark is not None:
                yield from ((mark, place, each) for place, each in _texts(inner, (*loc, name)) if each)
            else:
                yield from marked_values(inner, (*loc, name))
    elif isinstance(value, (list, tuple)):
        for position, inner in enumerate(value):
            yield from marked_values(inner, (*loc, position))


@cache
def _marked_fields(model: type[BaseModel]) -> list[tuple[str, Mark | None]]:
    return [(name, _mark(field.metadata, field.annotation)) for name, field in model.model_fields.items()]


def _texts(value: object, loc: Loc) -> Iterator[tuple[Loc, str | int]]:
    """Yield the value, or those inside a list or an object, with their locations."""
    if isinstance(value, (str, int)):
        yield loc, value
    elif isinstance(value, (list, tuple)):
        for position, inner in enumerate(value):
            yield from _texts(inner, (*loc, position))
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, (*loc, str(name)))


def _mark(metadata: Sequence[object], annotation: object) -> Mark | None:
    """Return the mark of a field, also from inside ``X | None``, ``list[X]`` or ``dict[str, X]``."""
    own = next((mark for mark in metadata if isinstance(mark, Mark)), None)
    if own is not None:
        return own
    inner = (_mark(getattr(part, "__metadata__", ()), part) for part in get_args(annotation))
    return next((mark for mark in inner if mark is not None), None)


class FieldError(Answer):
    """A field of a request that is not valid."""

    loc: list[str | int]
    """Path to the field: `body`, `query` or `path` first, then field names and list positions"""
    msg: str
    """What is wrong with the field"""


class Isolation(Answer):
    """How strongly the sandbox of a run is isolated."""

    tier: str
    """Isolation tier that the worker verified when it started, such as `ns` or `gvisor`"""
    claimed: str | None = None
    """Stronger tier that the operator claims and Assay has not verified; null if none is claimed"""


class Problem(Answer):
    """RFC 9457 problem details. `code` is stable; `detail` is for a person."""

    type: str
    """URL path of the page section that explains the code, such as `/docs/errors#not_found`"""
    title: str
    """Title of the error, the same for every error of this code"""
    status: int
    """HTTP status; of a failed job, the status that its error would have over HTTP"""
    detail: str
    """What happened, and what to do next"""
    code: str
    """Stable error code; `/docs/errors` explains each"""
    request_id: str | None = None
    """Id of the request, as in the server's logs and in the header `X-Request-ID`"""
    errors: list[FieldError] | None = None
    """Fields that are not valid, at most 100; null for errors that concern no field"""

    model_config = ConfigDict(extra="allow")


class Page(Answer, Generic[Item]):
    """One page of a list."""

    items: list[Item]
    """Entries of this page"""
    next_cursor: str | None = None
    """Value of `cursor` for the next page; null on the last page"""


#: JSON has no times: text in RFC 3339 is one, also where nothing else is taken for what it is not.
Time = Annotated[AwareDatetime, Field(strict=False)]
