"""Bring a database to the newest revision; two that try at once wait for each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from sqlalchemy import Connection

HERE = Path(__file__).parent
REVISIONS = HERE / "versions"


def upgrade(url: str, passwords: Mapping[str, str] = MappingProxyType({})) -> None:
    """Run every revision that ``url`` does not have yet, in one transaction.

    ``passwords`` are those with which the services' roles log in (see ``migrations.roles``).
    """
    if not heads():
        return
    with migrating(url) as connection:
        migrate(connection, passwords=passwords)


@contextmanager
def migrating(url: str) -> Iterator[Connection]:
    """Open the transaction of a migration."""
    from shared.db import connect  # noqa: PLC0415 - SQLAlchemy, which a current database does not need

    engine = connect(url)
    try:
        with engine.begin() as connection:
            # An index on a large table may take longer than any request may.
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            yield connection
    finally:
        engine.dispose()


def migrate(
    connection: Connection, revision: str = "head", passwords: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Run the revisions up to this one in the connection's transaction."""
    from alembic import command  # noqa: PLC0415 - half a second that a current database does not need
    from alembic.config import Config  # noqa: PLC0415

    from migrations import roles  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(HERE).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
    roles.apply(connection)
    roles.allow_login(connection, passwords)


def current(url: str) -> bool:
    """Return whether ``url`` is at the newest revision."""
    newest = heads()
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            rows = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    except psycopg.errors.UndefinedTable:
        return not newest
    return {row[0] for row in rows} == newest


def heads() -> set[str]:
    """Return the revisions that no other follows, read from the files without importing them."""
    revisions: set[str] = set()
    followed: set[str] = set()
    for file in REVISIONS.glob("*.py"):
        text = file.read_text("utf-8")
        revisions |= set(re.findall(r"^revision\b[^=]*=\s*[\"']([^\"']+)", text, re.MULTILINE))
        followed |= set(re.findall(r"^down_revision\b[^=]*=\s*[\"']([^\"']+)", text, re.MULTILINE))
    return revisions - followed
