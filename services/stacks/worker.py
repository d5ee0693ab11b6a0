"""The stacks worker: detect."""

from __future__ import annotations

import gc

from services.stacks.detect import Detect
from services.stacks.engine import Engine
from services.stacks.settings import StacksSettings
from services.stacks.store import PostgresStore
from shared.db import connect
from shared.jobs.process import open_worker
from shared.llm.settings import CallSettings, ProviderSettings, endpoints
from shared.plugins import load_plugins
from shared.settings import JobSettings, PluginSettings, StoreSettings


def main() -> None:
    load_plugins(PluginSettings().modules)
    calls = CallSettings()
    asks = calls.record in {"replay", "auto"} or any(
        endpoint.configured for endpoint in endpoints(ProviderSettings(), calls)
    )
    engine = Engine()
    gc.freeze()  # the collector need not scan the rule set and the language tables again
    worker = open_worker("stacks")
    database = connect(StoreSettings().database_url, JobSettings().concurrency)
    store = PostgresStore(database.execution_options(isolation_level="AUTOCOMMIT"))
    worker.serve("detect", Detect(StacksSettings(), engine, lambda: asks, store))
    worker.run()
