"""All packets between a worker and Postgres are dropped: its jobs are done by another, and it comes back."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from shared.db import connect
from shared.settings import StoreSettings
from tests.support.platform import Platform, check_history, wait_for

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow(seconds=8), pytest.mark.chaos]

_PORT = 5432
_FORWARD = f"""
import asyncio, sys
async def copy(source, target):
    while chunk := await source.read(65536):
        target.write(chunk)
        await target.drain()
    target.close()
async def serve(reader, writer):
    back, forth = await asyncio.open_unix_connection(sys.argv[2])
    await asyncio.gather(copy(reader, forth), copy(back, writer), return_exceptions=True)
async def main():
    server = await asyncio.start_server(serve, sys.argv[1], {_PORT})
    print("ready", flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


@dataclass
class Link:
    """A network namespace that forwards to Postgres, behind a cable of its own."""

    name: str
    url: str

    def set(self, state: str) -> None:
        """``down``: what is sent is dropped without notice to either side."""
        _ip("-n", self.name, "link", "set", f"{self.name}b", state)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def link(stores: StoreSettings) -> Iterator[Link]:
    chosen = secrets.randbelow(16_384)  # of those, networks of four addresses are in 198.18.0.0/16, never routed
    name, number = f"assay{chosen}", chosen * 4
    near, far = (f"198.18.{number // 256}.{number % 256 + end}" for end in (1, 2))
    url = make_url(stores.database_url)
    socket = f"{url.query['host']}/.s.PGSQL.{_PORT}"
    with ExitStack() as held:
        try:
            _ip("netns", "add", name)
            held.callback(_ip, "netns", "del", name)
            _ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", name)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("no network namespace can be made here")
        _ip("addr", "add", f"{near}/30", "dev", f"{name}a")
        _ip("-n", name, "addr", "add", f"{far}/30", "dev", f"{name}b")
        _ip("link", "set", f"{name}a", "up")
        _ip("-n", name, "link", "set", f"{name}b", "up")
        command = ["ip", "netns", "exec", name, sys.executable, "-c", _FORWARD, far, socket]
        forward = held.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
        held.callback(forward.kill)
        assert forward.stdout is not None
        assert forward.stdout.readline() == b"ready\n"
        away = url.set(host=far, port=_PORT, query={})
        yield Link(name, away.render_as_string(hide_password=False))


def test_a_worker_that_postgres_does_not_hear_loses_its_jobs_to_another(link: Link, stores: StoreSettings) -> None:
    platform = Platform(stores)
    try:
        platform.reconciler()
        platform.start("tests.support.worker_process", DATABASE_URL=link.url)
        platform.wait_all([platform.submit("effect")])
        jobs = platform.submit_all(["effect sleep 1"] * 8)
        wait_for(lambda: any(platform.job(each)["state"] == "running" for each in jobs), 60, "a job runs")
        link.set("down")
        other = platform.ready_worker()
        platform.wait_all(jobs, 120)
        assert max(platform.job(each)["attempt"] for each in jobs) > 1

        other.kill()
        other.wait()
        link.set("up")
        more = platform.submit_all(["effect"] * 4)
        platform.wait_all(more, 120)
        check_history(platform, [*jobs, *more])
    finally:
        platform.stop()


def test_a_statement_that_nobody_hears_ends(link: Link) -> None:
    """Without a limit of ours the kernel sends it again for a quarter of an hour."""
    engine = connect(link.url)
    connection = engine.connect()
    connection.execute(text("SELECT 1"))
    link.set("down")
    with pytest.raises(OperationalError):
        connection.execute(text("SELECT 1"))
    connection.close()
    engine.dispose()
