"""A gateway that is killed while it takes or refuses bad input: nothing of that input is kept."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event

import httpx2 as httpx
import pytest
from sqlalchemy import text

from shared import blobs, keys
from shared.settings import StoreSettings
from tests.support.platform import Platform, wait_for
from tests.support.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
REFUSED = [
    {"kind": "document", "input": {"markdown": "&[n]{int max=3}\n", "parameters": {"n": 4}}},
    {"kind": "document", "input": {"markdown": "---\nparams: {n: 1}\n---\n", "parameters": {"other": 1}}},
    {"kind": "ingest", "input": {"collection": "none", "table": "t", "records": [{"id": "a"}, 5]}},
    {"kind": "ingest", "input": {"collection": "none", "table": "t", "records": list(range(5000))}},
    {"kind": "execute", "input": {"language": "cobol", "code": "x"}},
]


@pytest.fixture
def platform(stores: StoreSettings) -> Iterator[Platform]:
    started = Platform(stores)
    yield started
    started.stop()


def key_of(platform: Platform) -> str:
    with platform.engine.begin() as connection:
        return keys.create(connection, tenant="t", name="test", scopes=["read", "write"])[1]


def rows(platform: Platform, table: str) -> int:
    with platform.engine.connect() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


def test_half_an_upload_leaves_nothing(platform: Platform, stores: StoreSettings) -> None:
    folder = Path(stores.blob_url.removeprefix("file://"))
    port, key, files = free_port(), key_of(platform), rows(platform, "files")
    for size in (100_000, 12_000_000, 40_000_000):
        running = platform.gateway(port)
        head = (
            f"POST /v1/files?name=half HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: text/csv\r\nContent-Length: {2 * size}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(head.encode() + b"x" * size)
            if size > 10_000_000:  # less is not on disk before the end
                wait_for(lambda: any(path.is_file() for path in folder.rglob("*")), 60, "a part of the upload")
            running.kill()
            running.wait()
    assert rows(platform, "files") == files
    blobs.sweep(blobs.open_store(stores.blob_url), datetime.now(UTC) + timedelta(hours=1), lambda hashes: set())
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_what_is_refused_while_gateways_are_killed_leaves_nothing(platform: Platform) -> None:
    port, key = free_port(), key_of(platform)
    before = {table: rows(platform, table) for table in ("jobs", "job_events", "conversations", "files")}
    running, over, answers = [platform.gateway(port)], Event(), count()
    refused: list[int] = []

    def submit(number: int) -> None:
        while not over.is_set():
            headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": f"key-{next(answers)}"}
            with suppress(httpx.HTTPError):
                body = REFUSED[number % len(REFUSED)]
                refused.append(api.post("/v1/jobs", json=body, headers=headers).status_code)

    at = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=at) as api, ThreadPoolExecutor(len(REFUSED)) as clients:
        asked = [clients.submit(submit, number) for number in range(len(REFUSED))]
        try:
            for least in (30, 60, 90):
                wait_for(partial(lambda least: len(refused) >= least, least), 120, f"{least} refusals")
                running[-1].kill()
                running[-1].wait()
                running.append(platform.gateway(port))
        finally:
            over.set()
        for each in asked:
            each.result(timeout=60)
    assert set(refused) <= {404, 422}
    assert {table: rows(platform, table) for table in before} == before
