"""What Prometheus reads of a gateway: its own requests, and the queues as Postgres knows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
    start_http_server,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import DBAPIError

from shared.db import connect
from shared.jobs.record import counts


class Metrics:
    """One registry for one app, so that two apps in a process do not mix."""

    def __init__(self, database_url: str, kinds: Iterable[str]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Histogram(
            "http_server_request_duration_seconds",
            "Duration of HTTP requests until their answer begins",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.submitted = Counter("jobs_submitted", "Jobs accepted", ["queue"], registry=self.registry)
        self.streams = Gauge("event_streams_open", "Event streams that are open", registry=self.registry)
        self.dependency_up = Gauge(
            "dependency_up", "Whether a dependency answers as it should", ["dependency"], registry=self.registry
        )
        self.disk_free = Gauge("disk_free_bytes", "Free space of the disk of the files", registry=self.registry)
        self.disk_nearly_full = Gauge(
            "disk_nearly_full_bytes", "Free space below which that disk is nearly full", registry=self.registry
        )
        ProcessCollector(registry=self.registry)
        self._queues = _Queues(database_url, kinds)
        self.registry.register(self._queues)

    def text(self) -> bytes:
        """Return the exposition; it queries Postgres, so not on the event loop."""
        return generate_latest(self.registry)

    def serve(self, port: int) -> Callable[[], None]:
        """Serve Prometheus on a separate port; return a function that stops it."""
        server, thread = start_http_server(port, registry=self.registry)

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return stop

    def close(self) -> None:
        self._queues.close()


class _Queues(Collector):
    """A kind without jobs is shown as 0; while Postgres is away, nothing is shown of queues."""

    def __init__(self, database_url: str, kinds: Iterable[str]) -> None:
        self._engine = connect(database_url, connections=1)
        self._kinds = list(kinds)

    def describe(self) -> Iterable[Metric]:
        return []  # else the registry would collect, and so query Postgres, to find out

    def collect(self) -> Iterator[Metric]:
        try:
            with self._engine.connect() as connection:
                rows = {row["kind"]: row for row in connection.execute(counts.depth()).mappings()}
        except DBAPIError:
            return
        for name, column, description in (
            ("job_queue_depth", "queued", "Queued jobs"),
            ("jobs_running", "running", "Running jobs"),
            ("job_queue_age_seconds", "oldest_seconds", "How long the oldest queued job has waited"),
        ):
            family = GaugeMetricFamily(name, description, labels=["queue"])
            for kind in self._kinds:
                family.add_metric([kind], float(rows[kind][column]) if kind in rows else 0)
            yield family

    def close(self) -> None:
        self._engine.dispose()
