"""The embedded servers are real ones: they keep what they have to keep, and they end with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from celery import Celery
from redis import Redis as SyncRedis
from redis.exceptions import AuthenticationError, NoPermissionError

from services.host.folder import alive
from services.host.postgres import Postgres
from services.host.redis import Redis
from services.host.server import socket_folder
from shared.redis_urls import broker
from tests.support.wait import until

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_a_cluster_keeps_its_rows_over_a_stop_and_a_crash(servers_folder: Path) -> None:
    server = Postgres(servers_folder / "kept")
    server.start()
    with psycopg.connect(server.url_of("postgres")) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        connection.execute("INSERT INTO kept VALUES (42)")
    server.kill()
    server.start()
    server.stop()
    server.start()
    with psycopg.connect(server.url_of("postgres")) as connection:
        assert connection.execute("SELECT n FROM kept").fetchall() == [(42,)]
    server.stop()
    assert not server.running


@pytest.mark.slow
def test_a_cluster_with_a_password_trusts_nobody_and_one_that_trusted_is_closed(servers_folder: Path) -> None:
    folder = servers_folder / "passwords"
    with Postgres(folder, durable=False) as trusting, psycopg.connect(trusting.url_of("postgres")) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        anybody = trusting.url_of("postgres")
    with Postgres(folder, durable=False, password="first") as server:
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(anybody)
        with psycopg.connect(server.url_of("postgres")) as connection:
            assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)
    with Postgres(folder, durable=False, password="second") as server:
        with psycopg.connect(server.url_of("postgres")):
            pass
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(server.url_of("postgres", password="first"))


def test_redis_with_passwords_admits_its_users_only_and_lets_none_administer(servers_folder: Path) -> None:
    with Redis(servers_folder / "guarded", durable=False, passwords={"gateway": "p@ss/word"}) as server:
        with SyncRedis.from_url(server.url) as stranger, pytest.raises(AuthenticationError):
            stranger.get("assay:llm:x")
        with SyncRedis.from_url(server.url_of("gateway")) as ours:
            assert ours.set("assay:llm:x", "1")
            for command in ("FLUSHALL", "CONFIG GET dir", "ACL LIST", "SHUTDOWN", "KEYS *"):
                with pytest.raises(NoPermissionError):
                    ours.execute_command(command)
        with Celery(broker=broker(server.url_of("gateway")).url).connection() as connection:
            connection.ensure_connection(max_retries=1)


def test_a_cluster_never_runs_as_root(postgres_server: Postgres) -> None:
    with psycopg.connect(postgres_server.url_of("postgres")) as connection:
        pid = connection.info.backend_pid
        if os.geteuid() == 0:
            assert Path(f"/proc/{pid}").stat().st_uid != 0


@pytest.mark.slow
def test_a_half_made_cluster_is_made_anew(servers_folder: Path) -> None:
    folder = servers_folder / "half"
    (folder / "data.making").mkdir(parents=True)
    (folder / "data.making" / "PG_VERSION").write_text("18")
    with Postgres(folder, durable=False) as server, psycopg.connect(server.url_of("postgres")) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.slow
def test_a_pid_file_that_names_a_stranger_is_no_obstacle(servers_folder: Path) -> None:
    server = Postgres(servers_folder / "stale", durable=False)
    server.start()
    server.stop()
    (server.data / "postmaster.pid").write_text(f"{os.getpid()}\n{server.data}\n")
    server.start()
    assert server.is_ready()
    assert server.pid != os.getpid()
    server.stop()


@pytest.mark.slow
def test_servers_run_below_a_long_and_closed_folder(servers_folder: Path) -> None:
    closed = servers_folder / "closed"
    closed.mkdir(mode=0o700)
    deep = closed / ("x" * 90)
    with Redis(deep / "redis") as redis, Postgres(deep / "pg", durable=False) as server:
        assert redis.send("PING") == "+PONG"
        with psycopg.connect(server.url_of("postgres")) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        sockets = Path(redis.url.removeprefix("unix://")).parent
        assert sockets.parent == Path("/tmp")
    assert not sockets.exists()


@pytest.mark.slow
def test_a_killed_redis_starts_again_with_what_was_on_the_disk_or_empty(servers_folder: Path) -> None:
    for durable, left in ((True, "$5"), (False, "$-1")):
        with Redis(servers_folder / f"redis-{durable}", durable=durable) as server:
            server.send("SET word hello")
            if durable:
                server.stop()
            server.kill()
            server.start()
            assert server.send("GET word") == left


def test_a_socket_name_that_somebody_else_took_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("y" * 100)
    folder = socket_folder(long, "s")
    folder.rmdir()
    folder.symlink_to(tmp_path)
    try:
        with pytest.raises(RuntimeError, match="another user"):
            socket_folder(long, "s")
    finally:
        folder.unlink()


@pytest.mark.slow
def test_servers_end_when_their_parent_is_killed(servers_folder: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path\n"
        "from services.host.postgres import Postgres; from services.host.redis import Redis\n"
        "folder = Path(sys.argv[1])\n"
        "pg, redis = Postgres(folder / 'pg', durable=False), Redis(folder / 'redis')\n"
        "pg.start(); redis.start(); print(pg.pid, redis.pid, flush=True); time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(servers_folder / "orphans")], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    until(lambda: not any(alive(pid) for pid in pids), "both servers are gone")
