"""``assay restore``: bring a backup into an installation that holds nothing yet."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, LiteralString

import psycopg
from obstore.store import ObjectStore
from psycopg import sql
from pydantic import ValidationError

from migrations import steps
from migrations.upgrade import upgrade
from services.host.archive import BLOBS, FORMAT, MANIFEST, SEARCH, TABLES, Manifest, copy_in
from services.host.bootstrap import create_database
from services.host.folder import InstallationFolder
from shared import blobs

_CHUNK = 1 << 20
_MOST_MANIFEST_BYTES = 64 << 20
#: With rows in one of these an installation is in use.
_USED = ("jobs", "files", "flows", "conversations", "collections")


def manifest_of(file: Path) -> Manifest:
    """What a backup holds. Raises: RuntimeError when it is none, or not whole."""
    try:
        with tarfile.open(file, "r:gz") as archive:
            member = archive.getmember(MANIFEST)
            content = archive.extractfile(member) if member.size <= _MOST_MANIFEST_BYTES else None
            if content is None:
                raise KeyError(MANIFEST)
            manifest = Manifest.model_validate_json(content.read())
    except (tarfile.TarError, EOFError, KeyError, ValidationError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise RuntimeError(f"there is no file {file}") from None
        raise RuntimeError(f"{file} is no whole backup of Assay") from None
    if manifest.format != FORMAT:
        raise RuntimeError(f"{file} was made by Assay {manifest.version}, whose backups this version cannot read")
    return manifest


def read(file: Path, url: str, store: ObjectStore, folder: InstallationFolder, *, replace: bool = False) -> Manifest:
    """Restore tables, files and search store. Raises: RuntimeError, with nothing changed, when it cannot be done.

    The tables are filled in one transaction, after the files; ``replace`` deletes what there is.
    """
    manifest = manifest_of(file)
    create_database(url)
    _to_revision(url, manifest)
    with psycopg.connect(url, connect_timeout=5) as connection:
        connection.execute("SET statement_timeout = 0")
        if not replace and (used := _used(connection)):
            raise RuntimeError(f"this installation is in use ({', '.join(used)}): --replace deletes what it holds")
        with tarfile.open(file, "r:gz") as archive:
            _read_members(archive, connection, manifest, store, folder)
        for name, value in manifest.sequences.items():
            if value is not None:
                connection.execute("SELECT setval(%s::regclass, %s)", (f'public."{name}"', value))
    upgrade(url)
    return manifest


def _to_revision(url: str, manifest: Manifest) -> None:
    """Make the tables as they were; Alembic brings an older database up to that revision. Raises: RuntimeError."""
    from alembic.util.exc import CommandError  # noqa: PLC0415

    steps.check_revision(manifest.revision, "The backup is")
    try:
        upgrade(url, manifest.revision)
    except CommandError:
        raise RuntimeError(
            f"the backup is of Assay {manifest.version}, newer than this version: upgrade Assay first"
        ) from None


def _used(connection: psycopg.Connection[Any]) -> list[str]:
    tables = [name for name in _USED if connection.execute("SELECT to_regclass(%s)", (name,)).fetchone() != (None,)]
    return [
        name
        for name in tables
        if connection.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(name))).fetchone()
    ]


def _read_members(
    archive: tarfile.TarFile,
    connection: psycopg.Connection[Any],
    manifest: Manifest,
    store: ObjectStore,
    folder: InstallationFolder,
) -> None:
    tables = {table.name: table for table in manifest.tables}
    _triggers(connection, tables, "DISABLE")  # the audit log's refuses to be emptied
    everything = sql.SQL(", ").join(sql.Identifier(name) for name in tables)
    connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(everything))
    if manifest.search:
        shutil.rmtree(folder.path / SEARCH, ignore_errors=True)
    for member in archive:
        kind, _, name = member.name.partition("/")
        content = archive.extractfile(member) if member.isfile() else None
        if kind == SEARCH and manifest.search:
            _read_file(folder, member, content)
        elif kind == TABLES and content is not None and name in tables:
            with connection.cursor() as cursor:
                with cursor.copy(copy_in(name, tables[name].columns)) as copy:
                    while chunk := content.read(_CHUNK):
                        copy.write(chunk)
                if cursor.rowcount != tables[name].rows:
                    raise RuntimeError(f"the table {name} is not whole in the backup")
        elif kind == BLOBS and content is not None:
            _read_blob(store, name, content)
    _triggers(connection, tables, "ENABLE")


def _read_file(folder: InstallationFolder, member: tarfile.TarInfo, content: IO[bytes] | None) -> None:
    """A folder or a regular file of the search store; nothing else is in a backup (tarfile's filters need 3.11.4)."""
    target = folder.path / member.name
    if ".." in target.parts or not target.is_relative_to(folder.path / SEARCH):
        raise RuntimeError("the backup names a file outside of the search store")
    if content is None:
        if member.isdir():
            target.mkdir(0o700, parents=True, exist_ok=True)
        return
    target.parent.mkdir(0o700, parents=True, exist_ok=True)
    with target.open("xb") as written:
        os.fchmod(written.fileno(), 0o600)
        shutil.copyfileobj(content, written)


def _triggers(connection: psycopg.Connection[Any], tables: Iterable[str], switch: LiteralString) -> None:
    for name in tables:
        statement = sql.SQL("ALTER TABLE {} {} TRIGGER USER").format(sql.Identifier(name), sql.SQL(switch))
        connection.execute(statement)


def _read_blob(store: ObjectStore, sha256: str, content: IO[bytes]) -> None:
    """Raises: RuntimeError when the content is not what its name says."""
    digest = hashlib.sha256()
    while chunk := content.read(_CHUNK):
        digest.update(chunk)
    if digest.hexdigest() != sha256:
        raise RuntimeError("a file in the backup is damaged")
    content.seek(0)
    blobs.write(store, content)  # type: ignore[arg-type]
