"""A real Postgres for the run and a real Redis for each of its workers, started when a test first needs them.

- ``database_url``: a migrated database of the module's own (a copy of a template, so it costs little)
- ``redis_url``: the worker's Redis, emptied before each module (its channels know no databases, so it is not shared)
- ``stores``: both, and a folder for blobs, as ``StoreSettings``

A test that kills servers makes its own: ``with Postgres(folder, durable=False) as pg`` or ``Redis(folder)``.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from migrations import roles
from services.host.postgres import Postgres
from services.host.redis import Redis
from shared.settings import StoreSettings
from tests.support.keeper import TEMPLATE, run_folder, shared_postgres


@pytest.fixture(scope="session")
def servers_folder() -> Iterator[Path]:
    """A short path that other users may pass through."""
    folder = run_folder() / os.environ.get("PYTEST_XDIST_WORKER", "main")
    folder.mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> Postgres:
    """The Postgres of the whole run: what changes more than a database of its own needs another."""
    return shared_postgres()


@pytest.fixture(scope="session")
def redis_server(servers_folder: Path) -> Iterator[Redis]:
    with Redis(servers_folder / "redis", durable=False) as server:
        yield server


@pytest.fixture(scope="module")
def database_url(postgres_server: Postgres) -> Iterator[str]:
    """A migrated, empty database of the module's own."""
    name = f"test_{uuid.uuid4().hex}"
    _execute(postgres_server, f'CREATE DATABASE "{name}" TEMPLATE "{TEMPLATE}"')
    yield postgres_server.url_of(name)
    _execute(postgres_server, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="module")
def redis_url(redis_server: Redis) -> str:
    """The worker's Redis, empty."""
    redis_server.send("FLUSHALL")
    return redis_server.url


@pytest.fixture(scope="module")
def stores(database_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> StoreSettings:
    """Where everything is, as the settings of the processes."""
    blobs = tmp_path_factory.mktemp("blobs")
    return StoreSettings(database_url=database_url, redis_url=redis_url, blob_url=f"file://{blobs}", qdrant_url=None)


def url_as(service: str, database_url: str) -> str:
    """Return the URL with which a service logs in as its role."""
    url = make_url(database_url).set(username=roles.PREFIX + service)
    return url.render_as_string(hide_password=False)


def _execute(server: Postgres, statement: str) -> None:
    with psycopg.connect(server.url_of("postgres"), autocommit=True) as connection:
        connection.execute(statement.encode())
