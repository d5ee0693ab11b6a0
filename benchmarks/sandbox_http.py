"""From an HTTP submit to the result of ``pass``, beside a bare interpreter: ``python -m benchmarks.sandbox_http``.

One client on the real gateway, with the real execution worker, Postgres and Redis behind it; ``Prefer: wait`` holds the
answer until the result is there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.load import post
from benchmarks.platform import gateway
from benchmarks.table import Line, at_most, median_us, show
from migrations.upgrade import upgrade
from services.host.postgres import Postgres
from services.host.redis import Redis
from shared import keys
from shared.settings import StoreSettings
from tests.support.platform import Platform, wait_for

_BODY = b'{"kind": "execute", "input": {"language": "python", "code": "pass"}}'
_TIMES = 100


def submit_to_result() -> Line:
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with Postgres(folder / "pg") as postgres, Redis(folder / "redis") as redis:
            database = postgres.url_of("postgres")
            upgrade(database)
            os.environ.update(DATABASE_URL=database, REDIS_URL=redis.url, BLOB_URL=f"file://{folder}/blobs")
            os.environ["ASSAY_REQUESTS_PER_MINUTE"] = "0"
            return _measured(Platform(StoreSettings(), lease_seconds=10))


def _measured(platform: Platform) -> Line:
    try:
        with platform.engine.begin() as connection:
            _, key = keys.create(connection, tenant="bench", name="bench", scopes=["read", "write"])
        platform.start("services.execution")

        def ready() -> bool:
            with platform.engine.connect() as asking:
                return bool(asking.exec_driver_sql("SELECT count(*) FROM workers").scalar_one())

        wait_for(ready, 90)
        request = post("/v1/jobs", _BODY, [f"Authorization: Bearer {key}", "Prefer: wait=10"])
        with gateway("services.gateway", key) as send:
            ours = send(request, total=_TIMES, connections=1, expect=200)
        bare = median_us(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 30) / 1000
        return at_most("HTTP submit of `pass` to its result, median", ours.median_ms, bare, "ms", 4)
    finally:
        platform.stop()


def main() -> None:
    show("execute over HTTP (peer: a bare python -c pass)", [submit_to_result()])


if __name__ == "__main__":
    main()
