"""How every route behaves: the caller first, then the body, then one transaction, then the kept answer."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import wraps
from typing import cast

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel

from services.gateway.database import EVERYONE, UnitOfWork
from services.gateway.dependencies import Dependencies
from services.gateway.http import auditing, bodies, idempotency, large_bodies
from services.gateway.http.bodies import JsonRequest
from services.gateway.http.large_bodies import LargeBodies
from services.gateway.http.responses import conditional
from services.gateway.http.rules import EndpointRules, LargeReference
from shared.errors import InvalidRequest, MalformedJson, UnsupportedMediaType


def routes(prefix: str = "", tag: str = "", refers_to_large: LargeReference | None = None) -> APIRouter:
    """Return a router whose every POST understands ``Idempotency-Key``, and whose every error is a problem.

    ``refers_to_large``: a rule of all its endpoints.
    """
    return APIRouter(
        prefix=prefix,
        tags=[tag] if tag else None,
        route_class=Route if refers_to_large is None else referring(Route, refers_to_large),
        strict_content_type=False,
        generate_unique_id_function=lambda route: route.name,
    )


def narrowed(endpoint: Callable[..., Awaitable[Response]], **annotations: object) -> Callable[..., Awaitable[Response]]:
    """Return the endpoint with annotations that are known only when the application is made."""
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


def referring(route: type[Route], refers_to_large: LargeReference) -> type[Route]:
    """Return the class with a rule of all its endpoints."""
    return type(route.__name__, (route,), {"refers_to_large": staticmethod(refers_to_large)})


class Route(APIRoute):
    """One operation of the API."""

    refers_to_large: LargeReference | None = None

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        handle = conditional(super().get_route_handler())
        rules = cast(EndpointRules, getattr(self.endpoint, "rules", EndpointRules()))
        takes_body = self.body_field is not None
        refers_to_large = rules.refers_to_large or self.refers_to_large
        known = query_names(self.dependant) if self.path.startswith("/v1/") else None

        async def answer(request: Request) -> Response:
            deps = cast(Dependencies, request.app.state.dependencies)
            if not rules.public:
                await _admit(deps, request, rules)
            if known is not None and request.scope["query_string"]:
                _refuse_unknown(request, known)
            if request.method != "GET" and not rules.raw:
                read = await _with_json(deps, request, rules, takes_body)
                if isinstance(read, Response):
                    return read
                request = read
            unit = await _unit(deps, request, rules)
            large = deps.large_bodies
            if large is not None and refers_to_large is not None and await _is_large(request, unit, refers_to_large):
                body = request.raw if isinstance(request, JsonRequest) else b""
                return await _forwarded(large, request, rules, body, _nothing())
            return await _in_one_transaction(deps, request, unit, rules, handle)

        return answer


def query_names(dependant: Dependant) -> frozenset[str]:
    """Return the query parameters that an endpoint takes, with those of what it depends on."""
    names = {name for inner in dependant.dependencies for name in query_names(inner)}
    for field in dependant.query_params:
        model = field.field_info.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            names |= {each.alias or name for name, each in model.model_fields.items()}
        else:
            names.add(field.alias)
    return frozenset(names)


def _refuse_unknown(request: Request, known: frozenset[str]) -> None:
    """Refuse a parameter that no code reads: it would filter nothing, in silence. Raises: InvalidRequest."""
    unknown = [name for name in request.query_params if name not in known]
    if not unknown:
        return
    takes = f"this operation takes {', '.join(sorted(known))}" if known else "this operation takes none"
    shown = [name[:100] for name in dict.fromkeys(unknown)][:10]
    message = f"is not a query parameter; {takes}"
    raise InvalidRequest(f"{shown[0]} {message}", [(["query", name], message) for name in shown])


async def _unit(deps: Dependencies, request: Request, rules: EndpointRules) -> UnitOfWork:
    """Begin the request's unit of work. Raises: DatabaseUnavailable when a read of all tenants cannot be recorded."""
    alone = rules.single and "idempotency-key" not in request.headers
    tenant = EVERYONE if rules.public or rules.scope == "admin" else request.state.caller.tenant
    if rules.all_tenants is not None and "admin" in request.state.caller.scopes and rules.all_tenants(request):
        await deps.cross_tenant_reads.record(deps.database, request.state.caller, request)
        tenant = EVERYONE
    unit = UnitOfWork(deps.database, writes=request.method != "GET" and not alone, tenant=tenant)
    request.state.unit, request.state.audit = unit, rules.audit
    return unit


async def _is_large(request: Request, unit: UnitOfWork, refers_to_large: LargeReference) -> bool:
    """Decide before the handler runs whether another process answers; then the unit of work is given up."""
    try:
        is_large = await refers_to_large(request, await unit.connect())
    except BaseException as error:
        await unit.roll_back(error)
        raise
    if is_large:
        await unit.roll_back(_Refused())
    return is_large


async def _in_one_transaction(
    deps: Dependencies,
    request: Request,
    unit: UnitOfWork,
    rules: EndpointRules,
    handle: Callable[[Request], Awaitable[Response]],
) -> Response:
    try:
        response = await _once(request, unit, rules, handle)
        if response.status_code < 400:
            if rules.audit is not None and not unit.is_audited and "idempotency-replayed" not in response.headers:
                connection, secret = await unit.connect(), frozenset(rules.secret)
                caller = request.state.caller
                await auditing.record_change(connection, rules.audit, caller, request, response, secret)
            await unit.commit()
    except BaseException as error:
        await unit.roll_back(error)
        raise
    if response.status_code >= 400:
        await unit.roll_back(_Refused())
        return response
    if request.state.head_only:
        return Response(status_code=response.status_code, headers=response.headers)  # no stream is begun
    for then in unit.after_commit:
        then()
    if deps.large_bodies is None and unit.submitted:
        counts = " ".join(f"{kind}={count}" for kind, count in unit.submitted.items())
        response.headers[large_bodies.SUBMITTED_HEADER] = counts
    if unit.hold is None or deps.large_bodies is None:  # the gateway in front waits: this process is for others then
        return response
    return await unit.hold(response)


class _Refused(Exception):
    """Roll back: the route has returned an error response, or another process answers."""


async def _admit(deps: Dependencies, request: Request, rules: EndpointRules) -> None:
    scope = rules.scope or ("read" if request.method == "GET" else "write")
    address = request.client.host if request.client else None
    caller = await deps.authenticator.admit(request.headers.get("authorization"), scope, address)
    request.state.caller = caller
    if deps.large_bodies is not None:  # else the gateway in front has counted it
        await deps.rates.admit(caller.tenant, request.state.headers)


async def _with_json(
    deps: Dependencies, request: Request, rules: EndpointRules, takes_body: bool
) -> JsonRequest | Response:
    """Return the request with its body, None when that is empty; or the answer of another process that read the body.

    Raises: TooLarge, MalformedJson, InvalidRequest, ...
    """
    http = deps.settings.http
    most = http.large_body_bytes if rules.large else http.body_bytes
    chunks = bodies.stream(request, most, http.body_pause_seconds)
    received = bytearray()
    async for chunk in chunks:
        received += chunk
        if deps.large_bodies is not None and not large_bodies.is_small(received):
            return await _forwarded(deps.large_bodies, request, rules, bytes(received), chunks)
    raw = bytes(received)
    if not raw:
        return JsonRequest(request, raw, None)
    try:
        bodies.check_json_type(request)
        content, suspect = bodies.parse(raw)
        is_large = rules.large(content) if callable(rules.large) else rules.large
    except (UnsupportedMediaType, MalformedJson):
        # What cannot be read names no kind that may be large, and the size counts first.
        if callable(rules.large) and len(raw) > http.body_bytes:
            raise bodies.too_large(http.body_bytes) from None
        raise
    if not is_large and len(raw) > http.body_bytes:
        raise bodies.too_large(http.body_bytes)
    if suspect:
        bodies.check_values(raw)
    if not takes_body and content not in ({}, None):
        raise InvalidRequest("This operation takes no body.", [(["body"], "must be empty")])
    return JsonRequest(request, raw, content)


async def _forwarded(
    large: LargeBodies, request: Request, rules: EndpointRules, begun: bytes, rest: AsyncIterator[bytes]
) -> Response:
    """Return the answer of a process for large bodies; the wait for a job's end is here, as for a kept answer."""
    response = await large.forward(request, request.state.caller.tenant, begun, rest)
    unit = request.state.unit = UnitOfWork(
        request.app.state.dependencies.database, writes=False, tenant=request.state.caller.tenant
    )
    if rules.on_replay is not None:
        rules.on_replay(request, response)
    return response if unit.hold is None else await unit.hold(response)


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield


async def _once(
    request: Request, unit: UnitOfWork, rules: EndpointRules, handle: Callable[[Request], Awaitable[Response]]
) -> Response:
    """Do the work, or return the kept answer of the request that did it."""
    key = request.headers.get("idempotency-key")
    if key is None or request.method != "POST" or rules.public or not isinstance(request, JsonRequest):
        return await handle(request)
    target = f"{request.url.path}?{request.url.query}"
    keyed = idempotency.KeyedRequest(
        request.state.caller.tenant,
        idempotency.read_key(key),
        idempotency.fingerprint(request.method, target, request.content),
    )
    connection = await unit.connect()
    replayed = await keyed.begin(connection)
    if replayed is not None:
        if rules.on_replay is not None:
            rules.on_replay(request, replayed)
        return replayed
    response = await handle(request)
    if response.status_code < 400:
        await keyed.keep(connection, response, rules.secret)
    return response
