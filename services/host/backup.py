"""``assay backup``: one consistent file of everything that an installation keeps, made while it runs.

The tables are read in one snapshot. A file's content never changes, so those that the snapshot names are simply
copied. The embedded search store belongs to one process: that one is stopped, its successor waits while the store
is copied, and the snapshot is taken in between, so that both show the same moment.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import signal
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from obstore.store import ObjectStore

from services.host.archive import (
    BLOBS,
    MANIFEST,
    SEARCH,
    TABLES,
    BackupTable,
    Manifest,
    columns_of,
    copy_out,
    tables_in_order,
)
from services.host.folder import InstallationFolder, alive, current_status
from shared import VERSION, blobs

_STORE_SECONDS = 60.0
_OWNER = "owner.lock"  #: the lock of the search worker's store


def write(target: Path, url: str, store: ObjectStore, folder: InstallationFolder) -> Manifest:
    """Write the backup; the file appears when it is whole. Raises: RuntimeError, OSError, psycopg.Error."""
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    _delete_abandoned(target)
    search = folder.path / "search"
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file, ExitStack() as held:
            archive = held.enter_context(tarfile.open(fileobj=file, mode="w:gz", compresslevel=1))
            connection = held.enter_context(psycopg.connect(url, connect_timeout=5))
            connection.execute("SET statement_timeout = 0")
            with _owned(search, folder) as has_search:
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                connection.execute("SELECT 1 FROM alembic_version")  # the snapshot is that of the first query
                search_files = _hashes(search) if has_search else {}
                if has_search:
                    archive.add(search, SEARCH, filter=_without_locks)
            tables = [_add_table(archive, connection, name) for name in tables_in_order(connection)]
            hashes = [row[0] for row in connection.execute("SELECT DISTINCT sha256 FROM files ORDER BY 1")]
            missing = [sha256 for sha256 in hashes if not _add_blob(archive, store, sha256)]
            manifest = Manifest(
                version=VERSION,
                revision=str(_one(connection, "SELECT version_num FROM alembic_version")),
                at=datetime.now(UTC).isoformat(timespec="seconds"),
                tables=tables,
                sequences=dict(
                    connection.execute("SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public'")
                ),
                blobs=len(hashes) - len(missing),
                missing_blobs=missing,
                search=has_search,
                search_files=search_files,
            )
            _add(archive, MANIFEST, manifest.model_dump_json(indent=2).encode())
        with draft.open("rb") as written:
            os.fsync(written.fileno())  # else the name could be on the disk before the content
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return manifest


def _delete_abandoned(target: Path) -> None:
    """Delete the drafts of backups to the same file that were killed."""
    for draft in target.parent.glob(f".{target.name}.*.tmp"):
        pid = draft.name.removeprefix(f".{target.name}.").removesuffix(".tmp")
        if pid.isdecimal() and not alive(int(pid)):
            draft.unlink(missing_ok=True)


def _hashes(search: Path) -> dict[str, str]:
    """Return the hash of each file of the search store, by its name in the archive."""
    hashes = {}
    for path in search.rglob("*"):
        if path.is_file() and not path.is_symlink() and path != search / _OWNER:
            with path.open("rb") as file:
                hashes[f"{SEARCH}/{path.relative_to(search)}"] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def _one(connection: psycopg.Connection[Any], statement: str) -> object:
    row = connection.execute(statement.encode()).fetchone()
    if row is None:
        raise RuntimeError("the database is empty: there is nothing to back up")
    return row[0]


@contextmanager
def _owned(search: Path, folder: InstallationFolder) -> Iterator[bool]:
    """Own the embedded search store for a moment; False without one."""
    if not search.is_dir():
        yield False
        return
    with open(search / _OWNER, "a") as owner:
        deadline = time.monotonic() + _STORE_SECONDS
        asked = 0
        while True:
            try:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise RuntimeError("the search worker does not let go of its store; try again later") from None
                asked = _ask_to_end(folder, asked)
                time.sleep(0.01)
        yield True


def _ask_to_end(folder: InstallationFolder, asked: int) -> int:
    """Stop the search worker, once; `assay up` restarts it."""
    status = current_status(folder)
    pids = [each.pid for each in status.services if each.name.startswith("search-") and each.pid] if status else []
    for pid in pids:
        if pid != asked:
            os.kill(pid, signal.SIGTERM)
            return pid
    return asked


def _without_locks(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if member.name == f"{SEARCH}/{_OWNER}" else member


def _add_table(archive: tarfile.TarFile, connection: psycopg.Connection[Any], name: str) -> BackupTable:
    columns = columns_of(connection, name)
    with tempfile.TemporaryFile() as text:
        digest = hashlib.sha256()
        with connection.cursor() as cursor:
            with cursor.copy(copy_out(name, columns)) as copy:
                for chunk in copy:
                    text.write(chunk)
                    digest.update(chunk)
            rows = cursor.rowcount
        member = tarfile.TarInfo(f"{TABLES}/{name}")
        member.size = text.tell()
        text.seek(0)
        archive.addfile(member, text)
    return BackupTable(name=name, columns=columns, rows=rows, sha256=digest.hexdigest())


def _add_blob(archive: tarfile.TarFile, store: ObjectStore, sha256: str) -> bool:
    """Add a blob and return True, or False if it is gone: a file may have been deleted since the snapshot."""
    try:
        content = blobs.read(store, sha256)
    except FileNotFoundError:
        return False
    with content:
        member = tarfile.TarInfo(f"{BLOBS}/{sha256}")
        member.size = content.seek(0, io.SEEK_END)
        content.seek(0)
        archive.addfile(member, content)
    return True


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))
