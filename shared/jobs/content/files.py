"""The files of a tenant, as statements and for a running job; their contents are in ``shared.blobs``."""

from __future__ import annotations

import uuid
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from obstore.store import ObjectStore
from sqlalchemy import Engine, Insert, Select, delete, insert, select, tuple_
from sqlalchemy.sql.dml import ReturningDelete

from shared import blobs
from shared.blobs import files
from shared.contracts.files import FileInfo
from shared.errors import NotFound
from shared.jobs.content.storage import StorageQuota


def add(id: str, tenant: str, name: str, media_type: str, sha256: str, size: int) -> Insert:
    """Insert an uploaded file; returns the row of ``files``."""
    row = {"id": id, "tenant_id": tenant, "name": name, "size": size, "sha256": sha256, "media_type": media_type}
    return insert(files).values(row).returning(files)


def find(id: str, tenant: str) -> Select[Any]:
    return select(files).where(files.c.id == id, files.c.tenant_id == tenant)


def page(tenant: str, limit: int, before: tuple[datetime, str] | None) -> Select[Any]:
    """Select a tenant's files, newest first; ``before``: (created_at, id) of the last one seen."""
    query = select(files).where(files.c.tenant_id == tenant)
    if before is not None:
        query = query.where(tuple_(files.c.created_at, files.c.id) < tuple_(before[0], before[1]))
    return query.order_by(files.c.created_at.desc(), files.c.id.desc()).limit(limit)


def remove(id: str, tenant: str) -> ReturningDelete[str]:
    """Delete a file; the answer is its hash."""
    return delete(files).where(files.c.id == id, files.c.tenant_id == tenant).returning(files.c.sha256)


def named(sha256: str) -> Select[Any]:
    """Select a row if a file of any tenant has this content."""
    return select(files.c.id).where(files.c.sha256 == sha256).limit(1)


@dataclass(frozen=True)
class JobFiles:
    """See ``shared.jobs.job.Files``."""

    engine: Engine
    store: ObjectStore
    tenant_id: str
    job_id: str
    quota: StorageQuota
    _known: dict[str, FileInfo] = field(default_factory=dict)  #: a file never changes

    def info(self, file_id: str) -> FileInfo:
        known = self._known.get(file_id)
        if known is None:
            with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                row = connection.execute(find(file_id, self.tenant_id)).mappings().first()
            if row is None:
                raise NotFound(f"There is no file {file_id}. Upload it again and submit a new job.")
            known = self._known[file_id] = FileInfo.model_validate(dict(row))
        return known

    def open(self, file_id: str) -> closing[BinaryIO]:
        return closing(blobs.read(self.store, self.info(file_id).sha256))

    def fetch(self, file_id: str, target: Path) -> FileInfo:
        info = self.info(file_id)
        blobs.fetch(self.store, info.sha256, target)
        return info

    def save(self, name: str, content: bytes | Path | BinaryIO, media_type: str) -> FileInfo:
        self.quota.admit(_size(content))
        blob = blobs.write(self.store, content)
        info = FileInfo(id=str(uuid.uuid4()), name=name, size=blob.size, sha256=blob.sha256, media_type=media_type)
        row = {**info.model_dump(exclude={"created_at"}), "tenant_id": self.tenant_id, "job_id": self.job_id}
        try:
            with self.engine.begin() as connection:
                self.quota.reserve(connection, blob.size)
                connection.execute(files.insert().values(row))
        finally:
            blobs.release(self.store, blob)
        self.quota.add(blob.size)
        return info


def _size(content: bytes | Path | BinaryIO) -> int:
    """Return the content's bytes; 0 for a stream, whose size is known after it was read."""
    if isinstance(content, bytes):
        return len(content)
    return content.stat().st_size if isinstance(content, Path) else 0
