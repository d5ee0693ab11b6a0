"""``python -m services.broker``: serve until SIGTERM, then let the calls under way finish."""

from __future__ import annotations

import signal
import threading

from prometheus_client import start_http_server

from services.broker.runs import AskingRuns
from services.broker.server import BrokerServer
from shared import db, logs
from shared.llm.broker_client import BrokerSettings, address_of
from shared.llm.layer import LlmLayer
from shared.llm.settings import CallSettings, ProviderSettings
from shared.plugins import load_plugins
from shared.settings import JobSettings, PluginSettings, StoreSettings, run

_ALIVE_SECONDS = 5.0  #: between two signs of life
CONNECTIONS = 3  #: to the database; a question holds one for a moment


def main() -> None:
    load_plugins(PluginSettings().modules)
    logs.configure("broker")
    settings, where = JobSettings(), StoreSettings()
    engine = db.connect(where.database_url, CONNECTIONS)
    layer = LlmLayer(ProviderSettings(), CallSettings(), engine, where.redis_url)
    server = BrokerServer(address_of(BrokerSettings().listen), AskingRuns(engine, layer, settings.default_seconds))
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    if settings.metrics_port:
        start_http_server(settings.metrics_port)
    serving = threading.Thread(target=server.serve_forever, name="broker", daemon=True)
    serving.start()
    threading.Thread(target=_load, args=(layer,), name="load", daemon=True).start()
    settings.say_ready()
    while not stopping.wait(_ALIVE_SECONDS):
        if serving.is_alive():
            settings.say_ready()
    if settings.ready_file is not None:
        settings.ready_file.unlink(missing_ok=True)
    server.stop(settings.grace_seconds)
    layer.close()


def _load(layer: LlmLayer) -> None:
    """Load the SDK that each role calls first, so that no job waits for it."""
    for role in layer.models.chains():
        layer.load(role)


if __name__ == "__main__":
    run(main)
