"""A second Postgres that streams from the first, and can take its place."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import psycopg
from sqlalchemy.engine import make_url

from services.host import child
from services.host.postgres import Postgres


class Standby(Postgres):
    """A hot standby of ``primary``, which answers a commit once it is on both, while this one runs."""

    def __init__(self, folder: Path, primary: Postgres) -> None:
        super().__init__(folder)
        self._primary = primary

    def _init(self) -> None:
        source = f"host={_sockets(self._primary)} user=postgres"
        self.data.mkdir(mode=0o700)
        child.change_owner(self.data, self._user)
        words: list[str | Path] = ["-D", self.data, "-d", source, "-R", "-X", "stream", "-c", "fast", "--no-sync"]
        if self._spawn([self._bin / "pg_basebackup", *words]).wait() != 0:
            raise RuntimeError(f"no copy of the primary could be made: {self.log.read_text()[-500:]}")

    def follow(self) -> None:
        """Commits wait for this server from now on."""
        with psycopg.connect(self._primary.url_of("postgres"), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")

    def promote(self) -> None:
        """Be the primary; returns when it is one."""
        with psycopg.connect(self.url_of("postgres"), autocommit=True) as connection:
            assert connection.execute("SELECT pg_promote(true, 60)").fetchone() == (True,)


def either(database: str, *servers: Postgres) -> str:
    """The URL of whichever takes writes."""
    hosts = ",".join(_sockets(server) for server in servers)
    return f"postgresql://postgres@/{database}?host={quote(hosts, safe='/,')}&target_session_attrs=read-write"


def _sockets(server: Postgres) -> str:
    host = make_url(server.url_of("postgres")).query["host"]
    assert isinstance(host, str)
    return host
