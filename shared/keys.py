"""API keys: who calls, for which tenant, and what they may do. Only a hash of a key is ever kept.

A key reads ``ask_<id>_<secret>``: the id finds the row, the secret is 32 base62 characters (190 bits), so a plain
SHA-256 of the whole is as strong as the key itself.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Delete,
    FromClause,
    LargeBinary,
    RowMapping,
    Select,
    Table,
    Text,
    Update,
    any_,
    delete,
    exists,
    func,
    literal,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, Insert, insert
from sqlalchemy.sql.dml import ReturningDelete, ReturningInsert, ReturningUpdate

from shared.contracts.keys import KeyInfo, Scope
from shared.db import metadata

#: Resolution of `last_used_at`: a write for each request would cost more than it is worth.
USE_NOTED = timedelta(minutes=1)
_ALPHABET = string.ascii_letters + string.digits
_SHAPE = re.compile(r"ask_([A-Za-z0-9]{8})_[A-Za-z0-9]{32}")

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),  # the id inside the key
    Column("hash", LargeBinary, nullable=False),  # SHA-256 of the whole key
    Column("tenant_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=text("clock_timestamp()")),
    Column("expires_at", DateTime(timezone=True)),
    Column("revoked_at", DateTime(timezone=True)),
    Column("parent_id", Text),  # of a session: the key that it was made with
    Column("last_used_at", DateTime(timezone=True)),  # within a minute
)
#: One-time codes that sign in: made with a key, good for a minute, deleted when used.
session_codes = Table(
    "session_codes",
    metadata,
    Column("hash", LargeBinary, primary_key=True),  # SHA-256 of the code
    Column("key_id", Text, nullable=False),
    Column("expires_at", DateTime(timezone=True), nullable=False),
)
_INFO = [
    api_keys.c.tenant_id.label("tenant"),
    *(column for column in api_keys.c if column.name not in ("hash", "tenant_id")),
]


def _alive(key: FromClause) -> tuple[ColumnElement[bool], ...]:
    return key.c.revoked_at.is_(None), key.c.expires_at.is_(None) | (key.c.expires_at > func.clock_timestamp())


_parent = api_keys.alias("parent")
#: A key that is neither revoked nor expired, and, of a session, whose key is not either.
_IS_VALID = (
    *_alive(api_keys),
    api_keys.c.parent_id.is_(None) | exists().where(_parent.c.id == api_keys.c.parent_id, *_alive(_parent)),
)


@dataclass(frozen=True)
class IssuedKey:
    """A new key, and the statement that makes it valid (it returns the row of ``KeyInfo``)."""

    key: str
    statement: ReturningInsert[Any]


def issue(
    tenant: str, name: str, scopes: Sequence[Scope], expires_at: datetime | None = None, parent_id: str | None = None
) -> IssuedKey:
    """Draw a new key for a tenant; with a parent it is a session of that key, and ends with it."""
    key_id = _draw(8)
    key = f"ask_{key_id}_{_draw(32)}"
    row = {
        "id": key_id,
        "tenant_id": tenant,
        "name": name,
        "scopes": sorted(set(scopes)),
        "hash": digest(key),
        "expires_at": expires_at,
        "parent_id": parent_id,
    }
    return IssuedKey(key, insert(api_keys).values(row).returning(*_INFO))


def create(
    connection: Connection, tenant: str, name: str, scopes: Sequence[Scope], expires_at: datetime | None = None
) -> tuple[KeyInfo, str]:
    """Issue a key on a plain connection; the caller commits."""
    issued = issue(tenant, name, scopes, expires_at)
    return info(connection.execute(issued.statement).mappings().one()), issued.key


def key_id(key: str) -> str | None:
    """Return the id inside a key; None when it does not have the shape of one."""
    shape = _SHAPE.fullmatch(key)
    return shape[1] if shape else None


def digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def matches(key: str, kept: bytes) -> bool:
    return hmac.compare_digest(digest(key), kept)


def valid(id: str, tenant: str | None = None) -> Select[Any]:
    """Select the key with that id, of the tenant or of any, unless it (or that of its session) is revoked or has
    expired.
    """
    return select(api_keys).where(api_keys.c.id == id, *_IS_VALID, *_of(tenant))


def unrevoked(id: str, tenant: str | None = None) -> Select[Any]:
    """Select the key with that id, of the tenant or of any, unless it is revoked; expired ones too."""
    return select(api_keys).where(api_keys.c.id == id, api_keys.c.revoked_at.is_(None), *_of(tenant))


def names(tenant: str, ids: Collection[str]) -> Select[str, str]:
    """``id, name`` of those that are keys of the tenant, revoked ones too."""
    return select(api_keys.c.id, api_keys.c.name).where(api_keys.c.tenant_id == tenant, api_keys.c.id.in_(ids))


def any_of(tenant: str) -> Select[Any]:
    """Select whether the tenant has, or had, a key."""
    return select(exists().where(api_keys.c.tenant_id == tenant))


def tenants(limit: int) -> Select[str]:
    """Select the first tenants that have, or had, a key."""
    return select(api_keys.c.tenant_id).distinct().order_by(api_keys.c.tenant_id).limit(limit)


def used(id: str, tenant: str) -> Update:
    """Note that the key is used now, unless that was noted less than `USE_NOTED` ago."""
    now = func.clock_timestamp()
    stale = api_keys.c.last_used_at.is_(None) | (api_keys.c.last_used_at < now - USE_NOTED)
    return api_keys.update().where(api_keys.c.id == id, *_of(tenant), stale).values(last_used_at=now)


def end_at(id: str, moment: datetime) -> Update:
    """Let a key expire at the moment, unless it does so before."""
    return api_keys.update().where(api_keys.c.id == id).values(expires_at=func.least(api_keys.c.expires_at, moment))


def _of(tenant: str | None) -> tuple[ColumnElement[bool], ...]:
    return () if tenant is None else (api_keys.c.tenant_id == tenant,)


def still_valid(ids: Sequence[str]) -> Select[Any]:
    """Select the ids whose keys are neither revoked nor expired."""
    return select(api_keys.c.id).where(api_keys.c.id.in_(ids), *_IS_VALID)


def issue_code(key_id: str, expires_at: datetime) -> tuple[str, Insert]:
    """Return a one-time code that signs in as the key, and the statement that stores its hash."""
    code = _draw(32)
    return code, insert(session_codes).values(hash=digest(code), key_id=key_id, expires_at=expires_at)


def redeem(code: str) -> ReturningDelete[Any]:
    """Use a code up: the id of its key and whether the code was still good. No row when there is no such code."""
    good = (session_codes.c.expires_at > func.clock_timestamp()).label("good")
    return delete(session_codes).where(session_codes.c.hash == digest(code)).returning(session_codes.c.key_id, good)


def forget_codes() -> Delete:
    """Delete the codes that were not used in time."""
    return delete(session_codes).where(session_codes.c.expires_at < func.clock_timestamp())


def page(limit: int, before: tuple[datetime, str] | None = None, tenant: str | None = None) -> Select[Any]:
    """Keys, newest first; ``before``: (created_at, id) of the last one seen."""
    query = select(*_INFO)
    if tenant is not None:
        query = query.where(api_keys.c.tenant_id == tenant)
    if before is not None:
        created_at, last = before
        query = query.where(
            (api_keys.c.created_at < created_at) | ((api_keys.c.created_at == created_at) & (api_keys.c.id < last))
        )
    return query.order_by(api_keys.c.created_at.desc(), api_keys.c.id.desc()).limit(limit)


def revoke(id: str, tenant: str | None = None) -> ReturningUpdate[Any]:
    """Revoke a key, of the tenant or of any; no row if it does not exist, or is revoked already."""
    return (
        api_keys.update()
        .where(api_keys.c.id == id, api_keys.c.revoked_at.is_(None), *_of(tenant))
        .values(revoked_at=func.clock_timestamp())
        .returning(api_keys.c.id)
    )


def is_last_admin(id: str) -> Select[Any]:
    """Select whether the key is the only valid one with the scope admin; keys of sessions end with theirs."""
    other = api_keys.alias("other")
    others = (
        select(1)
        .select_from(other)
        .where(
            other.c.id != id,
            other.c.parent_id.is_(None),
            literal("admin") == any_(other.c.scopes),
            other.c.revoked_at.is_(None),
            func.coalesce(other.c.expires_at > func.clock_timestamp(), True),
        )
    )
    this = select(1).where(
        api_keys.c.id == id, api_keys.c.parent_id.is_(None), literal("admin") == any_(api_keys.c.scopes)
    )
    return select(this.where(api_keys.c.revoked_at.is_(None)).exists() & ~others.exists())


def info(row: RowMapping) -> KeyInfo:
    return KeyInfo.model_validate(dict(row))


def _draw(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
