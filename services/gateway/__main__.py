"""Run the gateway: ``python -m services.gateway``."""

from __future__ import annotations

from types import FrameType

import uvicorn

from services.gateway.app import create_app
from services.gateway.settings import Settings
from shared import logs


class Server(uvicorn.Server):
    """Tells the open event streams to end when the process is asked to stop; clients resume elsewhere."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        resources = getattr(self.config.app.state, "resources", None)  # type: ignore[union-attr]
        if resources is not None:
            resources.closing.set()
        super().handle_exit(sig, frame)


def main() -> None:
    logs.configure("gateway")
    settings = Settings()
    config = uvicorn.Config(
        create_app(settings),
        host=settings.http.host,
        port=settings.http.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=round(settings.jobs.grace_seconds),
        timeout_keep_alive=30,
    )
    Server(config).run()


if __name__ == "__main__":
    main()
