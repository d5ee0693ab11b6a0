"""The stacks worker: detect."""

from __future__ import annotations

from services.stacks.detect import Detect
from services.stacks.engine import StackEngine
from services.stacks.garbage_collection import collect_rarely
from services.stacks.settings import StacksSettings
from services.stacks.store import StackStore
from shared.jobs.worker import open_worker
from shared.llm.endpoints import EndpointRegistry
from shared.llm.settings import CallSettings, ProviderSettings, endpoints
from shared.plugins import load_plugins
from shared.settings import PluginSettings


def main() -> None:
    load_plugins(PluginSettings().modules)
    calls = CallSettings()
    asks = calls.record in {"replay", "auto"} or any(
        endpoint.configured for endpoint in endpoints(ProviderSettings(), calls)
    )
    engine = StackEngine()
    collect_rarely()
    worker = open_worker("stacks")
    # An endpoint may be named while the worker runs.
    registry = EndpointRegistry(worker.engine, ProviderSettings(), calls, ())
    store = StackStore(worker.engine.execution_options(isolation_level="AUTOCOMMIT"))
    worker.serve("detect", Detect(StacksSettings(), engine, lambda: asks or bool(registry.named()), store))
    worker.run()
