"""Rows as the gateway would insert them."""

from __future__ import annotations

from uuid_utils import uuid7


def job_row(**given: object) -> dict[str, object]:
    """The columns of a submitted job; what is not given has its default."""
    job_id = str(uuid7())
    row: dict[str, object] = {
        "id": job_id,
        "tenant_id": "t",
        "kind": "execute",
        "priority": 5,
        "input": {},
        "labels": {},
        "budget": {},
        "overrides": {},
        "warnings": [],
        "actor": "test",
        **given,
    }
    return {"conversation_id": row["id"], **row}
