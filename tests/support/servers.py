"""A real Postgres and a real Redis for the tests, started once a run in a folder of their own.

- ``database_url``: a migrated database of the module's own (a copy of a template, so it costs little)
- ``redis_url``: the run's Redis, emptied before each module
- ``stores``: both, and a folder for blobs, as ``StoreSettings``

A test that kills servers makes its own: ``with Postgres(folder, durable=False) as pg`` or ``Redis(folder)``.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from migrations.upgrade import upgrade
from services.host.postgres import Postgres
from services.host.redis import Redis
from shared.settings import StoreSettings

_TEMPLATE = "migrated"


@pytest.fixture(scope="session")
def servers_folder() -> Iterator[Path]:
    """A short path that other users may pass through."""
    folder = Path(tempfile.mkdtemp(prefix="assay-test-", dir=_quickest()))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server(servers_folder: Path) -> Iterator[Postgres]:
    """The run's Postgres, with a migrated template database in it."""
    with Postgres(servers_folder / "postgres", durable=False) as server:
        _execute(server, f'CREATE DATABASE "{_TEMPLATE}"')
        upgrade(server.url_of(_TEMPLATE))
        yield server


@pytest.fixture(scope="session")
def redis_server(servers_folder: Path) -> Iterator[Redis]:
    with Redis(servers_folder / "redis", durable=False) as server:
        yield server


@pytest.fixture(scope="module")
def database_url(postgres_server: Postgres) -> Iterator[str]:
    """A migrated, empty database of the module's own."""
    name = f"test_{uuid.uuid4().hex}"
    _execute(postgres_server, f'CREATE DATABASE "{name}" TEMPLATE "{_TEMPLATE}"')
    yield postgres_server.url_of(name)
    _execute(postgres_server, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="module")
def redis_url(redis_server: Redis) -> str:
    """The run's Redis, empty."""
    redis_server.send("FLUSHALL")
    return redis_server.url


@pytest.fixture(scope="module")
def stores(database_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> StoreSettings:
    """Where everything is, as the settings of the processes."""
    blobs = tmp_path_factory.mktemp("blobs")
    return StoreSettings(database_url=database_url, redis_url=redis_url, blob_url=f"file://{blobs}", qdrant_url=None)


def _quickest() -> str:
    """Memory where there is plenty of it (a container often has 64 MB): databases are made and thrown away here."""
    memory = Path("/dev/shm")
    plenty = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 << 30
    return str(memory) if plenty else "/tmp"


def _execute(server: Postgres, statement: str) -> None:
    with psycopg.connect(server.url_of("postgres"), autocommit=True) as connection:
        connection.execute(statement.encode())
