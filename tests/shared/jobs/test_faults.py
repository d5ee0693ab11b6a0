"""Clocks jump, the disk of Postgres is full: every accepted job ends exactly once, and what is refused says why."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import httpx2 as httpx
import psycopg
import pytest
from sqlalchemy import text

from migrations.upgrade import upgrade
from services.host.environment import python_path
from services.host.postgres import DATABASE, Postgres
from shared import keys
from shared.settings import StoreSettings
from tests.support.platform import ROOT, Platform, check_history, wait_for
from tests.support.ports import free_port

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow(seconds=8), pytest.mark.chaos]

_FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
_DAY = 86_400
_DISK = 256 << 20


@pytest.fixture
def platform(stores: StoreSettings) -> Iterator[Platform]:
    started = Platform(stores, lease_seconds=20)
    yield started
    started.stop()


@pytest.mark.skipif(_FAKETIME is None, reason="libfaketime (Debian) is not installed")
def test_clocks_of_a_worker_and_a_reconciler_jump_to_and_fro(platform: Platform, tmp_path: Path) -> None:
    offset = tmp_path / "offset"
    offset.write_text("+0")
    faked = {
        **platform.environment,
        "PYTHONPATH": python_path(os.environ),
        "LD_PRELOAD": str(_FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }
    with ExitStack() as running:
        for module in ("tests.support.worker_process", "services.reconciler"):
            process = subprocess.Popen([sys.executable, "-P", "-m", module], env=faked, cwd=ROOT)
            running.callback(process.wait)
            running.callback(process.kill)
        platform.wait_all([platform.submit("effect")])
        jobs: list[str] = []
        for days in (1, -1, 400, 0):
            some = platform.submit_all(["effect sleep 0.3"] * 8, tenant_id="t")
            wait_for(partial(_has_begun, platform, some), 60, "a job begins")
            offset.write_text(f"{days * _DAY:+d}")
            assert abs(_clock(faked) - _clock({}) - days * _DAY) < _DAY / 2
            platform.wait_all(some, 120)
            jobs += some

    check_history(platform, jobs)
    assert {platform.job(each)["attempt"] for each in jobs} == {1}
    assert all(platform.job(each)["created_at"] <= platform.job(each)["finished_at"] for each in jobs)


def _has_begun(platform: Platform, jobs: Sequence[str]) -> bool:
    return any(platform.job(each)["state"] != "queued" for each in jobs)


def _clock(environment: Mapping[str, str]) -> float:
    command = [sys.executable, "-S", "-c", "import time; print(time.time())"]
    return float(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)


@pytest.fixture
def small_disk(redis_url: str) -> Iterator[tuple[Platform, Path]]:
    """A platform whose Postgres has a disk of its own, and that disk."""
    folder = Path(tempfile.mkdtemp(prefix="assay-full-", dir="/tmp"))
    with ExitStack() as held:
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK},mode=755", "none", str(folder)]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            pytest.skip("no file system can be mounted here")
        held.callback(subprocess.run, ["umount", "--lazy", str(folder)], check=True)
        postgres = held.enter_context(Postgres(folder / "p", durable=False))
        with psycopg.connect(postgres.url_of("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}".encode())
        upgrade(postgres.url)
        blobs = (folder / "blobs").as_uri()
        platform = Platform(StoreSettings(database_url=postgres.url, redis_url=redis_url, blob_url=blobs))
        held.callback(platform.stop)
        yield platform, folder


def _has_its_log(platform: Platform) -> bool:
    """Whether the last file of the log is there: Postgres makes it when it first writes to it, which may be late."""
    there = "SELECT count(*) FROM pg_ls_waldir() WHERE name = pg_walfile_name(pg_current_wal_insert_lsn())"
    with platform.engine.connect() as connection:
        return bool(connection.execute(text(there)).scalar_one())


def test_jobs_go_on_when_the_full_disk_of_postgres_has_space_again(small_disk: tuple[Platform, Path]) -> None:
    platform, folder = small_disk
    port = free_port()
    platform.gateway(port)
    platform.reconciler()
    platform.ready_worker()
    with platform.engine.begin() as connection:
        _, key = keys.create(connection, tenant="t", name="test", scopes=["read", "write"])
    headers = {"Authorization": f"Bearer {key}"}
    body = {"kind": "execute", "input": {"language": "python", "code": "effect sleep 0.2"}, "labels": {}}
    accepted: list[str] = []

    def submit() -> httpx.Response:
        answer = httpx.post(f"http://127.0.0.1:{port}/v1/jobs", json=body, headers=headers, timeout=30)
        if answer.status_code == 202:
            accepted.append(str(answer.json()["id"]))
        return answer

    with platform.engine.begin() as connection:
        connection.execute(text("SELECT pg_switch_wal()"))  # a log without space stops Postgres: it has 16 MB now
    assert submit().status_code == 202
    wait_for(partial(_has_its_log, platform), 60, "what was written last is in a file of the log")
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 20))
    refused = wait_for(lambda: answer if (answer := submit()).status_code != 202 else None, 120, "there is no space")
    assert refused.json()["code"] == "storage_full", refused.text
    filler.unlink()

    wait_for(lambda: submit().status_code == 202, 120, "jobs are accepted again")
    platform.wait_all(accepted, 120)
    check_history(platform, accepted)
