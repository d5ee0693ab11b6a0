"""Requirements of an endpoint: marked on the endpoint, read by the router and by the API description."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Header, Path, Request, Response
from pydantic import AfterValidator, StringConstraints
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.contracts.keys import Scope
from shared.errors import NotFound
from shared.faults import NAME

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


#: Finds out, on the request's connection, whether what the request refers to takes long to read.
LargeReference = Callable[[Request, AsyncConnection], Awaitable[bool]]


@dataclass(frozen=True)
class EndpointRules:
    """An endpoint's requirements beyond those of its method; a decorator under the route's own."""

    scope: Scope | None = None  #: by default ``read`` for GET and ``write`` for the rest
    public: bool = False  #: no key needed
    optional_key: bool = False  #: of a public one: a key may take the place of what the body says
    large: bool | Callable[[object], bool] = False  #: the body may be as large as a flow, or only when its JSON is such
    refers_to_large: LargeReference | None = None  #: then a process for large requests answers, as for a large body
    #: For a caller with ``admin``, whether the request reads rows of all tenants; each such read is in the audit log.
    all_tenants: Callable[[Request], bool] | None = None
    raw: bool = False  #: the endpoint reads the body and handles the idempotency key itself
    single: bool = False  #: it writes in one statement, so without a key to keep it needs no transaction around it
    audit: str | None = None  #: what the audit log calls the change that it makes
    secret: tuple[str, ...] = ()  #: fields of the answer that are never kept
    on_replay: Callable[[Request, Response], None] | None = None  #: called when a kept answer is given again

    def __call__(self, endpoint: Endpoint) -> Endpoint:
        endpoint.rules = self  # type: ignore[attr-defined]
        return endpoint


_SANE_ID = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def is_sane(id: str) -> bool:
    """Return whether it may be an id of ours; any other text never reaches a statement."""
    return _SANE_ID.fullmatch(id) is not None


def _sane(id: str) -> str:
    if not is_sane(id):
        raise NotFound("There is nothing with that id.")
    return id


#: An id in a path: whatever is not one of ours is not found, and never reaches a statement.
Id = Annotated[str, Path(description="The id"), AfterValidator(_sane)]
IfMatch = Annotated[str | None, Header(description="`ETag` of the version that you read; 412 if it has changed since")]
TenantName = Annotated[str, StringConstraints(pattern=NAME)]
