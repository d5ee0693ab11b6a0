"""Files of a tenant as statements; contents are in ``shared.blobs``."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Delete, Insert, Select, delete, insert, select, tuple_

from shared.blobs import files


def add(id: str, tenant: str, name: str, media_type: str, sha256: str, size: int) -> Insert:
    """Enter an uploaded file; answers the row of ``files``."""
    row = {"id": id, "tenant_id": tenant, "name": name, "size": size, "sha256": sha256, "media_type": media_type}
    return insert(files).values(row).returning(files)


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
