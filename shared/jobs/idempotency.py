"""Idempotency keys as statements: at most one transaction at a time holds a tenant's key."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import LargeBinary, TextClause, bindparam, text
from sqlalchemy.dialects.postgresql import JSONB


def begin(tenant: str, key: str) -> TextClause:
    """Try to hold the key for this transaction (``locked``), and read the stored answer, if there is one.

    ``status`` is null when there is none. An answer that is committed between the snapshot and the lock is found by
    ``keep``, which then writes no row.
    """
    return text(
        """
        SELECT pg_try_advisory_xact_lock(hashtextextended(:tenant || chr(1) || :key, 0)) AS locked,
               kept.fingerprint, kept.status, kept.headers, kept.body
        FROM (SELECT 1) AS one
        LEFT JOIN idempotency_keys kept ON kept.tenant_id = :tenant AND kept.key = :key
             AND kept.created_at > clock_timestamp() - interval '24 hours'
        """
    ).bindparams(tenant=tenant, key=key)


def keep(tenant: str, key: str, fingerprint: bytes, status: int, headers: Mapping[str, str], body: bytes) -> TextClause:
    """Store the answer in the transaction of the request; no row when another transaction has stored one meanwhile."""
    return text(
        """
        INSERT INTO idempotency_keys (tenant_id, key, fingerprint, status, headers, body)
        VALUES (:tenant, :key, :fingerprint, :status, :headers, :body)
        ON CONFLICT (tenant_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
            headers = excluded.headers, body = excluded.body, created_at = clock_timestamp()
        WHERE idempotency_keys.created_at <= clock_timestamp() - interval '24 hours'
        """
    ).bindparams(
        bindparam("tenant", tenant),
        bindparam("key", key),
        bindparam("fingerprint", fingerprint, type_=LargeBinary),
        bindparam("status", status),
        bindparam("headers", dict(headers), type_=JSONB),
        bindparam("body", body, type_=LargeBinary),
    )
