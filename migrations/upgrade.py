"""Bring a database to the newest revision; two that try at once wait for each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import MappingProxyType

import psycopg

HERE = Path(__file__).parent


def upgrade(url: str, revision: str = "head", passwords: Mapping[str, str] = MappingProxyType({})) -> None:
    """Run every revision up to this one that ``url`` does not have yet, in one transaction.

    Where there are rows, it is two: what a revision needs beforehand has to find the tables of the one before it.
    ``passwords`` are those with which the services' roles log in (see ``migrations.roles``).
    """
    if not heads():
        return
    from alembic import command  # noqa: PLC0415 - half a second that a current database does not need
    from alembic.config import Config  # noqa: PLC0415

    from migrations import roles  # noqa: PLC0415
    from shared.db import connect  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(HERE).replace("%", "%%"))
    engine = connect(url)
    try:
        for target, beforehand in _stages(url, revision):
            with beforehand, engine.begin() as connection:
                # An index on a large table may take longer than any request may.
                connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
                config.attributes["connection"] = connection
                command.upgrade(config, target)
                roles.apply(connection)
                roles.allow_login(connection, passwords)
    finally:
        engine.dispose()


def _stages(url: str, revision: str) -> Iterator[tuple[str, AbstractContextManager[None]]]:
    """Where to stop, each with what is done before it; the next is asked for when the one before is there."""
    from migrations import keys_online, marks_online, online  # noqa: PLC0415

    if revision not in ("head", "0056", "0057"):
        yield revision, nullcontext()
        return
    if revision == "0056" or online.has_plain_events(url):
        yield "0056", online.events_looked_through(url)
    if revision == "0057" or (revision == "head" and keys_online.is_awaited(url)):
        yield "0057", keys_online.keys_prepared(url)
    if revision == "head":
        yield revision, marks_online.warnings_marked(url)


def current(url: str) -> bool:
    """Whether ``url`` already is at the newest revision."""
    newest = heads()
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            rows = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    except psycopg.errors.UndefinedTable:
        return not newest
    return {row[0] for row in rows} == newest


def heads() -> set[str]:
    """The revisions that no other follows, read from the files without importing them."""
    revisions: set[str] = set()
    followed: set[str] = set()
    for file in (HERE / "versions").glob("*.py"):
        text = file.read_text("utf-8")
        revisions |= set(re.findall(r"^revision\b[^=]*=\s*[\"']([^\"']+)", text, re.MULTILINE))
        followed |= set(re.findall(r"^down_revision\b[^=]*=\s*[\"']([^\"']+)", text, re.MULTILINE))
    return revisions - followed
