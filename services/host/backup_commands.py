"""`assay backup` and `assay restore`: which stores are meant, and an embedded Postgres that runs meanwhile."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
from obstore.exceptions import BaseError
from obstore.store import ObjectStore
from pydantic import ValidationError
from sqlalchemy.exc import DBAPIError

from services.host import backup, restore, search_store
from services.host.folder import InstallationFolder, current_status
from services.host.installation import ServerSettings, plain_scheme
from services.host.postgres import Postgres
from shared import blobs
from shared.amounts import amount
from shared.errors import AssayError
from shared.settings import explained

DONE, FAILED, USAGE = 0, 1, 2
_FAULTS = (RuntimeError, OSError, AssayError, psycopg.Error, DBAPIError, BaseError, ValidationError)


def back_up(folder: InstallationFolder, file: Path) -> int:
    """Write a backup and return the exit status of `assay backup FILE`."""
    if file.exists() and not file.is_file():
        _say(f"{file} is not a file that can be replaced: name one.")
        return USAGE
    if file.is_file() and file.stat().st_size and not restore.is_backup(file):
        _say(f"{file} is not a backup, and is not replaced by one: name another file, such as {file.stem}.backup.")
        return USAGE
    if not file.absolute().parent.is_dir():
        _say(f"There is no folder {file.parent}: create it, or name another file.")
        return USAGE
    try:
        with stores(folder, new=False) as (url, store):
            made = backup.write(file.absolute(), url, store, folder)
    except _FAULTS as error:
        return _failed("backed up", error)
    search = "with the search store" if made.search else "without a search store"
    rows, tables, files = amount(made.rows, "row"), amount(len(made.tables), "table"), amount(made.blobs, "file")
    _say(f"{file}: {rows} of {tables}, {files}, {search}")
    if made.missing_blobs:
        _say(f"Missing by now, and not in it: {amount(len(made.missing_blobs), 'file')}")
    if os.environ.get("QDRANT_URL"):
        _say("The Qdrant server is not in it: take a snapshot of its collections, too.")
    return DONE


def bring_back(folder: InstallationFolder, file: Path, *, replace: bool) -> int:
    """Restore a backup and return the exit status of `assay restore FILE`."""
    if not file.is_file():
        _say(f"{file} is not a file." if file.exists() else f"There is no backup {file}.")
        return USAGE
    try:
        manifest = restore.manifest_of(file)  # before a person stops what runs
    except _FAULTS as error:
        return _failed("restored", error)
    if folder.holder() is not None:
        _say("Assay is running here: `assay down` first.")
        return FAILED
    try:
        with stores(folder, new=True) as (url, store):
            restore.read(file, manifest, url, store, folder, replace=replace)
    except restore.OutcomeUnknown as error:
        _say(str(error))
        return FAILED
    except _FAULTS as error:
        return _failed("restored", error)
    rows, files = amount(manifest.rows, "row"), amount(manifest.blobs, "file")
    _say(f"Restored {rows} and {files} of {manifest.at}; `assay up` starts with them")
    return DONE


@contextmanager
def stores(folder: InstallationFolder, *, new: bool) -> Iterator[tuple[str, ObjectStore]]:
    """Open the database as its owner, and the files."""
    given = ServerSettings()
    if not new and given.database_url is None and not (folder.path / "postgres").is_dir():
        raise RuntimeError("nothing has been started here yet, and DATABASE_URL names no server")
    with ExitStack() as held:
        if new:
            folder.make()
        status = current_status(folder) if folder.holder() is not None else None
        if status is None and (new or given.database_url is None):
            lock = folder.lock()
            if lock is None:
                raise RuntimeError("another command uses this installation")
            held.enter_context(lock)
        if given.database_url is not None:
            url = plain_scheme(given.database_url)
        elif status is not None:
            url = status.database_url
        else:
            postgres = Postgres(folder.path / "postgres", password=folder.secret("postgres"))
            url = held.enter_context(postgres).url
            search_store.finish(folder, url)
        yield url, blobs.open_store(given.blob_url or folder.blobs.as_uri())


def _failed(what: str, error: Exception) -> int:
    if isinstance(error, ValidationError):
        _say(explained(error) or str(error))
        return USAGE
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    _say(f"Nothing was {what}: {str(cause).strip() or type(cause).__name__}")
    return FAILED


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201
