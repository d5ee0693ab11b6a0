"""A gateway over real HTTP, with a real Postgres and a real Redis."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import httpx2 as httpx
import pytest
import structlog
from sqlalchemy import Engine

from services.gateway.app import GatewayServer
from services.gateway.settings import HttpSettings, Settings
from shared import keys
from shared.contracts.keys import Scope
from shared.db import connect
from shared.llm.settings import ProviderSettings
from shared.settings import JobSettings, StoreSettings
from tests.support.servers import url_as
from tests.support.wait import until


@dataclass(frozen=True)
class Gateway:
    """A running gateway, and the database behind it as its owner sees it."""

    url: str
    engine: Engine
    settings: Settings

    def key(self, tenant: str, *scopes: Scope) -> str:
        with self.engine.begin() as connection:
            return keys.create(connection, tenant, "test", scopes or ("read", "write"))[1]

    def client(self, tenant: str = "acme", *scopes: Scope) -> httpx.Client:
        return self.client_of(self.key(tenant, *scopes))

    def client_of(self, key: str) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {key}"}, timeout=120)


@contextmanager
def serving(settings: Settings) -> Iterator[str]:
    """The URL of a gateway with these settings."""
    listener = socket.socket(proto=socket.IPPROTO_TCP)  # else answers wait 40 ms for an acknowledgement
    listener.bind(("127.0.0.1", 0))
    server = GatewayServer(replace(settings, jobs=settings.jobs.model_copy(update={"grace_seconds": 5})))
    thread = threading.Thread(target=asyncio.run, args=(server.serve(sockets=[listener]),), daemon=True)
    thread.start()
    until(lambda: server.started or not thread.is_alive(), "the start of the gateway")
    assert server.started
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


def settings_of(stores: StoreSettings) -> Settings:
    """Settings that take nothing from the environment of the test run."""
    return Settings(stores=stores, http=HttpSettings(), jobs=JobSettings(), providers=ProviderSettings({}))


@pytest.fixture(scope="session", autouse=True)
def quiet_logs() -> None:
    """Log lines go where pytest catches them, as they go to standard logging in production."""
    structlog.configure(
        processors=[structlog.stdlib.render_to_log_kwargs], logger_factory=structlog.stdlib.LoggerFactory()
    )


@pytest.fixture(scope="module")
def settings(stores: StoreSettings) -> Settings:
    """Those of a gateway that logs in as its role of Postgres: row-level security holds for it."""
    return settings_of(stores.model_copy(update={"database_url": url_as("gateway", stores.database_url)}))


@pytest.fixture(scope="module")
def gateway(settings: Settings, stores: StoreSettings) -> Iterator[Gateway]:
    engine = connect(stores.database_url)
    with serving(settings) as url:
        yield Gateway(url, engine, settings)
    engine.dispose()


@pytest.fixture(scope="module")
def client(gateway: Gateway) -> Iterator[httpx.Client]:
    """A client of the tenant ``acme`` that may read and write."""
    with gateway.client() as client:
        yield client


@pytest.fixture(scope="module")
def other(gateway: Gateway) -> Iterator[httpx.Client]:
    """A client of another tenant."""
    with gateway.client("other") as client:
        yield client


@pytest.fixture(scope="module")
def admin(gateway: Gateway) -> Iterator[httpx.Client]:
    with gateway.client("acme", "read", "write", "admin") as client:
        yield client


def with_http(settings: Settings, **changes: object) -> Settings:
    return replace(settings, http=HttpSettings.model_validate({**settings.http.model_dump(), **changes}))
