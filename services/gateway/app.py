"""The composition root of the gateway: settings in, an ASGI application and its server out."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI
from starlette.middleware.cors import CORSMiddleware

from services.gateway.console import ConsolePages
from services.gateway.dependencies import Dependencies, opened
from services.gateway.flows import branches as flow_branches
from services.gateway.flows import cases as flow_cases
from services.gateway.flows import compatibility, compatibility_chat, compatibility_events, compatibility_notes
from services.gateway.flows import documents as flow_documents
from services.gateway.flows import events as flow_events
from services.gateway.flows import versions as flow_versions
from services.gateway.http import problems
from services.gateway.http.edge import Edge
from services.gateway.http.openapi import describe
from services.gateway.http.wire import Protocol
from services.gateway.mcp import endpoint as mcp
from services.gateway.mcp import metadata as mcp_metadata
from services.gateway.metrics import Metrics
from services.gateway.routes import (
    audit,
    batches,
    bulk,
    capabilities,
    collections,
    conversations,
    deletion,
    deliveries,
    docs,
    doctor,
    endpoints,
    evaluations,
    file_tables,
    files,
    job_list,
    jobs,
    keys,
    limits,
    operations,
    registries,
    sessions,
    shadows,
    sources,
    stacks,
    uploads,
    webhooks,
)
from services.gateway.settings import Settings
from services.gateway.streams import changes, events
from shared import VERSION
from shared.kinds import KINDS


def _routers() -> tuple[APIRouter, ...]:
    """Return every router, in the order of the documentation."""
    return (
        jobs.submit_router(KINDS),
        job_list.router,
        jobs.router,
        events.router,
        changes.router,
        jobs.calls_router,
        sources.router,
        batches.submit_router(KINDS),
        batches.router,
        bulk.router,
        evaluations.router,
        shadows.router,
        flow_cases.router,
        files.router,
        file_tables.router,
        uploads.router,
        conversations.router,
        flow_documents.router,
        flow_versions.router,
        flow_branches.router,
        flow_events.router,
        compatibility.router,
        compatibility_chat.router,
        compatibility_notes.router,
        compatibility_events.router,
        registries.prompts_router,
        registries.models_router,
        registries.providers_router,
        registries.tenant_models_router,
        endpoints.router,
        collections.router,
        stacks.router,
        deletion.job_router,
        deletion.tenant_router,
        deliveries.router,
        webhooks.router,
        keys.router,
        sessions.router,
        operations.router,
        doctor.router,
        limits.router,
        audit.router,
        capabilities.router,
        capabilities.health_router,
        docs.router,
        mcp_metadata.router,
    )


def create_app(settings: Settings, *, is_behind: bool = False) -> FastAPI:
    """Create the gateway. Nothing is opened before the application starts, and no server has to be reachable then.

    ``is_behind``: it serves another gateway, which has counted the requests, and reads large bodies itself.
    """
    metrics = Metrics(settings.stores.database_url, KINDS)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with opened(app, settings, metrics, is_behind=is_behind), mcp.serving(app):
            yield

    app = FastAPI(
        title="Assay",
        version=VERSION,
        summary="LLM jobs whose answers are executed and checked before they are returned",
        lifespan=lifespan,
        routes=[*(route for router in _routers() for route in router.routes), mcp.McpRoute()],
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Spans of requests, where traces are exported (``shared.tracing``); metrics and logs are handled elsewhere.
        telemetry={"metrics": False, "logs": False, "operation_spans": False},
    )
    problems.install(app)
    describe(app)
    if settings.http.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.http.origins,
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Prefer"],
            expose_headers=["Location", "ETag", "Retry-After", "Idempotency-Replayed", "RateLimit", "X-Request-ID"],
        )
    if settings.http.console:
        app.add_middleware(ConsolePages)
    app.add_middleware(Edge, metrics=metrics, last_known=_last_known)
    return app


def _last_known(app: FastAPI, authorization: str) -> str | None:
    """Return the tenant of a header that was admitted before."""
    dependencies: Dependencies = app.state.dependencies
    return dependencies.authenticator.last_known(authorization)


class GatewayServer(uvicorn.Server):
    """A server that ends streams at once when it stops, so that clients reconnect elsewhere; other requests have
    time.
    """

    def __init__(self, settings: Settings, behind_socket: str | None = None) -> None:
        self._app = create_app(settings, is_behind=behind_socket is not None)
        http = settings.http
        protocol: Any = partial(
            Protocol,
            head_seconds=http.head_seconds,
            idle_seconds=http.idle_seconds,
            answer_pause_seconds=http.answer_pause_seconds,
        )
        config = uvicorn.Config(
            self._app,
            host=http.host,
            port=http.port,
            uds=behind_socket,
            http=protocol,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=round(settings.jobs.grace_seconds),
            timeout_keep_alive=http.idle_seconds,
            proxy_headers=bool(http.trusted_proxies),
            forwarded_allow_ips=http.trusted_proxies,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self.config.uds is not None:
            print("ready", flush=True)  # noqa: T201 - read by the gateway that has started this process

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        dependencies = getattr(self._app.state, "dependencies", None)
        if isinstance(dependencies, Dependencies):
            dependencies.end_streams()
        await super().shutdown(sockets)
