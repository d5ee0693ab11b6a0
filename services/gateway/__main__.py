"""Run the gateway: ``python -m services.gateway``."""

from __future__ import annotations

import gc

import uvicorn

from services.gateway.app import create_app
from services.gateway.http.server import Server
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
    # The application lives as long as the process: looking through it again and again made single requests wait 0.1 s.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # a request makes some thousand objects, and nearly all of them go by themselves
    Server(app, config).run()


if __name__ == "__main__":
    main()
