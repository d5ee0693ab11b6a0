"""Processes of the version that landed last are replaced under load: no request fails, and no job begins twice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import httpx2 as httpx
import psycopg
import pytest
from sqlalchemy import text

from migrations.upgrade import upgrade
from services.host.postgres import DATABASE, Postgres
from shared.settings import StoreSettings
from tests.support import older
from tests.support.platform import Platform, check_history, wait_for
from tests.support.serving import Serving, clients

pytestmark = [pytest.mark.slow(seconds=30), pytest.mark.chaos, pytest.mark.timeout(300)]

_LANDED = "e0235136555c"  #: what was on main last, of 2026-11-26; take a newer one when libraries part


class Landed:
    """A platform whose tables and processes are of the commit that landed last, until they are replaced."""

    def __init__(self, code: Path, stores: StoreSettings, held: ExitStack) -> None:
        self._code = code
        self._held = held
        environment = {**os.environ, "DATABASE_URL": stores.database_url}
        assert older.start(code, "migrations", environment).wait(120) == 0
        self.platform = Platform(stores, lease_seconds=30, grace_seconds=20)
        held.callback(self.platform.stop)

    def start(self, module: str, **variables: str) -> subprocess.Popen[bytes]:
        process = older.start(self._code, module, {**self.platform.environment, **variables})
        self._held.callback(process.wait)
        self._held.callback(process.kill)
        return process

    def gateway(self, port: int) -> subprocess.Popen[bytes]:
        """One that is ready."""
        process = self.start("services.gateway", ASSAY_PORT=str(port), ASSAY_HOST="127.0.0.1")
        wait_for(partial(_answers, f"http://127.0.0.1:{port}/healthz"), 60, "a gateway of the version before")
        return process

    def ready_worker(self) -> subprocess.Popen[bytes]:
        worker = self.start("tests.support.worker_process")
        said = text("SELECT 1 FROM workers WHERE split_part(id, ':', 2) = :pid")

        def listens() -> bool:
            with self.platform.engine.connect() as connection:
                return connection.execute(said, {"pid": str(worker.pid)}).first() is not None

        wait_for(listens, 60, "a worker of the version before")
        return worker


def _answers(url: str) -> bool:
    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def landed(servers_folder: Path, redis_url: str) -> Iterator[Landed]:
    code = servers_folder / "landed"
    code.mkdir()
    older.unpack(code, _LANDED, "tests/__init__.py", "tests/support")
    with ExitStack() as held:
        held.callback(shutil.rmtree, code)
        postgres = held.enter_context(Postgres(servers_folder / "landed-p", durable=False))
        with psycopg.connect(postgres.url_of("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}".encode())
        blobs = (servers_folder / "landed-b").as_uri()
        yield Landed(code, StoreSettings(database_url=postgres.url, redis_url=redis_url, blob_url=blobs), held)


def test_the_version_before_is_replaced_under_load(landed: Landed) -> None:
    """As Kubernetes does it: the tables first, under the old processes; then two gateways and the workers, in turn."""
    platform = landed.platform
    workers = [landed.ready_worker(), landed.ready_worker()]
    reconciler = landed.start("services.reconciler")
    serving = Serving()
    serving.add(landed.gateway)
    serving.add(landed.gateway)
    with clients(platform, serving) as at_work:
        at_work.go_on()
        upgrade(platform.stores.database_url)
        at_work.go_on()
        platform.ready_worker()
        serving.replace_oldest(platform.gateway)
        at_work.go_on()  # both versions side by side
        workers.pop().send_signal(signal.SIGTERM)
        serving.replace_oldest(platform.gateway)
        platform.reconciler()
        reconciler.send_signal(signal.SIGTERM)
        last = workers.pop()
        last.send_signal(signal.SIGTERM)
        assert last.wait(30) == 0
        at_work.go_on()
    platform.wait_all(at_work.ids)
    check_history(platform, at_work.ids)
    assert {platform.job(id)["attempt"] for id in at_work.ids} == {1}
