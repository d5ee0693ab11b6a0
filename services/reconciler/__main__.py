"""``python -m services.reconciler``: one leads, the others are on standby."""

from __future__ import annotations

import signal
from functools import partial
from threading import Event

from prometheus_client import start_http_server

from services.reconciler.counters import Upkeep
from services.reconciler.evaluations import advance_all
from services.reconciler.partitions import add_days
from services.reconciler.reconciler import PeriodicTask, Reconciler
from services.reconciler.recovery import LAST_WAIT, notify_again, reclaim_expired
from services.reconciler.retention import Retention, delete_tenants
from services.reconciler.shadows import sample_all
from services.reconciler.webhooks import Webhooks
from shared import blobs, db, logs
from shared.jobs import metrics
from shared.plugins import load_plugins
from shared.redis_urls import client
from shared.settings import JobSettings, PluginSettings, StoreSettings, run


def main() -> None:
    logs.configure("reconciler")
    load_plugins(PluginSettings().modules)
    stores, settings = StoreSettings(), JobSettings()
    engine = db.connect(stores.database_url)
    redis = client(stores.redis_url, socket_timeout=2, socket_connect_timeout=1)
    store = blobs.open_store(stores.blob_url)
    webhooks = Webhooks(engine, allow_private=settings.webhook_private)
    retention = Retention(engine, store, settings.retention_days, settings.upload_days, settings.llm_texts_days)
    wait = LAST_WAIT * settings.lease_seconds
    reconciler = Reconciler(
        engine,
        [
            PeriodicTask("leases", 0.5, partial(reclaim_expired, engine, redis, settings.crashes_until_dead, wait)),
            PeriodicTask("notifications", 1.0, lambda: notify_again(engine, redis)),
            PeriodicTask("upkeep", 1.0, Upkeep(engine).work),
            PeriodicTask("evaluations", 0.25, lambda: advance_all(engine, redis)),
            PeriodicTask("shadows", 1.0, lambda: sample_all(engine)),
            PeriodicTask("webhooks", 1.0, webhooks.deliver_due),
            PeriodicTask("tenants", 5.0, lambda: delete_tenants(engine)),
            PeriodicTask("partitions", 60.0, lambda: add_days(engine)),
            PeriodicTask("retention", 60.0, retention.delete_expired),
        ],
        settings.say_ready,
    )
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    metrics.watch_connections(engine)
    if settings.metrics_port:
        start_http_server(settings.metrics_port)
    reconciler.run(stop)


if __name__ == "__main__":
    run(main)
