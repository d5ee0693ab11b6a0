"""The embedded search store: a restored one is prepared in a separate folder, then replaces the current one.

The transaction that restores the tables decides: it writes the restore's id as the comment of ``collections``.
``finish`` completes a killed restore if that transaction was committed, and undoes it otherwise.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from services.host.folder import InstallationFolder

NAME = "search"
_PREPARED, _REPLACED = f"{NAME}.restored-", f"{NAME}.replaced-"
_MARKED = "collections"


def prepare(folder: InstallationFolder, id: str) -> Path:
    """Make the folder in which a restore prepares its store."""
    prepared = folder.path / f"{_PREPARED}{id}"
    prepared.mkdir(0o700)
    return prepared


def mark(connection: psycopg.Connection[Any], id: str) -> None:
    """Let the transaction, once committed, decide for the prepared store."""
    statement = sql.SQL("COMMENT ON TABLE {} IS {}").format(sql.Identifier(_MARKED), sql.Literal(id))
    connection.execute(statement)


def is_unfinished(folder: InstallationFolder) -> bool:
    """Return whether a restore has left folders behind."""
    return any(folder.path.glob(f"{_PREPARED}*")) or any(folder.path.glob(f"{_REPLACED}*"))


def finish(folder: InstallationFolder, url: str) -> None:
    """Swap in the prepared store whose tables are committed, and delete all others; safe to repeat."""
    if not is_unfinished(folder):
        return
    store, committed_id = folder.path / NAME, committed(url)
    for prepared in folder.path.glob(f"{_PREPARED}*"):
        id = prepared.name.removeprefix(_PREPARED)
        if id != committed_id:
            shutil.rmtree(prepared)
            continue
        if store.exists():
            store.rename(folder.path / f"{_REPLACED}{id}")
        prepared.rename(store)
        flush_folder(folder.path)
    for replaced in folder.path.glob(f"{_REPLACED}*"):
        shutil.rmtree(replaced)


def committed(url: str) -> str | None:
    """Return the id of the restore that the tables are of."""
    with psycopg.connect(url, connect_timeout=5) as connection:
        row = connection.execute("SELECT obj_description(to_regclass(%s), 'pg_class')", (_MARKED,)).fetchone()
    return None if row is None or row[0] is None else str(row[0])


def flush_folder(path: Path) -> None:
    """Wait until the disk holds the names in a folder."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
