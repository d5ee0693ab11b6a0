"""A gateway with a flows worker and scripted models."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import httpx2 as httpx
import pytest

from services.gateway.settings import Settings
from shared.llm.settings import ProviderSettings
from tests.services.gateway.conftest import Gateway, serving, settings_of
from tests.support.platform import spawn
from tests.support.scripted import ScriptedLlm
from tests.support.servers import url_as
from tests.support.wait import until


@contextmanager
def flows_worker(settings: Settings, scripted_llm: ScriptedLlm, **variables: str) -> Iterator[Settings]:
    """The settings of a gateway next to the worker, with the same models."""
    environment = scripted_llm.environment(["groq", "cerebras"])
    stores = settings.stores
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    database_url = url_as("flows", stores.database_url)
    places = {"DATABASE_URL": database_url, "REDIS_URL": stores.redis_url, "BLOB_URL": stores.blob_url}
    worker = spawn("services.flows", {**inherited, **environment, **places, **variables})
    try:
        yield replace(settings, providers=ProviderSettings(environment))
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)


def wait_until_ready(client: httpx.Client) -> None:
    def ready() -> bool:
        return bool(client.get("/v1/capabilities").json()["kinds"]["flow"]["state"] == "ready")

    until(ready, "the flows worker", 90)


@pytest.fixture(scope="module")
def chatting(gateway: Gateway, scripted_llm: ScriptedLlm) -> Iterator[httpx.Client]:
    """A client of a gateway with a flows worker and scripted models."""
    with (
        flows_worker(settings_of(gateway.settings.stores), scripted_llm) as settings,
        serving(settings) as url,
        httpx.Client(base_url=url, headers={"Authorization": f"Bearer {gateway.key('chat')}"}, timeout=60) as client,
    ):
        wait_until_ready(client)
        yield client
