"""How every route behaves: the caller first, then the body, then one transaction, then the kept answer."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import cast

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from services.gateway.database import UnitOfWork
from services.gateway.dependencies import Dependencies
from services.gateway.http import bodies, idempotency
from services.gateway.http.rules import Rules
from shared.errors import InvalidRequest


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
        rules = cast(Rules, getattr(self.endpoint, "rules", Rules()))
        takes_body = self.body_field is not None

        async def answer(request: Request) -> Response:
            deps = cast(Dependencies, request.app.state.dependencies)
            if not rules.public:
                await _admit(deps, request, rules)
            if request.method != "GET" and not rules.raw:
                request = await _with_json(deps, request, rules, takes_body)
            alone = rules.single and "idempotency-key" not in request.headers
            unit = UnitOfWork(deps.database, writes=request.method != "GET" and not alone)
            request.state.unit = unit
            try:
                response = await _once(request, unit, rules, handle)
                if response.status_code < 400:
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
            return response if unit.hold is None else await unit.hold(response)

        return answer


class _Refused(Exception):
    """The route has answered with an error of its own: nothing is written."""


async def _admit(deps: Dependencies, request: Request, rules: Rules) -> None:
    scope = rules.scope or ("read" if request.method == "GET" else "write")
    caller = await deps.authenticator.admit(request.headers.get("authorization"), scope)
    request.state.caller = caller
    await deps.admission.admit_request(caller.tenant, request.state.headers)


async def _with_json(deps: Dependencies, request: Request, rules: Rules, takes_body: bool) -> bodies.JsonRequest:
    """The request with its body, None when that is empty. Raises: TooLarge, MalformedJson, InvalidRequest, ..."""
    http = deps.settings.http
    raw = await bodies.read(request, http.large_body_bytes if rules.large else http.body_bytes)
    if not raw:
        return bodies.JsonRequest(request, raw, None)
    bodies.check_json_type(request)
    content = bodies.parse(raw)
    if callable(rules.large) and len(raw) > http.body_bytes and not rules.large(content):
        raise bodies.too_large(http.body_bytes)
    if not takes_body and content not in ({}, None):
        raise InvalidRequest("This operation takes no body.", [(["body"], "must be empty")])
    return bodies.JsonRequest(request, raw, content)


async def _once(
    request: Request, unit: UnitOfWork, rules: Rules, handle: Callable[[Request], Awaitable[Response]]
) -> Response:
    """Do the work, or give the kept answer of the request that did it."""
    key = request.headers.get("idempotency-key")
    if key is None or request.method != "POST" or rules.public or not isinstance(request, bodies.JsonRequest):
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
