"""What every contract shares: strict requests, tolerant answers, pages, problems, references to files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Generic, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

Item = TypeVar("Item")


class Request(BaseModel):
    """A body that a client sends: an unknown field is an error, and so are a number that comes as text and a NaN."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class Answer(BaseModel):
    """A body that the server sends: a client ignores the fields that it does not know."""

    model_config = ConfigDict(extra="ignore")


@dataclass(frozen=True)
class FileReference:
    """Marks a field that holds the id of an uploaded file, so that a submit can check that it exists."""


#: The id of a file of the caller's tenant.
FileId = Annotated[str, FileReference(), Field(min_length=1, max_length=64)]


def file_references(value: object, loc: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every file id inside a contract model, with its location (field names and list positions)."""
    if isinstance(value, BaseModel):
        for name, refers in _fields(type(value)):
            inner = getattr(value, name)
            if isinstance(inner, str):
                if refers:
                    yield (*loc, name), inner
            else:
                yield from file_references(inner, (*loc, name))
    elif isinstance(value, (list, tuple)):
        for position, inner in enumerate(value):
            yield from file_references(inner, (*loc, position))


@cache
def _fields(model: type[BaseModel]) -> list[tuple[str, bool]]:
    """The model's fields, and whether a string in it is the id of a file."""
    return [(name, _refers_to_file(field.metadata, field.annotation)) for name, field in model.model_fields.items()]


def _refers_to_file(metadata: list[object], annotation: object) -> bool:
    if any(isinstance(mark, FileReference) for mark in metadata):
        return True
    inner = getattr(annotation, "__args__", ())
    return any(_refers_to_file(list(getattr(part, "__metadata__", ())), None) for part in inner)


class FieldError(Answer):
    """One field of a request that does not fit."""

    loc: list[str | int]
    msg: str


class Problem(Answer):
    """RFC 9457 problem details; ``code`` is stable, ``detail`` is for a person."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str | None = None
    errors: list[FieldError] | None = None

    model_config = ConfigDict(extra="allow")


class Page(Answer, Generic[Item]):
    """One page of a list; ``next_cursor`` is null on the last one."""

    items: list[Item]
    next_cursor: str | None = None


#: JSON has no times: text in RFC 3339 is one, also where nothing else is taken for what it is not.
Time = Annotated[AwareDatetime, Field(strict=False)]
__all__ = [
    "Answer",
    "FieldError",
    "FileId",
    "FileReference",
    "Page",
    "Problem",
    "Request",
    "Time",
    "file_references",
]
