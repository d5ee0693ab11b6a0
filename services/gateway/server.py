"""The HTTP server, which lets its event streams end when it is asked to stop."""

from __future__ import annotations

import socket

import uvicorn
from fastapi import FastAPI

from services.gateway.dependencies import Dependencies
from services.gateway.http.wire import Protocol


class Server(uvicorn.Server):
    """Streams end at once, and their clients go on at another gateway; other requests have their time."""

    def __init__(self, app: FastAPI, config: uvicorn.Config) -> None:
        config.http = Protocol
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        dependencies = getattr(self._app.state, "dependencies", None)
        if isinstance(dependencies, Dependencies):
            dependencies.end_streams()
        await super().shutdown(sockets)
