"""What Prometheus reads of the sandboxes: how many are ready, wanted and in use."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from services.execution.sandbox.host.pool import PoolFill
from services.execution.sandbox.host.sandbox import Sandbox


class SandboxMetrics(Collector):
    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def collect(self) -> Iterator[Metric]:
        fill: PoolFill = self._sandbox.fill
        ready = GaugeMetricFamily("sandboxes_ready", "Sandboxes that wait for a run", labels=["language"])
        wanted = GaugeMetricFamily("sandboxes_wanted", "Sandboxes that are to wait for a run", labels=["language"])
        for language, (are, should) in fill.languages.items():
            ready.add_metric([language], are)
            wanted.add_metric([language], should)
        yield ready
        yield wanted
        yield GaugeMetricFamily("sandboxes_running", "Sandboxes in which code runs", value=fill.running)


def watch(sandbox: Sandbox) -> None:
    """Report this process's sandboxes."""
    REGISTRY.register(SandboxMetrics(sandbox))
