"""The composition root of the gateway: settings in, an ASGI application out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from starlette.middleware.cors import CORSMiddleware

from services.gateway.dependencies import opened
from services.gateway.flows import compatibility, compatibility_chat
from services.gateway.flows import documents as flow_documents
from services.gateway.flows import events as flow_events
from services.gateway.flows import versions as flow_versions
from services.gateway.http import problems
from services.gateway.http.edge import Edge
from services.gateway.http.openapi import describe
from services.gateway.metrics import Metrics
from services.gateway.routes import (
    batches,
    capabilities,
    collections,
    conversations,
    docs,
    files,
    health,
    jobs,
    keys,
    models,
    prompts,
    stacks,
)
from services.gateway.settings import Settings
from services.gateway.streams import events
from shared.kinds import KINDS


def _routers() -> tuple[APIRouter, ...]:
    """Every router, in the order of the documentation."""
    return (
        jobs.submit_router(KINDS),
        jobs.router,
        events.router,
        jobs.calls_router,
        batches.submit_router(KINDS),
        batches.router,
        files.router,
        conversations.router,
        flow_documents.router,
        flow_versions.router,
        flow_events.router,
        compatibility.router,
        compatibility_chat.router,
        prompts.router,
        models.router,
        models.providers_router,
        collections.router,
        stacks.router,
        keys.router,
        capabilities.router,
        health.router,
        docs.router,
    )


def create_app(settings: Settings) -> FastAPI:
    """The gateway. Nothing is opened before the application starts, and nothing has to be reachable then."""
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with opened(app, settings, metrics):
            yield

    app = FastAPI(
        title="Assay",
        version="1.0.0",
        summary="LLM jobs whose answers are executed and checked before they are returned",
        lifespan=lifespan,
        routes=[route for router in _routers() for route in router.routes],
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
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
    app.add_middleware(Edge, metrics=metrics)
    return app
