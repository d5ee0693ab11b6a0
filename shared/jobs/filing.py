"""Files of a tenant as statements; contents are in ``shared.blobs``."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Delete, Select, TextClause, delete, select, text, tuple_

from shared.blobs import files


def add(id: str, tenant: str, name: str, media_type: str, sha256: str, size: int) -> TextClause:
    """Enter an uploaded file, and renew its blob so that the collector leaves it alone; the row of ``files``."""
    return text(
        """
        WITH blob AS (
            INSERT INTO blobs (sha256, size) VALUES (:sha256, :size)
            ON CONFLICT (sha256) DO UPDATE SET touched_at = clock_timestamp()
        )
        INSERT INTO files (id, tenant_id, name, size, sha256, media_type)
        VALUES (:id, :tenant, :name, :size, :sha256, :media_type)
        RETURNING id, name, size, sha256, media_type, created_at
        """
    ).bindparams(id=id, tenant=tenant, name=name, media_type=media_type, sha256=sha256, size=size)


def find(id: str, tenant: str) -> Select[Any]:
    return select(files).where(files.c.id == id, files.c.tenant_id == tenant)


def page(tenant: str, limit: int, before: tuple[datetime, str] | None) -> Select[Any]:
    """A tenant's files, newest first; ``before``: (created_at, id) of the last one seen."""
    query = select(files).where(files.c.tenant_id == tenant)
    if before is not None:
        query = query.where(tuple_(files.c.created_at, files.c.id) < tuple_(before[0], before[1]))
    return query.order_by(files.c.created_at.desc(), files.c.id.desc()).limit(limit)


def remove(id: str, tenant: str) -> Delete:
    return delete(files).where(files.c.id == id, files.c.tenant_id == tenant)
