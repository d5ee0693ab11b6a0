"""Run the gateway: ``python -m services.gateway``; with ``--large-bodies SOCKET`` it reads them for another gateway."""

from __future__ import annotations

import gc
import os
import pickle
import resource
import signal
import sys
import threading

import structlog

from services.gateway.app import GatewayServer
from services.gateway.settings import Settings
from shared import logs, tracing
from shared.plugins import load_plugins
from shared.settings import PluginSettings, run
from shared.unknown_settings import unknown_settings

log = structlog.get_logger(__name__)

#: A tenth of Python's own: a request lets go some twenty times.
_SWITCH_SECONDS = 0.0005
_COLLECTED_SECONDS = 30
#: Collections of the younger objects before a full one.
_NEVER = 2**31 - 1


def main() -> None:
    logs.configure("gateway")
    tracing.configure("gateway")
    load_plugins(PluginSettings().modules)
    is_behind = sys.argv[1:2] == ["--large-bodies"]
    if not is_behind and "ASSAY_EMBEDDED" not in os.environ:  # `assay up` has reported them
        for warning in unknown_settings(os.environ):
            log.warning("unknown_setting", reason=warning)
    server = _behind_another(socket=sys.argv[2]) if is_behind else GatewayServer(Settings())
    # Whenever the event loop has let go of the interpreter, a thread that computes keeps it for that long.
    sys.setswitchinterval(_SWITCH_SECONDS)
    _collect_rarely(server)
    server.run()
    tracing.close()


def _collect_rarely(server: GatewayServer) -> None:
    """Leave what the application is made of out of full collections, and make one every ``_COLLECTED_SECONDS``.

    It takes 0.1 s, in which no one is answered, and by Python's own threshold came several times in ten seconds.
    """

    async def collect() -> None:
        gc.collect()

    gc.collect()
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], _NEVER)
    server.config.callback_notify = collect
    server.config.timeout_notify = _COLLECTED_SECONDS


def _behind_another(socket: str) -> GatewayServer:
    """Return the server of a process that another gateway has started (``large_bodies.py``) and sent its settings."""
    standard_input = sys.stdin.buffer
    settings: Settings = pickle.loads(standard_input.read(int.from_bytes(standard_input.read(8), "big")))  # noqa: S301
    most = settings.http.large_body_memory_mb * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))

    def end_with_the_other() -> None:
        standard_input.read()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end_with_the_other, daemon=True).start()
    return GatewayServer(settings, behind_socket=socket)


if __name__ == "__main__":
    run(main)
