"""What Prometheus reads of a gateway: its own requests, and the queues as Postgres knows them."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from sqlalchemy import RowMapping


class Metrics:
    """One registry for one app, so that two apps in a process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Histogram(
            "http_server_request_duration_seconds",
            "Duration of HTTP requests until their answer begins",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.submitted = Counter("jobs_submitted", "Jobs accepted", ["queue"], registry=self.registry)
        self.streams = Gauge("event_streams_open", "Event streams that are open", registry=self.registry)
        self._depth = Gauge("job_queue_depth", "Queued jobs", ["queue"], registry=self.registry)
        self._running = Gauge("jobs_running", "Running jobs", ["queue"], registry=self.registry)
        self._age = Gauge(
            "job_queue_age_seconds", "How long the oldest queued job has waited", ["queue"], registry=self.registry
        )

    def text(self, queues: Iterable[RowMapping], kinds: Iterable[str]) -> bytes:
        """The exposition, with the rows of ``queries.depth``; a kind without jobs is shown as 0."""
        rows = {row["kind"]: row for row in queues}
        for kind in kinds:
            row = rows.get(kind)
            self._depth.labels(kind).set(row["queued"] if row else 0)
            self._running.labels(kind).set(row["running"] if row else 0)
            self._age.labels(kind).set(float(row["oldest_seconds"]) if row else 0)
        return generate_latest(self.registry)
