"""Metrics of workers and the reconciler, named as the dashboards expect; a tenant is never a label.

The gateway reports what the database knows (depth, age, running).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from sqlalchemy import Engine
from sqlalchemy.pool import QueuePool

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)

jobs_completed = Counter("jobs_completed_total", "Jobs that ended", ["queue", "outcome"])
job_wait_seconds = Histogram("job_wait_seconds", "From submit to start", ["queue"], buckets=_SECONDS)
job_run_seconds = Histogram("job_run_seconds", "From start to end", ["queue"], buckets=_SECONDS)
job_attempts = Counter("job_attempts_total", "Runs that were started", ["queue"])
jobs_dead = Counter("jobs_dead_total", "Jobs that crashed their worker too often", ["queue"])
lease_expired = Counter("lease_expired_total", "Leases that ran out because a worker fell silent")
reconciler_notified = Counter("reconciler_notified_total", "Notifications that were lost and sent again", ["queue"])
fenced_writes = Counter("fenced_writes_total", "Late writes that a fence refused")
webhook_deliveries = Counter("webhook_deliveries_total", "Webhook deliveries", ["outcome"])
jobs_failed = Counter("jobs_failed_total", "Jobs that failed, by the code of their error", ["queue", "code"])
job_claim_seconds = Histogram("job_claim_seconds", "Duration of a claim", ["queue"], buckets=_SECONDS)
worker_slots = Gauge("worker_slots", "Jobs that this worker may run at once")
worker_slots_used = Gauge("worker_slots_used", "Jobs that this worker runs")
reconciler_leading = Gauge("reconciler_leading", "1 while this reconciler leads, 0 on standby")
reconciler_task_seconds = Histogram(
    "reconciler_task_seconds", "Duration of a round of a periodic task", ["task"], buckets=_SECONDS
)
reconciler_task_failures = Counter("reconciler_task_failures_total", "Rounds of a periodic task that failed", ["task"])
reconciler_task_last_success = Gauge(
    "reconciler_task_last_success_timestamp_seconds", "When a periodic task last came to its end", ["task"]
)
job_event_days_ahead = Gauge("job_event_days_ahead", "Days after today that have a partition for events of their jobs")


def watch_connections(engine: Engine, registry: CollectorRegistry = REGISTRY) -> None:
    """Report this process's connections to Postgres; the last engine given is the one that is reported."""
    for known in _watched.pop(registry, ()):
        registry.unregister(known)
    collector = _Connections(engine)
    registry.register(collector)
    _watched[registry] = [collector]


class _Connections(Collector):
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        pool = cast(QueuePool, self._engine.pool)
        family = GaugeMetricFamily("db_connections", "Connections to Postgres", labels=["state"])
        family.add_metric(["used"], pool.checkedout())
        family.add_metric(["idle"], pool.checkedin())
        yield family
        # No engine of ours opens connections beyond the size of its pool.
        yield GaugeMetricFamily("db_connections_most", "Connections to Postgres that there may be", value=pool.size())


_watched: dict[CollectorRegistry, list[Collector]] = {}
