"""Redis with TLS and users, and with Sentinels that name another primary: notifications come through."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from redis.exceptions import RedisError

from services.host.redis import program
from shared.jobs.delivery import notifications
from shared.redis_urls import client
from shared.settings import StoreSettings
from tests.support.platform import Platform, wait_for
from tests.support.ports import free_port

pytestmark = [pytest.mark.slow(seconds=10), pytest.mark.chaos, pytest.mark.timeout(200)]


@contextmanager
def server(
    binary: str | Path, folder: Path, port: int, *words: str, config: str = ""
) -> Iterator[subprocess.Popen[bytes]]:
    """A Redis server, or a Sentinel, with these options, when it listens."""
    folder.mkdir()
    file = folder / "redis.conf"
    file.write_text(f"dir {folder}\nsave ''\nbind 127.0.0.1\nprotected-mode no\n{config}")
    process = subprocess.Popen([binary, str(file), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def listens() -> bool:
        with socket.socket() as probe:
            return process.poll() is not None or probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_for(listens, 30, "the server listens")
        assert process.poll() is None, "the server has ended"
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def jobs_over(stores: StoreSettings, url: str) -> Iterator[tuple[Platform, str]]:
    """Gateway, reconciler and worker with this REDIS_URL; and the gateway's URL."""
    platform = Platform(stores.model_copy(update={"redis_url": url}))
    try:
        port = free_port()
        platform.reconciler()
        platform.ready_worker()
        platform.gateway(port)
        yield platform, f"http://127.0.0.1:{port}"
    finally:
        platform.stop()


def carries(platform: Platform) -> bool:
    """Whether a worker takes notifications from the server: it would find the jobs without them, too."""
    with suppress(RedisError):
        notifications.notify(platform.redis, "execute", "nobody")
        return taken(platform)
    return False


def taken(platform: Platform) -> bool:
    def is_empty() -> bool:
        with suppress(RedisError):
            return platform.redis.llen(notifications.queue_name("execute")) == 0
        return False

    with suppress(AssertionError, TimeoutError):
        wait_for(is_empty, 5, "the notification is taken")
        return True
    return False


def redis_state(base: str) -> str:
    return str(httpx.get(f"{base}/readyz", timeout=30).json()["dependencies"]["redis"]["state"])


def test_tls_and_users(stores: StoreSettings, tmp_path: Path) -> None:
    binary = shutil.which("redis-server")
    if binary is None or shutil.which("openssl") is None:
        if os.environ.get("CI") == "true" and os.geteuid() == 0 and shutil.which("apt-get"):
            pytest.fail("redis-server is missing: run scripts/install-optional")
        pytest.skip("redis-server with TLS, or openssl, is not installed here; scripts/install-optional installs them")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    port = free_port()
    config = (
        f"port 0\ntls-port {port}\ntls-cert-file {certificate}\ntls-key-file {key}\ntls-ca-cert-file {certificate}\n"
        "tls-auth-clients no\nuser default off\nuser assay on >secret ~* &* +@all -@admin -@dangerous +info\n"
    )
    with server(binary, tmp_path / "redis", port, config=config):
        url = f"rediss://assay:secret@localhost:{port}/0?ssl_ca_certs={certificate}"
        with jobs_over(stores, url) as (platform, base):
            assert carries(platform)
            wait_for(lambda: redis_state(base) == "ok", 30, "the gateway has it")
        for wrong in (
            f"rediss://assay:secret@localhost:{port}/0",  # an unknown authority
            f"rediss://assay:secret@127.0.0.1:{port}/0?ssl_ca_certs={certificate}",  # another name
            f"rediss://assay:wrong@localhost:{port}/0?ssl_ca_certs={certificate}",
            f"redis://assay:secret@localhost:{port}/0",
        ):
            with pytest.raises((RedisError, OSError)):
                client(wrong, socket_timeout=2, retry=None).ping()


def test_a_replica_takes_the_place_of_its_primary(stores: StoreSettings, tmp_path: Path) -> None:
    first, second, watcher = (free_port() for _ in range(3))
    with ExitStack() as held:
        primary = held.enter_context(server(program(), tmp_path / "a", first, config=f"port {first}\n"))
        replica = f"port {second}\nreplicaof 127.0.0.1 {first}\n"
        held.enter_context(server(program(), tmp_path / "b", second, config=replica))
        watched = (
            f"port {watcher}\nsentinel monitor main 127.0.0.1 {first} 1\nsentinel down-after-milliseconds main 1000\n"
            "sentinel failover-timeout main 5000\n"
        )
        held.enter_context(server(program(), tmp_path / "s", watcher, "--sentinel", config=watched))
        sentinel: Any = client(f"redis://127.0.0.1:{watcher}", decode_responses=True)
        held.callback(sentinel.close)

        def primary_port() -> int:
            return int(sentinel.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main")[1])

        def replicas() -> int:
            return len(sentinel.execute_command("SENTINEL", "REPLICAS", "main"))

        wait_for(lambda: replicas() == 1, 30, "the Sentinel knows the replica")
        with jobs_over(stores, f"redis+sentinel://127.0.0.1:{watcher}/main/0") as (platform, base):
            assert carries(platform)
            primary.kill()
            while_away = platform.submit("effect", notify=False)
            wait_for(lambda: primary_port() == second, 60, "the replica is the primary")
            wait_for(lambda: carries(platform), 60, "notifications come through again")
            wait_for(lambda: redis_state(base) == "ok", 30, "the gateway has found it")
            platform.wait_all([while_away, platform.submit("effect")])
