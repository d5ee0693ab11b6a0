"""From an HTTP request to a detection's result, beside the same detection in this process: ``python -m benchmarks.stacks_http``.

What is subtracted as the queue is a round trip of the same job whose answer is known already: submit, claim, look-up,
completion and the way back, without a detection.
"""

from __future__ import annotations

import gc
import gzip
import io
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx

from benchmarks.stacks import large_tree, packed_sources, small_trees
from benchmarks.table import Line, at_most, show
from migrations.upgrade import upgrade
from services.host.postgres import Postgres
from services.host.redis import Redis
from services.stacks.engine import Engine, Options
from services.stacks.selector import ArchiveSelector
from services.stacks.sources.archive import open_archive
from services.stacks.sources.collector import Limits
from services.stacks.sources.local import open_folder
from shared import keys
from shared.db import connect
from shared.settings import StoreSettings
from tests.services.stacks.archives import tar
from tests.support.platform import Platform, wait_for

_TURNS = 15


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with Postgres(folder / "pg") as postgres, Redis(folder / "redis") as redis:
            lines = measure(folder, postgres.url_of("postgres"), redis.url)
    show("detect over HTTP, without the queue, and in this process", lines)


def measure(folder: Path, database_url: str, redis_url: str) -> list[Line]:
    upgrade(database_url)
    os.environ.update(
        DATABASE_URL=database_url, REDIS_URL=redis_url, BLOB_URL=f"file://{folder}/blobs",
        ASSAY_REQUESTS_PER_MINUTE="0",
    )  # fmt: skip
    database = connect(database_url)
    with database.begin() as connection:
        _, key = keys.create(connection, tenant="bench", name="bench", scopes=["read", "write"])
    platform = Platform(StoreSettings(), lease_seconds=10)
    try:
        platform.start("services.stacks")
        with _gateway() as url, httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}) as client:
            return list(_lines(client, folder))
    finally:
        platform.stop()
        database.dispose()


def _lines(client: httpx.Client, folder: Path) -> Iterator[Line]:
    engine = Engine()
    gc.freeze()
    small = small_trees(folder / "small")[0]
    packed = gzip.compress(
        tar({str(path.relative_to(small)): path.read_bytes() for path in small.rglob("*") if path.is_file()})
    )
    yield _line("an archive of 38 files", client, _upload(client, packed), _archive(engine, packed))
    large_tree(folder / "large", 20)
    source = {"path": str(folder / "large")}
    yield _line(
        "a folder of 10,000 files", client, source, lambda: engine.detect(open_folder(folder / "large", 20_000))
    )
    body = packed_sources()
    yield _line(f"an archive of {len(body) >> 20} MB", client, _upload(client, body), _archive(engine, body), turns=3)


def _archive(engine: Engine, body: bytes) -> Callable[[], object]:
    return lambda: engine.detect(open_archive(io.BytesIO(body), ArchiveSelector(engine.tables), Limits()), Options())


def _upload(client: httpx.Client, body: bytes) -> dict[str, str]:
    return {"file_id": client.post("/v1/files", params={"name": "x"}, content=body, timeout=60).json()["id"]}


def _line(
    what: str, client: httpx.Client, source: dict[str, str], run: Callable[[], object], turns: int = _TURNS
) -> Line:
    known = client.post("/v1/files", params={"name": "x"}, content=gzip.compress(tar({"go.mod": "module x\n"}))).json()
    _asked(client, {"file_id": known["id"]}, "")
    run()
    alone, whole, queue = [], [], []
    for turn in range(turns):  # in turns, so that a busy moment of the machine falls on all three
        alone.append(_taken(run))
        whole.append(_taken(lambda turn=turn: _asked(client, source, f"user.turn{turn}")))  # type: ignore[misc]
        queue.append(_taken(lambda: _asked(client, {"file_id": known["id"]}, "")))
    waited = statistics.median(queue)
    said = f"{what} (the queue: {waited:.1f} ms)"
    return at_most(said, statistics.median(whole) - waited, statistics.median(alone), "ms", 1.5)


def _asked(client: httpx.Client, source: dict[str, str], disable: str) -> None:
    """A job; what it disables makes it another job than the one before."""
    input = {"source": source, "mode": "static", "disable": [disable] if disable else []}
    headers = {"Prefer": "wait=60", "Content-Type": "application/json"}
    answer = client.post(
        "/v1/jobs", content=json.dumps({"kind": "detect", "input": input}), headers=headers, timeout=90
    )  # fmt: skip
    assert answer.status_code == 200, answer.text
    assert answer.json()["state"] == "succeeded", answer.text


def _taken(work: Callable[[], object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


@contextmanager
def _gateway() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "ASSAY_PORT": str(port), "ASSAY_HOST": "127.0.0.1", "ASSAY_EMBEDDED": "true"}
    process = subprocess.Popen(
        [sys.executable, "-m", "services.gateway"], env=environment, stderr=subprocess.DEVNULL
    )  # fmt: skip

    def accepts() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_for(accepts, 30)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
