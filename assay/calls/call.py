"""One call of the API as a value: what is sent, and how the answer is read. Nothing here does I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, BinaryIO, Generic, TypeVar

Answer = TypeVar("Answer")
Query = Mapping[str, "str | int | Sequence[str] | None"]


@dataclass(frozen=True)
class Reply:
    """An answer of the server, read whole."""

    status: int
    headers: Mapping[str, str]  #: names in lower case
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body) if self.body else None

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


@dataclass(frozen=True)
class Upload:
    """A body that is read while it is sent; ``open`` reopens it for every attempt."""

    open: Callable[[], BinaryIO]
    size: int | None
    repeatable: bool  #: False: what was read cannot be read again
    close: bool  #: whether the stream is ours to close


@dataclass(frozen=True)
class ApiCall(Generic[Answer]):
    method: str
    path: str
    read: Callable[[Reply], Answer]
    query: Query = field(default_factory=dict)
    body: object = None  #: becomes JSON
    upload: Upload | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_seconds: float = 0  #: how long the server may hold the answer

    @cached_property
    def content(self) -> bytes | None:
        """The JSON body. Raises: ValueError for NaN and infinity, which JSON does not have."""
        if self.body is None:
            return None
        return json.dumps(self.body, allow_nan=False, default=_plain, separators=(",", ":")).encode()

    @property
    def parameters(self) -> list[tuple[str, str | int | float | bool | None]]:
        """The query without what was left out; a list repeats its name."""
        pairs: list[tuple[str, str | int | float | bool | None]] = []
        for name, value in self.query.items():
            if value is None:
                continue
            values = [value] if isinstance(value, (str, int)) else value
            pairs.extend((name, str(item)) for item in values)
        return pairs


def without_none(**fields: object) -> dict[str, object]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


class NoId(ValueError):
    """The given id is not an id: inside a path it would lead to another route."""


def segment(id: str) -> str:
    """Return an id quoted for a path. Raises: NoId for an id that would change the path."""
    from urllib.parse import quote  # noqa: PLC0415

    if not id or id in (".", ".."):
        raise NoId(f"{id!r} is not an id")
    return quote(id, safe="")


def as_model(name: str) -> Callable[[Reply], Any]:
    """Return a reader of replies as the contract model ``"module.Class"``, which is imported with the first reply."""

    def read(reply: Reply) -> Any:
        return contract(name).model_validate_json(reply.body)

    return read


def as_page(name: str) -> Callable[[Reply], Any]:
    """Return a reader of replies as one page of a list of these contract models."""

    def read(reply: Reply) -> Any:
        return contract("common.Page")[contract(name)].model_validate_json(reply.body)

    return read


def contract(name: str) -> Any:
    """Return the named class of ``shared.contracts``."""
    from importlib import import_module  # noqa: PLC0415

    module, _, kind = name.rpartition(".")
    return getattr(import_module(f"shared.contracts.{module}"), kind)


def body_of(reply: Reply) -> bytes:
    return reply.body


def text_of(reply: Reply) -> str:
    return reply.text


def nothing(reply: Reply) -> None:
    """Return None, for replies that only confirm success."""


def raw(reply: Reply) -> Any:
    """Return the reply's JSON unchanged."""
    return reply.json()


def _plain(value: object) -> object:
    """Contract models among the body's values."""
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"{type(value).__name__} has no form in JSON")
    return dump(mode="json", exclude_unset=True, by_alias=True)
