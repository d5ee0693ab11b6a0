"""The server on standard input and output, for hosts that start it as a process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from mcp.server.stdio import stdio_server

from assay import AsyncClient
from assay.mcp.server import Access, Request, build_server
from assay.mcp.tools import ToolSpec


def serve(url: str | None, api_key: str | None, folders: Sequence[Path], version: str, *, read_only: bool) -> None:
    """Serve until standard input ends."""
    anyio.run(_serve, url, api_key, folders, version, read_only)


async def _serve(url: str | None, api_key: str | None, folders: Sequence[Path], version: str, read_only: bool) -> None:
    async with AsyncClient(url, api_key) as shared_client:

        @asynccontextmanager
        async def client() -> AsyncIterator[AsyncClient]:
            yield shared_client

        def allows(tool: ToolSpec) -> bool:
            return tool.read_only or not read_only

        def access(_: Request) -> Access:
            return Access(client, allows, folders)

        server = build_server(access, version)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
