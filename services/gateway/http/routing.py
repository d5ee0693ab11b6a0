"""How every route behaves: the caller first, then the body, then one transaction, then the kept answer."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from services.gateway.database import UnitOfWork
from services.gateway.dependencies import Dependencies
from services.gateway.http import bodies, idempotency
from shared.contracts.keys import Scope
from shared.errors import InvalidRequest

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


@dataclass(frozen=True)
class Rules:
    """What one endpoint asks of a request beyond what its method says."""

    scope: Scope | None = None  #: by default ``read`` for GET and ``write`` for the rest
    open: bool = False  #: no key needed
    large: bool | Callable[[object], bool] = False  #: the body may be as large as a flow, or only when its JSON is such
    raw: bool = False  #: the endpoint reads the body itself, and minds the idempotency key
    single: bool = False  #: it writes in one statement, so without a key to keep it needs no transaction around it
    secret: tuple[str, ...] = ()  #: fields of the answer that are never kept
    again: Callable[[Request, Response], None] | None = None  #: what is still to be done when a kept answer is given


def rules(
    scope: Scope | None = None,
    *,
    open: bool = False,
    large: bool | Callable[[object], bool] = False,
    raw: bool = False,
    single: bool = False,
    secret: tuple[str, ...] = (),
    again: Callable[[Request, Response], None] | None = None,
) -> Callable[[Endpoint], Endpoint]:
    """Give an endpoint its own rules; stands under the route's decorator."""

    def mark(endpoint: Endpoint) -> Endpoint:
        endpoint.rules = Rules(scope, open, large, raw, single, secret, again)  # type: ignore[attr-defined]
        return endpoint

    return mark


def routes(prefix: str = "", tag: str = "") -> APIRouter:
    """A router whose every POST understands ``Idempotency-Key``, and whose every error is a problem."""
    return APIRouter(
        prefix=prefix,
        tags=[tag] if tag else None,
        route_class=Route,
        strict_content_type=False,
        generate_unique_id_function=lambda route: route.name,
    )


def narrowed(endpoint: Callable[..., Awaitable[Response]], **annotations: object) -> Callable[..., Awaitable[Response]]:
    """The endpoint with annotations that are known only when the application is made."""
    signature = inspect.signature(endpoint, eval_str=True)

    @wraps(endpoint)
    async def call(**arguments: object) -> Response:
        return await endpoint(**arguments)

    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[
            parameter.replace(annotation=annotations.get(name, parameter.annotation))
            for name, parameter in signature.parameters.items()
        ]
    )
    return call


class Route(APIRoute):
    """One operation of the API."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        handle = super().get_route_handler()
        kept = cast(Rules, getattr(self.endpoint, "rules", Rules()))
        takes_body = self.body_field is not None

        async def answer(request: Request) -> Response:
            dependencies = cast(Dependencies, request.app.state.dependencies)
            if not kept.open:
                await _admit(dependencies, request, kept)
            content = None if kept.raw else await _content(dependencies, request, kept, takes_body)
            alone = kept.single and "idempotency-key" not in request.headers
            unit = UnitOfWork(dependencies.database, writes=request.method != "GET" and not alone)
            request.state.unit = unit
            try:
                response = await _once(request, unit, kept, content, handle)
                if response.status_code < 400:
                    await unit.finish()
            except BaseException as error:
                await unit.give_up(error)
                raise
            if response.status_code >= 400:
                await unit.give_up(_Refused())
                return response
            if request.state.head_only:
                return Response(status_code=response.status_code, headers=response.headers)  # no stream is begun
            for then in unit.after:
                then()
            return response if unit.hold is None else await unit.hold(response)

        return answer


class _Refused(Exception):
    """The route has answered with an error of its own: nothing is kept."""


async def _admit(dependencies: Dependencies, request: Request, kept: Rules) -> None:
    scope = kept.scope or ("read" if request.method == "GET" else "write")
    caller = await dependencies.authenticator.admit(request.headers.get("authorization"), scope)
    request.state.caller = caller
    await dependencies.admission.admit_request(caller.tenant, request.state.headers)


async def _content(dependencies: Dependencies, request: Request, kept: Rules, takes_body: bool) -> object:
    """The JSON body, or None when there is none. Raises: TooLarge, MalformedJson, InvalidRequest, ..."""
    http = dependencies.settings.http
    if request.method == "GET":
        return None
    body = await bodies.read(request, http.large_body_bytes if kept.large else http.body_bytes)
    if not body:
        return None
    bodies.check_json_type(request)
    content = bodies.parse(body)
    if callable(kept.large) and len(body) > http.body_bytes and not kept.large(content):
        raise bodies.too_large(http.body_bytes)
    request._json = content  # the framework asks for it again
    if not takes_body and content not in ({}, None):
        raise InvalidRequest("This operation takes no body.", [(["body"], "must be empty")])
    return content


async def _once(
    request: Request, unit: UnitOfWork, kept: Rules, content: object, handle: Callable[[Request], Awaitable[Response]]
) -> Response:
    """Do the work, or give the kept answer of the request that did it."""
    header = request.headers.get("idempotency-key")
    if header is None or request.method != "POST" or kept.raw or kept.open:
        return await handle(request)
    target = f"{request.url.path}?{request.url.query}"
    keyed = idempotency.KeyedRequest(
        request.state.caller.tenant,
        idempotency.read_key(header),
        idempotency.fingerprint(request.method, target, content),
    )
    connection = await unit.connect()
    replayed = await keyed.begin(connection)
    if replayed is not None:
        if kept.again is not None:
            kept.again(request, replayed)
        return replayed
    response = await handle(request)
    if response.status_code < 400:
        await keyed.keep(connection, response, kept.secret)
    return response
