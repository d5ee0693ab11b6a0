"""The numbers of workers and the reconciler, by the names that the dashboards use; no tenant is ever a label.

What the record itself says (depth, age, running) is the gateway's to tell.
"""

from __future__ import annotations

from prometheus_client import Counter, Histogram

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
