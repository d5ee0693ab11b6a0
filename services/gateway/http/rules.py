"""What an endpoint asks of a request: marked on the endpoint, read by the router and by the API description."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request, Response

from shared.contracts.keys import Scope

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


@dataclass(frozen=True)
class Rules:
    """What one endpoint asks of a request beyond what its method says."""

    scope: Scope | None = None  #: by default ``read`` for GET and ``write`` for the rest
    public: bool = False  #: no key needed
    large: bool | Callable[[object], bool] = False  #: the body may be as large as a flow, or only when its JSON is such
    raw: bool = False  #: the endpoint reads the body and handles the idempotency key itself
    single: bool = False  #: it writes in one statement, so without a key to keep it needs no transaction around it
    secret: tuple[str, ...] = ()  #: fields of the answer that are never kept
    on_replay: Callable[[Request, Response], None] | None = None  #: called when a kept answer is given again


def rules(
    scope: Scope | None = None,
    *,
    public: bool = False,
    large: bool | Callable[[object], bool] = False,
    raw: bool = False,
    single: bool = False,
    secret: tuple[str, ...] = (),
    on_replay: Callable[[Request, Response], None] | None = None,
) -> Callable[[Endpoint], Endpoint]:
    """Give an endpoint its own rules; stands under the route's decorator."""

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.rules = Rules(scope, public, large, raw, single, secret, on_replay)  # type: ignore[attr-defined]
        return endpoint

    return mark
