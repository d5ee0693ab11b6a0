"""The audit log: who changed what, when and from where. It is append-only, and each row is chained to the one before.

The hash of a row is the SHA-256 of the hash before it and of the row itself, computed and checked by Postgres; a
trigger refuses changes. A copy of the newest hash elsewhere shows whether the log was rewritten all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue
from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    LargeBinary,
    RowMapping,
    Select,
    Table,
    Text,
    TextClause,
    bindparam,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from shared.contracts.audit import AuditEntry
from shared.db import metadata

#: Of the lock that lets one entry be added at a time.
LOCK = 0x41554449

audit_log = Table(
    "audit_log",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),  # without gaps
    Column("at", DateTime(timezone=True), nullable=False),
    Column("tenant_id", Text, nullable=False),  # of the caller
    Column("actor", Text, nullable=False),  # the id of the caller's key
    Column("action", Text, nullable=False),
    Column("object", Text),
    Column("address", Text),
    Column("request_id", Text),
    Column("detail", JSONB, nullable=False),
    Column("hash", LargeBinary, nullable=False),
)

_HASHED = """sha256(convert_to(encode(coalesce({before}, ''), 'hex') || jsonb_build_array(
    {row}.seq, to_char({row}.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), {row}.tenant_id, {row}.actor,
    {row}.action, {row}.object, {row}.address, {row}.request_id, {row}.detail)::text, 'UTF8'))"""


def lock() -> TextClause:
    """Lock the log until the transaction ends, in a separate statement, so that the next one sees all rows."""
    return text("SELECT pg_advisory_xact_lock(:lock)").bindparams(lock=LOCK)


def add(
    tenant: str,
    actor: str,
    action: str,
    object: str | None,
    detail: Mapping[str, JsonValue],
    address: str | None = None,
    request_id: str | None = None,
) -> TextClause:
    """Add an entry; after ``lock``."""
    return text(
        f"""
        WITH last AS (SELECT seq, hash FROM audit_log ORDER BY seq DESC LIMIT 1), entry AS (
            SELECT coalesce((SELECT seq FROM last), 0) + 1 AS seq, clock_timestamp() AS at, :tenant AS tenant_id,
                   :actor AS actor, :action AS action, :object AS object, :address AS address,
                   :request_id AS request_id, CAST(:detail AS jsonb) AS detail)
        INSERT INTO audit_log SELECT entry.*, {_HASHED.format(before="(SELECT hash FROM last)", row="entry")} FROM entry
        """  # noqa: S608 - constants of ours
    ).bindparams(
        bindparam("detail", dict(detail), type_=JSONB),
        *(bindparam(name, value, type_=Text) for name, value in (("object", object), ("address", address))),
        bindparam("request_id", request_id, type_=Text),
        tenant=tenant,
        actor=actor,
        action=action,
    )


def page(limit: int, before: int | None, tenant: str | None, action: str | None) -> Select[Any]:
    """Entries, newest first; ``before``: the number of the last one seen."""
    query = select(audit_log)
    if before is not None:
        query = query.where(audit_log.c.seq < before)
    if tenant is not None:
        query = query.where(audit_log.c.tenant_id == tenant)
    if action is not None:
        query = query.where(audit_log.c.action == action)
    return query.order_by(audit_log.c.seq.desc()).limit(limit)


def verification() -> TextClause:
    """Select the number of entries, the newest hash, and the first entry that was altered."""
    hashed = _HASHED.format(before="chained.before", row="chained")
    return text(
        f"""
        WITH chained AS (SELECT *, lag(hash) OVER (ORDER BY seq) AS before, row_number() OVER (ORDER BY seq) AS place
                         FROM audit_log)
        SELECT count(*) AS entries, min(seq) FILTER (WHERE hash <> {hashed} OR seq <> place) AS broken_at,
               (SELECT encode(hash, 'hex') FROM audit_log ORDER BY seq DESC LIMIT 1) AS newest_hash
        FROM chained
        """  # noqa: S608 - constants of ours
    )


def view(row: RowMapping) -> AuditEntry:
    return AuditEntry.model_validate({**row, "tenant": row["tenant_id"], "hash": bytes(row["hash"]).hex()})
