"""The audit log: who changed what."""

from __future__ import annotations

from pydantic import JsonValue

from shared.contracts.common import Answer, Time


class AuditEntry(Answer):
    seq: int
    at: Time
    tenant: str  #: of the caller
    actor: str  #: the id of the caller's key
    action: str
    object: str | None  #: what was changed: a key, a role, a prompt, a tenant
    address: str | None
    request_id: str | None
    detail: dict[str, JsonValue]
    hash: str  #: SHA-256 of the hash before it and of this entry


class AuditVerification(Answer):
    intact: bool
    entries: int
    broken_at: int | None  #: the first entry that is not as it was written
    newest_hash: str | None  #: keep it elsewhere: a log that is cut off at its end is intact in itself
