"""The outermost layer: a request id, headers that every answer has, one log line, and no exception gets past."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, MutableMapping
from typing import Any

import structlog
from fastapi import FastAPI
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.admission.steps import Steps
from services.gateway.http import problems, wire
from services.gateway.metrics import Metrics
from shared import tracing

log = structlog.get_logger()

_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_ALWAYS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
]


#: Health checks are answered, whatever else comes from the same address.
_PROBES = frozenset({"/healthz", "/readyz"})
_JOBS = "/v1/jobs/"


class Edge:
    """Wraps the whole application; ``last_known`` says of which tenant a header was when it was last admitted."""

    def __init__(self, app: ASGIApp, metrics: Metrics, last_known: Callable[[FastAPI, str], str | None]) -> None:
        self._app = app
        self._metrics = metrics
        self._last_known = last_known
        self._steps = Steps()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        state["request_id"] = request_id
        state["headers"] = {}  # what a layer further in wants to say on whatever answer there will be
        method = scope["method"]
        state["head_only"] = method == "HEAD"
        if state["head_only"]:
            scope = {**scope, "method": "GET"}  # the server sends no body, as it knows the method from its own scope
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        if trace_id := tracing.trace_id_of(tracing.traceparent()):
            structlog.contextvars.bind_contextvars(trace_id=trace_id)
        began = time.perf_counter()
        status = 0
        location = b""

        async def answer(message: Message) -> None:
            nonlocal status, location
            if message["type"] == "http.response.start":
                status = message["status"]
                location = next((value for name, value in message["headers"] if name.lower() == b"location"), b"")
                present = {name.lower() for name, _ in message["headers"]}
                extra = [(name.encode(), value.encode()) for name, value in state["headers"].items()]
                always = [header for header in _ALWAYS if header[0] not in present]
                headers = [*message["headers"], (b"x-request-id", request_id.encode()), *always, *extra]
                message = {**message, "headers": headers}
                self._count(scope, status, time.perf_counter() - began)
            await send(message)

        try:
            if _head_bytes(scope) > wire.MAX_HEAD_BYTES:
                await problems.problem(wire.headers_too_large(), request_id)(scope, receive, answer)
                return
            await self._steps.run(self._caller(scope), self._app(scope, receive, answer))  # type: ignore[arg-type]
        except ClientDisconnect:
            log.info("client_gone", method=method, path=scope["path"])
        except Exception:
            log.exception("unexpected", method=method, path=scope["path"])
            if status:
                raise  # the answer has begun: all that is left is to break it off
            await problems.problem(problems.internal(), request_id)(scope, receive, answer)
        finally:
            seconds = round(time.perf_counter() - began, 4)
            about = _about(scope, location.decode("latin-1"))
            log.info("request", method=method, path=scope["path"], status=status, seconds=seconds, **about)

    def _caller(self, scope: Scope) -> str:
        """Return whose share of the event loop the request uses: its tenant's, else its address's."""
        authorization = next((value for name, value in scope["headers"] if name == b"authorization"), None)
        if authorization is not None:
            tenant = self._last_known(scope["app"], authorization.decode("latin-1"))
            if tenant is not None:
                return f"tenant {tenant}"
        probe = scope["path"] if scope["path"] in _PROBES else ""
        return f"address {scope['client'][0] if scope['client'] else ''}{probe}"

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        self._metrics.requests.labels(scope["method"], route, str(status)).observe(seconds)


def _about(scope: Scope, location: str) -> dict[str, str]:
    """Return the request's tenant, and the job that it named or created."""
    about = {}
    if caller := scope["state"].get("caller"):
        about["tenant"] = caller.tenant
    if getattr(scope.get("route"), "path", "").startswith(f"{_JOBS}{{id}}"):
        about["job_id"] = scope["path_params"]["id"]
    elif location.startswith(_JOBS):
        about["job_id"] = location.removeprefix(_JOBS)
    return about


def _head_bytes(scope: Scope) -> int:
    """Return the bytes of the request head; llhttp itself has no limits."""
    return len(scope["raw_path"]) + len(scope["query_string"]) + sum(len(n) + len(v) for n, v in scope["headers"])


def _request_id(scope: Scope) -> str:
    """Return the caller's own id if it is valid, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            given = value.decode("latin-1")
            if _SANE_ID.fullmatch(given):
                return str(given)
    return secrets.token_hex(16)
