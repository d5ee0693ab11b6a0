"""The SDK's server for `/mcp`: what a key may do, it does through this gateway's own API."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import cast

from fastapi import Request
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import ASGIApp

from assay import AsyncClient
from assay.mcp.server import Access, build_server
from assay.mcp.server import Request as ToolRequest
from assay.mcp.tools import ToolSpec
from services.gateway.dependencies import Dependencies
from services.gateway.http.auth import Caller
from services.gateway.mcp.inside import InsideTransport
from shared import VERSION


async def run(most_bytes: int, started: asyncio.Future[ASGIApp], stopping: asyncio.Event) -> None:
    """Give the application that answers, and keep what it needs until ``stopping``."""
    server = build_server(_access, VERSION)
    manager = StreamableHTTPSessionManager(server, stateless=True, max_request_body_size=most_bytes)
    async with manager.run():
        started.set_result(manager.handle_request)
        await stopping.wait()


def _access(request: ToolRequest) -> Access:
    """Return what this request's key may do, through this gateway's own API."""
    http_request = cast(Request, request.request)
    caller = cast(Caller, http_request.state.caller)

    def allows(tool: ToolSpec) -> bool:
        return caller.has(tool.scope)

    deps = cast(Dependencies, http_request.app.state.dependencies)
    # A process for large bodies does not wait for a job: its answer names the job, and others need the process.
    stopping = partial(asyncio.sleep, 0) if deps.large_bodies is None else deps.closing.wait
    return Access(partial(_client, http_request), allows, stopping=stopping)


def _client(request: Request) -> AbstractAsyncContextManager[AsyncClient]:
    key = request.headers["authorization"].partition(" ")[2].strip()
    address = (request.client.host, request.client.port) if request.client else None
    transport = InsideTransport(request.app, address)
    return AsyncClient("http://localhost", key, max_retries=0, timeout=60, transport=transport)
