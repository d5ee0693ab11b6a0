"""Prepare the database of an installation: create it, migrate it, and make the local API key work.

``python -m services.host.bootstrap`` is a separate process, so that the supervisor stays small. It changes nothing
where the database is ready.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psycopg
from psycopg import sql

from migrations.roles import passwords_of
from migrations.steps import Refused, check_step, remember, remembered
from migrations.upgrade import current, upgrade
from services.host import search_store
from services.host.folder import InstallationFolder
from services.host.installation import SERVICE_DATABASE_URL
from services.host.postgres import DATABASE
from shared import VERSION


def prepared(url: str, service_url: str, api_key: str | None) -> bool:
    """Return whether the database is ready; ``service_url`` is a service's URL of it.

    Raises: psycopg.OperationalError when the server does not answer.
    """
    if api_key is None:
        return False
    try:
        return current(url) and remembered(url) == VERSION and _knows(url, api_key) and _admits(service_url)
    except psycopg.OperationalError as error:
        if f'database "{DATABASE}" does not exist' in str(error):
            return False
        raise


def prepare(url: str, folder: InstallationFolder) -> None:
    """Create what is missing; safe to repeat."""
    create_database(url)
    search_store.finish(folder, url)
    check_step(url, VERSION)
    upgrade(url, passwords=passwords_of(os.environ))
    remember(url, VERSION)
    key = folder.api_key
    if key is None or not _knows(url, key):
        folder.keep_api_key(_create_key(url))


def create_database(url: str) -> None:
    """Create the database on a server that has only its own yet."""
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError as error:
        name = psycopg.conninfo.conninfo_to_dict(url).get("dbname", DATABASE)
        if f'database "{name}" does not exist' not in str(error):
            raise
        with psycopg.connect(url, dbname="postgres", connect_timeout=5, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(str(name))))


def _admits(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def _knows(url: str, key: str) -> bool:
    parts = key.split("_")
    with psycopg.connect(url, connect_timeout=5) as connection:
        row = connection.execute("SELECT revoked_at FROM api_keys WHERE id = %s", (parts[1:2] or [""])).fetchone()
    return row is not None and row[0] is None


def _create_key(url: str) -> str:
    from shared import keys  # noqa: PLC0415 - SQLAlchemy, which a prepared database does not need
    from shared.db import connect  # noqa: PLC0415

    engine = connect(url)
    try:
        with engine.begin() as connection:
            _, key = keys.create(connection, tenant="default", name="local", scopes=["read", "write", "admin"])
    finally:
        engine.dispose()
    return key


def main() -> None:
    url, folder = os.environ["DATABASE_URL"], InstallationFolder(Path(os.environ["ASSAY_HOME"]))
    try:
        if search_store.is_unfinished(folder) or not prepared(url, os.environ[SERVICE_DATABASE_URL], folder.api_key):
            prepare(url, folder)
    except psycopg.OperationalError as error:
        sys.exit(f"Postgres (DATABASE_URL) does not answer: {error}")
    except Refused as refusal:
        sys.exit(str(refusal))


if __name__ == "__main__":
    main()
