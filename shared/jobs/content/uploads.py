"""Files that come in parts: how far each has come. Its parts are in ``shared.blobs`` until it is whole."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Delete,
    Index,
    Insert,
    Select,
    Table,
    Text,
    Update,
    delete,
    func,
    insert,
    select,
    text,
    tuple_,
    update,
)

from shared.blobs import UPLOAD_KEPT
from shared.db import metadata

uploads = Table(
    "uploads",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("received", BigInteger, nullable=False, server_default="0"),
    Column("file_id", Text),  # once it is whole
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    CheckConstraint("received BETWEEN 0 AND size", name="received"),
)
Index("ix_uploads_tenant_id", uploads.c.tenant_id, uploads.c.created_at)

_OLDEST = func.clock_timestamp() - UPLOAD_KEPT


def create(id: str, tenant: str, name: str, media_type: str, size: int) -> Insert:
    row = {"id": id, "tenant_id": tenant, "name": name, "media_type": media_type, "size": size}
    return insert(uploads).values(row).returning(uploads)


def find(id: str, tenant: str) -> Select[Any]:
    """Select an upload that has not expired."""
    return select(uploads).where(uploads.c.id == id, uploads.c.tenant_id == tenant, uploads.c.created_at > _OLDEST)


def page(tenant: str, limit: int, after: tuple[datetime, str] | None) -> Select[Any]:
    """Unfinished ones, newest first; ``after``: (created_at, id) of the last one seen."""
    open_ones = select(uploads).where(
        uploads.c.tenant_id == tenant, uploads.c.file_id.is_(None), uploads.c.created_at > _OLDEST
    )
    if after is not None:
        open_ones = open_ones.where(tuple_(uploads.c.created_at, uploads.c.id) < after)
    return open_ones.order_by(uploads.c.created_at.desc(), uploads.c.id.desc()).limit(limit)


def expected_bytes(tenant: str) -> Select[Any]:
    """Select the sum of the declared sizes of the tenant's unfinished uploads."""
    sizes = select(func.coalesce(func.sum(uploads.c.size), 0))
    return sizes.where(uploads.c.tenant_id == tenant, uploads.c.file_id.is_(None), uploads.c.created_at > _OLDEST)


def receive(id: str, tenant: str, received: int) -> Update:
    return update(uploads).where(uploads.c.id == id, uploads.c.tenant_id == tenant).values(received=received)


def finish(id: str, tenant: str, file_id: str) -> Update:
    return update(uploads).where(uploads.c.id == id, uploads.c.tenant_id == tenant).values(file_id=file_id)


def remove(id: str, tenant: str) -> Delete:
    return delete(uploads).where(uploads.c.id == id, uploads.c.tenant_id == tenant)


def remove_expired(tenant: str) -> Delete:
    """Delete the tenant's expired uploads; a sweep removes their parts."""
    return delete(uploads).where(uploads.c.tenant_id == tenant, uploads.c.created_at <= _OLDEST)
