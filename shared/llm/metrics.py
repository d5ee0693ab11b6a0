"""Counters of the provider calls; no tenant and no model in the labels."""

from __future__ import annotations

from prometheus_client import Counter

from shared.llm.attempts import Attempt

REQUESTS = Counter("provider_requests_total", "Attempts at model providers", ["provider", "outcome"])
FAILOVERS = Counter("provider_failover_total", "Answers that had to come from another provider")


def count(attempt: Attempt) -> None:
    REQUESTS.labels(attempt.link.provider, attempt.outcome).inc()
    if attempt.reason == "failover" and attempt.reached:
        FAILOVERS.inc()
