"""When Postgres or Redis goes away: the right answer, soon, and everything continues when they are back."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx2 as httpx
import psycopg
import pytest

from migrations.upgrade import upgrade
from services.host.postgres import Postgres
from services.host.redis import Redis
from shared.db import connect
from shared.settings import JobSettings, StoreSettings
from tests.services.gateway import workers
from tests.services.gateway.conftest import Gateway, serving, settings_of
from tests.services.gateway.http.test_problems import EXECUTE, assert_problem
from tests.support.ports import free_port
from tests.support.wait import until


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[Gateway, Postgres, Redis]]:
    """A gateway with servers of its own, to be killed."""
    folder = Path(tempfile.mkdtemp(prefix="assay-out-", dir="/tmp"))
    folder.chmod(0o755)
    with Postgres(folder / "p", durable=False) as postgres, Redis(folder / "r", durable=False) as redis:
        with psycopg.connect(postgres.url_of("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE assay")
        upgrade(postgres.url)
        stores = StoreSettings(
            database_url=postgres.url, redis_url=redis.url, blob_url=(tmp_path / "b").as_uri(), qdrant_url=None
        )
        engine = connect(postgres.url)
        settings = replace(settings_of(stores), jobs=JobSettings(metrics_port=free_port()))
        with serving(settings) as url:
            yield Gateway(url, engine, settings), postgres, redis
        engine.dispose()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.chaos
@pytest.mark.slow
def test_postgres_and_redis_go_away_and_come_back(servers: tuple[Gateway, Postgres, Redis]) -> None:
    gateway, postgres, redis = servers
    with gateway.client("acme") as client:
        workers.advertise(gateway.engine)
        assert client.post("/v1/jobs", json=EXECUTE).status_code == 202
        redis.stop()
        answer = client.post("/v1/jobs", json=EXECUTE, headers={"Idempotency-Key": "r"})
        assert answer.status_code == 202
        assert client.get("/readyz").status_code == 200
        accepted = answer.json()["id"]
        postgres.stop()
        for method, path in (
            ("POST", "/v1/jobs"),
            ("GET", "/v1/jobs"),
            ("GET", "/readyz"),
            ("GET", f"/v1/jobs/{accepted}"),
        ):
            answer = client.request(method, path, json=EXECUTE if method == "POST" else None)
            assert_problem(answer, 503, "database_unavailable")
            assert int(answer.headers["retry-after"]) >= 1
        assert_problem(client.post("/v1/files?name=a", content=b"a"), 503, "database_unavailable")
        assert client.get("/healthz").status_code == 200
        numbers = httpx.get(f"http://127.0.0.1:{gateway.settings.jobs.metrics_port}/metrics")
        assert numbers.status_code == 200
        assert "http_server_request_duration_seconds" in numbers.text
        assert "job_queue_depth" not in numbers.text
        postgres.start()
        redis.start()
        until(lambda: client.get("/v1/jobs").status_code == 200, "an answer after the restart")
        again = client.post("/v1/jobs", json=EXECUTE, headers={"Idempotency-Key": "r"})
        assert again.headers["idempotency-replayed"] == "true"
        assert again.json()["id"] == accepted
        assert len(client.get("/v1/jobs").json()["items"]) == 2


@pytest.mark.chaos
@pytest.mark.slow
def test_readiness_names_a_frozen_redis_and_a_read_only_postgres(servers: tuple[Gateway, Postgres, Redis]) -> None:
    gateway, postgres, redis = servers
    assert redis.pid is not None

    def states() -> dict[str, str]:
        answer = client.get("/readyz")
        assert answer.status_code == 200
        return {name: each["state"] for name, each in answer.json()["dependencies"].items()}

    with gateway.client("acme") as client:
        workers.advertise(gateway.engine)
        assert states() == {"postgres": "ok", "redis": "ok", "files": "ok"}
        assert client.get("/readyz").json()["status"] == "ok"
        os.kill(redis.pid, signal.SIGSTOP)
        try:
            until(lambda: states()["redis"] == "degraded", "the frozen Redis is named", 30)
            answer = client.get("/readyz").json()
            assert answer["status"] == "degraded"
            assert "Redis does not answer" in answer["dependencies"]["redis"]["reason"]
            kinds = client.get("/v1/capabilities").json()["kinds"].values()
            assert "degraded" in {kind["state"] for kind in kinds}
            text = httpx.get(f"http://127.0.0.1:{gateway.settings.jobs.metrics_port}/metrics").text
            assert 'dependency_up{dependency="redis"} 0.0' in text
        finally:
            os.kill(redis.pid, signal.SIGCONT)
        until(lambda: states()["redis"] == "ok", "Redis answers again", 30)
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET default_transaction_read_only = on")
            connection.execute("SELECT pg_reload_conf()")
        until(lambda: states()["postgres"] == "degraded", "the read-only Postgres is named", 30)
        assert "read-only" in client.get("/readyz").json()["dependencies"]["postgres"]["reason"]


@pytest.mark.chaos
@pytest.mark.slow
def test_no_request_waits_for_a_frozen_redis(servers: tuple[Gateway, Postgres, Redis]) -> None:
    gateway, _, redis = servers
    pid = redis.pid
    assert pid is not None
    with gateway.client("acme") as client:
        os.kill(pid, signal.SIGSTOP)
        try:
            assert client.post("/v1/jobs", json=EXECUTE).status_code == 202
            assert client.get("/v1/jobs").status_code == 200
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.chaos
@pytest.mark.slow
def test_a_frozen_postgres_answers_503(servers: tuple[Gateway, Postgres, Redis]) -> None:
    gateway, postgres, _ = servers
    assert postgres.pid is not None
    with gateway.client("acme") as client:
        assert client.get("/v1/jobs").status_code == 200
        backends = [int(pid) for pid in Path(f"/proc/{postgres.pid}/task/{postgres.pid}/children").read_text().split()]
        for pid in (postgres.pid, *backends):
            os.kill(pid, signal.SIGSTOP)
        try:
            with suppress(httpx.TimeoutException):  # a statement that was sent in the very moment hangs with it
                client.get("/readyz", timeout=1)
            assert_problem(client.get("/readyz", timeout=30), 503, "database_unavailable")
            assert_problem(client.post("/v1/jobs", json=EXECUTE, timeout=30), 503, "database_unavailable")
        finally:
            for pid in (postgres.pid, *backends):
                os.kill(pid, signal.SIGCONT)
        until(lambda: client.post("/v1/jobs", json=EXECUTE).status_code == 202, "an accepted job")


@pytest.mark.chaos
@pytest.mark.slow
def test_connections_from_before_a_restart_of_postgres_are_not_used(
    servers: tuple[Gateway, Postgres, Redis],
) -> None:
    gateway, postgres, _ = servers
    with gateway.client("acme") as client:
        assert client.get("/v1/jobs").status_code == 200
        postgres.stop()
        assert client.get("/readyz").status_code == 503
        postgres.start()
        # The pool is full of connections to the server that was: none of them is handed to a request.
        until(lambda: client.get("/readyz").status_code == 200, "readiness")
        assert client.get("/v1/jobs").status_code == 200


@pytest.mark.chaos
@pytest.mark.slow
def test_a_key_is_not_accepted_while_postgres_is_away(servers: tuple[Gateway, Postgres, Redis]) -> None:
    gateway, postgres, _ = servers
    key = gateway.key("acme")
    postgres.stop()
    answer = httpx.get(f"{gateway.url}/v1/jobs", headers={"Authorization": f"Bearer {key}"})
    assert_problem(answer, 503, "database_unavailable")
