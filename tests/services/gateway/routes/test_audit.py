"""The audit log records who changed what, and shows when it was tampered with."""

from __future__ import annotations

import httpx2 as httpx
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from shared import audit
from tests.services.gateway.conftest import Gateway
from tests.services.gateway.http.test_problems import EXECUTE, assert_problem


def entries(client: httpx.Client, **query: str) -> list[dict[str, object]]:
    answer = client.get("/v1/audit", params=query)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, object]] = answer.json()["items"]
    return items


def test_changes_are_told_with_who_made_them_and_no_secret(gateway: Gateway, admin: httpx.Client) -> None:
    made = admin.post("/v1/keys", json={"tenant": "fresh", "name": "ci", "scopes": ["read"]})
    admin.put("/v1/tenants/fresh/limits", json={"queued_jobs": 7})
    admin.delete(f"/v1/keys/{made.json()['id']}")
    revoked, limited, created = entries(admin, limit="3")
    assert (created["action"], created["object"], created["tenant"]) == ("keys.create", made.json()["id"], "acme")
    assert created["detail"] == {"tenant": "fresh", "name": "ci", "scopes": ["read"]}
    assert created["request_id"] == made.headers["x-request-id"]
    assert created["address"] == "127.0.0.1"
    assert (limited["action"], limited["object"], limited["detail"]) == ("limits.set", "fresh", {"queued_jobs": 7})
    assert (revoked["action"], revoked["object"]) == ("keys.revoke", made.json()["id"])
    assert made.json()["key"] not in str(entries(admin))


def test_what_is_refused_replayed_or_no_change_of_an_administrator_is_not_told(
    gateway: Gateway, admin: httpx.Client, client: httpx.Client
) -> None:
    before = entries(admin, limit="1")
    client.post("/v1/jobs", json=EXECUTE)
    admin.delete("/v1/keys/nothing")
    assert entries(admin, limit="1") == before
    wanted = {"tenant": "fresh", "name": "twice", "scopes": ["read"]}
    for _ in range(2):
        admin.post("/v1/keys", json=wanted, headers={"Idempotency-Key": "once"})
    newest, next_newest = entries(admin, limit="2")
    assert newest["action"] == "keys.create"
    assert next_newest in before


def test_it_is_read_in_pages_by_administrators(gateway: Gateway, admin: httpx.Client, client: httpx.Client) -> None:
    for number in range(3):
        admin.put("/v1/tenants/paged/limits", json={"queued_jobs": number})
    first = admin.get("/v1/audit?limit=2&action=limits.set").json()
    second = admin.get("/v1/audit", params={"limit": 1, "action": "limits.set", "cursor": first["next_cursor"]}).json()
    assert [item["detail"]["queued_jobs"] for item in [*first["items"], *second["items"]]] == [2, 1, 0]
    assert_problem(client.get("/v1/audit"), 403, "missing_scope")
    with gateway.client("paged", "tenant_admin") as own:
        assert entries(own) == []
        assert_problem(own.get("/v1/audit?tenant=acme"), 403, "missing_scope")
        assert_problem(own.get("/v1/audit/verification"), 403, "missing_scope")


def test_a_changed_entry_is_refused_and_else_found(gateway: Gateway, admin: httpx.Client) -> None:
    admin.put("/v1/tenants/chained/limits", json={"queued_jobs": 1})
    admin.put("/v1/tenants/chained/limits", json={"queued_jobs": 2})
    verified = admin.get("/v1/audit/verification").json()
    assert verified["intact"] is True
    assert verified["newest_hash"] == entries(admin, limit="1")[0]["hash"]
    number = entries(admin, limit="2")[1]["seq"]
    for change in (
        "UPDATE audit_log SET actor = 'nobody' WHERE seq = :seq",
        "DELETE FROM audit_log WHERE seq = :seq",
    ):
        with gateway.engine.connect() as connection:
            with pytest.raises(DBAPIError, match="only added"), connection.begin():
                connection.execute(text(change), {"seq": number})
            connection.execute(text("ALTER TABLE audit_log DISABLE TRIGGER ALL"))
            connection.execute(text(change), {"seq": number})
            broken_at = connection.execute(audit.verification()).mappings().one()["broken_at"]
            assert broken_at in (number, int(str(number)) + 1)
            connection.rollback()


def test_a_webhooks_secret_is_added_with_an_entry_that_does_not_hold_it(gateway: Gateway) -> None:
    with gateway.client("hooks", "read", "write", "tenant_admin") as client:
        made = client.post("/v1/webhooks/secrets", json={"secret": "whsec_" + "A" * 44})
        assert made.status_code == 201, made.text
        [entry] = entries(client, action="webhook_secrets.add")
    assert entry["object"] == made.json()["id"]
    assert made.json()["secret"] not in str(entry)
