"""Postgres, Redis, an API key and processes of Assay, for as long as a benchmark runs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from migrations.upgrade import upgrade
from services.host.installation import free_port
from services.host.postgres import Postgres
from services.host.redis import Redis
from shared import keys
from shared.db import connect
from shared.settings import StoreSettings
from tests.support.platform import Platform
from tests.support.wait import until

ROOT = Path(__file__).resolve().parent.parent
_FOREIGN = ("ASSAY_", "DATABASE_URL", "REDIS_URL", "QDRANT_", "BLOB_URL", "ANTHROPIC_", "GROQ_", "CEREBRAS_", "OPENAI_")


@dataclass(frozen=True)
class Installation:
    folder: Path
    stores: StoreSettings
    key: str  #: may read and write
    environment: Mapping[str, str] = field(repr=False)

    @property
    def authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    @contextmanager
    def process(self, module: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
        """A process of Assay that is not waited for."""
        command = [sys.executable, "-m", module]
        environment = {**self.environment, **variables}
        process = subprocess.Popen(
            command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    @contextmanager
    def gateway(self, module: str = "services.gateway", **variables: str) -> Iterator[int]:
        """The port of a gateway that accepts connections."""
        port = free_port("127.0.0.1", 0)

        def accepts() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        with self.process(module, ASSAY_PORT=str(port), ASSAY_HOST="127.0.0.1", **variables):
            until(accepts, "a gateway", 30)
            yield port

    @contextmanager
    def platform(self) -> Iterator[Platform]:
        """Workers, and jobs submitted without a gateway."""
        platform = Platform(self.stores, lease_seconds=10)
        try:
            yield platform
        finally:
            platform.stop()


@contextmanager
def installation() -> Iterator[Installation]:
    """One with durable servers and without limits of requests; nothing of the caller's own installation is used."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with Postgres(folder / "pg") as postgres, Redis(folder / "redis") as redis:
            stores = StoreSettings(
                database_url=postgres.url_of("postgres"), redis_url=redis.url, blob_url=f"file://{folder}/blobs"
            )
            upgrade(stores.database_url)
            yield Installation(folder, stores, _key(stores.database_url), _environment(folder, stores))


def _key(database_url: str) -> str:
    engine = connect(database_url)
    with engine.begin() as connection:
        _, key = keys.create(connection, tenant="bench", name="bench", scopes=["read", "write", "admin"])
    engine.dispose()
    return key


def _environment(folder: Path, stores: StoreSettings) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return kept | {
        "ASSAY_HOME": str(folder),
        "ASSAY_REQUESTS_PER_MINUTE": "0",
        "BLOB_URL": stores.blob_url,
        "DATABASE_URL": stores.database_url,
        "PYTHONPATH": str(ROOT),
        "REDIS_URL": stores.redis_url,
    }
