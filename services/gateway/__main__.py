"""Run the gateway: ``python -m services.gateway``."""

from __future__ import annotations

import gc

import uvicorn

from services.gateway.app import create_app
from services.gateway.server import Server
from services.gateway.settings import Settings
from shared import logs
from shared.plugins import load_plugins
from shared.settings import PluginSettings


def main() -> None:
    logs.configure("gateway")
    load_plugins(PluginSettings().modules)
    settings = Settings()
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        host=settings.http.host,
        port=settings.http.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=round(settings.jobs.grace_seconds),
        timeout_keep_alive=30,
    )
    # What the application is made of lives as long as the process: a full collection that scans it takes 0.1 s.
    gc.collect()
    gc.freeze()
    Server(app, config).run()


if __name__ == "__main__":
    main()
