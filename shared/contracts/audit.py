"""The audit log: who changed what, and who read numbers of all tenants."""

from __future__ import annotations

from pydantic import JsonValue

from shared.contracts.common import Answer, Time


class AuditEntry(Answer):
    """One change, or one read of all tenants, as the audit log keeps it."""

    seq: int
    """Number of the entry; grows by one with each entry"""
    at: Time
    """Time of the change"""
    tenant: str
    """Tenant of the caller"""
    actor: str
    """Id of the API key that made the change"""
    action: str
    """Name of the change, such as `keys.create`, or `tenants.read`"""
    object: str | None
    """What was changed: the id of a key, a role, a prompt or a tenant; of a read the operation, such as `queues`; null
    if the change has no single object"""
    address: str | None
    """IP address that the request came from; null if unknown"""
    request_id: str | None
    """Id of the request, as in the server's logs"""
    detail: dict[str, JsonValue]
    """Structured details of the change, by name"""
    hash: str
    """SHA-256 of the previous entry's hash and of this entry, in hexadecimal digits"""


class AuditVerification(Answer):
    """Result of checking the audit log's chain of hashes."""

    intact: bool
    """Whether every entry is as it was written"""
    entries: int
    """Number of entries that the log holds"""
    broken_at: int | None
    """Number of the first entry that was altered or removed; null if the log is intact"""
    newest_hash: str | None
    """Hash of the last entry, null for an empty log. Store it elsewhere to detect a log cut off at its end"""
