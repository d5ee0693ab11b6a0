"""``POST /mcp``: authenticates and authorizes the caller, then calls the SDK. It is stateless.

Without sessions there is none to steal, to expire or to lose with a gateway: any replica answers any request.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from typing import cast

from fastapi import FastAPI, Request, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.admission.slots import Slots
from services.gateway.dependencies import Dependencies
from services.gateway.http import bodies, large_bodies, problems
from services.gateway.http.auth import Caller
from services.gateway.mcp.metadata import metadata_url
from services.gateway.settings import HttpSettings
from shared.errors import NotAuthenticated, OriginNotAllowed, QuotaExceeded


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[None]:
    """Answer ``/mcp`` for the life of the application."""
    app.state.mcp = _LoadedLater(cast(Dependencies, app.state.dependencies).settings.http.body_bytes)
    try:
        yield
    finally:
        await app.state.mcp.stop()


class _LoadedLater:
    """The SDK, loaded by the first request: it takes a third of a second, and most gateways get no MCP request."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._loading = asyncio.Lock()
        self._manager: ASGIApp | None = None
        self._running: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    async def handler(self) -> ASGIApp:
        async with self._loading:
            if self._manager is None:
                sdk = await asyncio.to_thread(import_module, "services.gateway.mcp.sdk")
                started: asyncio.Future[ASGIApp] = asyncio.get_running_loop().create_future()
                self._running = asyncio.create_task(sdk.run(self._most_bytes, started, self._stopping))
                self._manager = await started
            return self._manager

    async def stop(self) -> None:
        self._stopping.set()
        if self._running is not None:
            await self._running


class McpRoute(Route):
    def __init__(self) -> None:
        super().__init__("/mcp", _Endpoint(), methods=["POST"], include_in_schema=False)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child = super().matches(scope)
        return match, {**child, "route": self}  # as metrics call it


class _Endpoint:
    def __init__(self) -> None:
        self._slots = Slots("MCP requests", 0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request. Raises: AssayError, which the application answers."""
        request = Request(scope, receive)
        deps = cast(Dependencies, request.app.state.dependencies)
        http = deps.settings.http
        if deps.large_bodies is not None:  # else the gateway in front has looked
            _check_page(request, http)
        address = request.client.host if request.client else None
        try:
            caller = await deps.authenticator.admit(request.headers.get("authorization"), "read", address)
        except NotAuthenticated as error:
            response = problems.problem(error, problems.request_id(request))
            response.headers["WWW-Authenticate"] = f'Bearer resource_metadata="{metadata_url(request)}"'
            await response(scope, receive, send)
            return
        if deps.large_bodies is not None:
            await deps.rates.admit(caller.tenant, request.state.headers)
        with self._slot(caller, http.mcp_calls_per_key):
            body = await _body(deps, request, caller)
            if isinstance(body, Response):
                await body(scope, receive, send)
                return
            request.state.caller = caller
            handle = await cast(_LoadedLater, request.app.state.mcp).handler()
            await handle(scope, _Replay(body, receive), send)

    @contextmanager
    def _slot(self, caller: Caller, limit: int) -> Iterator[None]:
        """Hold a slot of the key. Raises: QuotaExceeded."""
        share = self._slots.of(caller.key_id)
        if not self._slots.take(share, limit):
            detail = f"This key has {limit} MCP requests in progress, which is the most allowed; wait for one."
            raise QuotaExceeded(detail, retry_after=5, quota="mcp_calls", limit=limit)
        try:
            yield
        finally:
            self._slots.free(share)


def _check_page(request: Request, http: HttpSettings) -> None:
    """Pages may call only from this gateway or a named origin, and by a name that is ours (DNS rebinding).

    Raises: OriginNotAllowed.
    """
    host = request.headers.get("host", "").lower()
    origin = request.headers.get("origin")
    is_named = re.sub(r":\d+$", "", host) in {*http.browser_hosts, http.host}
    if not is_named and (origin is not None or http.is_loopback):
        raise OriginNotAllowed("This Host is not one of ASSAY_COMPATIBILITY_HOSTS.")
    if origin is not None and origin.partition("://")[2].lower() != host and origin not in http.origins:
        raise OriginNotAllowed("This Origin is neither this gateway nor one of ASSAY_CORS_ORIGINS.")


async def _body(deps: Dependencies, request: Request, caller: Caller) -> bytes | Response:
    """Return the message, checked to be JSON of a bounded shape; a large one is answered by another process.

    Raises: TooLarge, MalformedJson, ...
    """
    http = deps.settings.http
    chunks = bodies.stream(request, http.body_bytes, http.body_pause_seconds)
    received = bytearray()
    async for chunk in chunks:
        received += chunk
        if deps.large_bodies is not None and not large_bodies.is_small(received):
            return await deps.large_bodies.forward(request, caller.tenant, bytes(received), chunks)
    body = bytes(received)
    bodies.check_json_type(request)
    bodies.parse(body)
    return body


class _Replay:
    """The body that has been read, then whatever the connection says."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}
