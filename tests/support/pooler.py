"""A real PgBouncer in transaction mode, in front of the run's Postgres."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from tests.support.ports import free_port
from tests.support.wait import until

_USERS = ("postgres", "assay_gateway", "assay_execution", "assay_reconciler")


def pgbouncer() -> str:
    """The program; without it the test is skipped, and fails in CI, which installs it."""
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if found is None and os.environ.get("CI") == "true" and os.geteuid() == 0 and shutil.which("apt-get"):
        pytest.fail("PgBouncer is missing: run scripts/install-optional")
    return found or pytest.skip("PgBouncer is not installed here; scripts/install-optional installs it")


@contextmanager
def pooler(database_url: str, folder: Path, connections: int, passwords: Mapping[str, str]) -> Iterator[str]:
    """Its URL for the owner of the same database; each user shares ``connections`` of the server."""
    program = pgbouncer()
    direct, port = make_url(database_url), free_port()
    folder.mkdir()
    users, settings = folder / "users.txt", folder / "pgbouncer.ini"
    users.write_text("".join(f'"{user}" "{passwords.get(user, "")}"\n' for user in _USERS))
    settings.write_text(
        f"""
[databases]
{direct.database} = host={direct.query["host"]}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 500
ignore_startup_parameters = options,extra_float_digits
"""
    )
    command = [program, "-q", str(settings)]
    if os.geteuid() == 0:  # it refuses to be root, and the socket is for the server's user
        for path in (folder, users, settings):
            path.chmod(0o755)
        command[1:1] = ["-u", "nobody"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: process.poll() is not None or _listens(port), "PgBouncer listens")
        assert process.poll() is None, "PgBouncer has ended"
        yield f"postgresql://postgres@127.0.0.1:{port}/{direct.database}"
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
