"""``assay restore``: replace the content of an installation by a backup, completely or not at all.

Everything is prepared first: files under their hashes, the search store in a separate folder, the tables in a
transaction. The commit of that transaction is the restore; later steps are completed even after a kill
(``services.host.search_store``).

The archive is read forwards only: seeking back in a gzip stream unpacks everything before it again, and even a search
store of a few documents is hundreds of megabytes of zeros.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, LiteralString, cast
from uuid import uuid4

import obstore
import psycopg
from obstore.store import ObjectStore
from psycopg import sql
from pydantic import ValidationError
from sqlalchemy import Connection

from migrations import steps
from migrations.upgrade import migrate, migrating
from services.host import search_store
from services.host.archive import BLOBS, FORMAT, MANIFEST, SEARCH, TABLES, Manifest, copy_in
from services.host.bootstrap import create_database
from services.host.folder import InstallationFolder
from shared import blobs

_CHUNK = 1 << 20
_READ_BYTES = 128 << 10  #: of the archive, at a time
_MAX_MANIFEST_BYTES = 64 << 20
#: With rows in one of these an installation is in use.
_USED = ("jobs", "files", "flows", "conversations", "collections")
#: What reading a damaged archive raises.
_DAMAGE = (tarfile.TarError, EOFError, zlib.error, KeyError, ValidationError)
#: Statements that drop the schema's objects, except those of extensions.
_DROPS = """
    SELECT format('DROP TABLE IF EXISTS %s CASCADE', c.oid::regclass) FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
    UNION ALL
    SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', p.oid::regprocedure) FROM pg_proc p
    WHERE p.pronamespace = 'public'::regnamespace
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    UNION ALL
    SELECT format('DROP SEQUENCE IF EXISTS %s CASCADE', c.oid::regclass) FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'S'
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i', 'e'))
"""


def is_backup(file: Path) -> bool:
    """Return whether the file begins as a backup does, whole or not."""
    with suppress(OSError, *_DAMAGE), tarfile.open(file, "r:gz") as archive:
        first = archive.next()
        return first is not None and first.name.partition("/")[0] in {BLOBS, MANIFEST, SEARCH, TABLES}
    return False


def manifest_of(file: Path) -> Manifest:
    """Read what a backup holds. Raises: RuntimeError when the file is not a whole backup."""
    with _whole(file), _opened(file) as archive:
        member = next((each for each in archive if each.name == MANIFEST), None)
        content = archive.extractfile(member) if member is not None and member.size <= _MAX_MANIFEST_BYTES else None
        if content is None:
            raise KeyError(MANIFEST)
        manifest = Manifest.model_validate_json(content.read())
    if manifest.format != FORMAT:
        raise RuntimeError(f"{file} was made by Assay {manifest.version}, whose backups this version cannot read")
    return manifest


def read(
    file: Path, manifest: Manifest, url: str, store: ObjectStore, folder: InstallationFolder, *, replace: bool = False
) -> None:
    """Restore tables, files and search store. Raises: RuntimeError, with nothing changed, when it cannot be done.

    ``replace`` deletes what there is.
    """
    steps.check_revision(manifest.revision, "The backup is")
    if not steps.knows(manifest.revision):
        raise RuntimeError(f"the backup is of Assay {manifest.version}, newer than this version: upgrade Assay first")
    create_database(url)
    search_store.finish(folder, url)
    id = uuid4().hex
    added: list[str] = []  #: files that the store did not have
    is_committing = False
    try:
        with _whole(file):
            _check_and_keep(file, manifest, store, search_store.prepare(folder, id) if manifest.search else None, added)
        with migrating(url) as connection:
            _replace_tables(file, connection, manifest, replace=replace)
            search_store.mark(_driver(connection), id)
            is_committing = True
    except BaseException as error:
        if not is_committing or not _is_committed(url, id, error):
            _delete(store, added)
            with suppress(psycopg.Error):  # it will be finished when Postgres answers again
                search_store.finish(folder, url)
            raise
    search_store.finish(folder, url)


class OutcomeUnknown(RuntimeError):
    """Postgres went away at the commit of a restore."""


def _is_committed(url: str, id: str, error: BaseException) -> bool:
    """Query Postgres whether it committed before the error. Raises: OutcomeUnknown when it does not answer."""
    try:
        return search_store.committed(url) == id
    except psycopg.Error:
        raise OutcomeUnknown(
            "Postgres went away during the commit: the installation holds either the backup or what it held before. "
            "Start Postgres, then `assay up`, which completes the restore or undoes it."
        ) from error


def _delete(store: ObjectStore, added: Iterable[str]) -> None:
    for sha256 in added:
        with suppress(FileNotFoundError):
            obstore.delete(store, blobs.place(sha256))


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    return cast("psycopg.Connection[Any]", connection.connection.driver_connection)


def _replace_tables(file: Path, connection: Connection, manifest: Manifest, *, replace: bool) -> None:
    """Recreate the tables at the backup's revision, fill them, and migrate them to this version."""
    driver = _driver(connection)
    driver.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    driver.execute("SET LOCAL lock_timeout = '30s'")
    if not replace and (used := _used(driver)):
        raise RuntimeError(f"this installation is in use ({', '.join(used)}): --replace deletes what it holds")
    for (statement,) in driver.execute(_DROPS).fetchall():
        driver.execute(statement)
    migrate(connection, manifest.revision)
    _read_tables(file, driver, manifest)
    migrate(connection)


@contextmanager
def _opened(file: Path) -> Iterator[tarfile.TarFile]:
    """Open the archive to be read forwards; what would go back raises."""
    with gzip.open(file) as stream, tarfile.open(fileobj=stream, mode="r|", bufsize=_READ_BYTES) as archive:
        yield archive


class _Hashed:
    """The content of a member, which is hashed while it is read."""

    def __init__(self, content: IO[bytes], expected: str | None) -> None:
        self._content = content
        self._expected = expected
        self._digest = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes. Raises: RuntimeError at the end of content that has another hash than expected."""
        chunk = self._content.read(size)
        self._digest.update(chunk)
        if not chunk and self._expected not in (None, self._digest.hexdigest()):
            raise RuntimeError("a file in the backup is damaged")
        return chunk

    def finish(self) -> str:
        """Read what is left, and return the hash of all."""
        while self.read(_CHUNK):
            pass
        return self._digest.hexdigest()


@contextmanager
def _whole(file: Path) -> Iterator[None]:
    """Raise RuntimeError for a file that is damaged, truncated, or not a backup."""
    try:
        yield
    except FileNotFoundError:
        raise RuntimeError(f"there is no file {file}") from None
    except (*_DAMAGE, tarfile.ReadError) as error:
        raise RuntimeError(f"{file} is not a whole backup of Assay") from error
    except OSError as error:
        if error.errno is not None:  # the disk's fault, not the file's
            raise
        raise RuntimeError(f"{file} is not a whole backup of Assay") from error


def _check_and_keep(file: Path, manifest: Manifest, store: ObjectStore, search: Path | None, added: list[str]) -> None:
    """Read the file to its end, where gzip has the checksum of all of it. Raises: RuntimeError for what is damaged."""
    hashes: dict[str, str] = {}
    with _opened(file) as archive:
        for member in archive:
            kind, _, name = member.name.partition("/")
            extracted = archive.extractfile(member) if member.isfile() else None
            if kind == SEARCH and search is not None and member.isdir():
                _inside(search, name).mkdir(0o700, parents=True, exist_ok=True)
            if extracted is None:
                continue
            content = _Hashed(extracted, name if kind == BLOBS else None)
            if kind == BLOBS and _keep_blob(store, name, content):
                added.append(name)
            if kind == SEARCH and search is not None:
                _write_file(_inside(search, name), content)
            hashes[member.name] = content.finish()
        stream = cast("IO[bytes]", archive.fileobj)
        while stream.read(_CHUNK):
            pass
    _check(manifest, hashes)
    if search is not None:
        search_store.flush_folder(search)


def _check(manifest: Manifest, hashes: Mapping[str, str]) -> None:
    """Compare the members with the manifest. Raises: RuntimeError."""
    if sum(name.startswith(f"{BLOBS}/") for name in hashes) != manifest.blobs:
        raise RuntimeError("a file is missing in the backup")
    for table in manifest.tables:
        if table.sha256 not in (None, hashes.get(f"{TABLES}/{table.name}")):
            raise RuntimeError(f"the table {table.name} is damaged in the backup")
    if any(hashes.get(name) != sha256 for name, sha256 in manifest.search_files.items()):
        raise RuntimeError("the search store is damaged in the backup")


def _inside(search: Path, name: str) -> Path:
    """Return the path of a member below the search store (tarfile's filters need 3.11.4). Raises: RuntimeError."""
    target = search / name
    if ".." in target.parts or not target.is_relative_to(search):
        raise RuntimeError("the backup names a file outside of the search store")
    return target


def _write_file(target: Path, content: _Hashed) -> None:
    target.parent.mkdir(0o700, parents=True, exist_ok=True)
    with target.open("xb") as written:
        os.fchmod(written.fileno(), 0o600)
        shutil.copyfileobj(content, written, _CHUNK)
        written.flush()
        os.fsync(written.fileno())


def _keep_blob(store: ObjectStore, sha256: str, content: _Hashed) -> bool:
    """Keep a file; return whether the store did not have it. Raises: RuntimeError when it is not what its name says."""
    with suppress(FileNotFoundError):
        obstore.head(store, blobs.place(sha256))
        return False
    blobs.write(store, cast("BinaryIO", content))
    return True


def _used(connection: psycopg.Connection[Any]) -> list[str]:
    tables = [name for name in _USED if connection.execute("SELECT to_regclass(%s)", (name,)).fetchone() != (None,)]
    return [
        name
        for name in tables
        if connection.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(name))).fetchone()
    ]


def _read_tables(file: Path, connection: psycopg.Connection[Any], manifest: Manifest) -> None:
    """Fill the tables, which are of the backup's revision. Raises: RuntimeError when one is missing or not whole."""
    tables = {table.name: table for table in manifest.tables}
    _triggers(connection, tables, "DISABLE")  # the audit log's refuses to be emptied
    everything = sql.SQL(", ").join(sql.Identifier(name) for name in tables)
    connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(everything))
    missing = set(tables)
    with _whole(file), _opened(file) as archive:
        for member in archive:
            kind, _, name = member.name.partition("/")
            content = archive.extractfile(member) if member.isfile() else None
            if kind != TABLES or content is None or name not in missing:
                continue
            with connection.cursor() as cursor:
                with cursor.copy(copy_in(name, tables[name].columns)) as copy:
                    while chunk := content.read(_CHUNK):
                        copy.write(chunk)
                if cursor.rowcount != tables[name].rows:
                    raise RuntimeError(f"the table {name} is not whole in the backup")
            missing.discard(name)
            if not missing:
                break
    if missing:
        raise RuntimeError(f"the table {min(missing)} is missing in the backup")
    _triggers(connection, tables, "ENABLE")
    for name, value in manifest.sequences.items():
        if value is not None:
            connection.execute("SELECT setval(%s::regclass, %s)", (f'public."{name}"', value))


def _triggers(connection: psycopg.Connection[Any], tables: Iterable[str], switch: LiteralString) -> None:
    for name in tables:
        statement = sql.SQL("ALTER TABLE {} {} TRIGGER USER").format(sql.Identifier(name), sql.SQL(switch))
        connection.execute(statement)
