"""Jobs and tenants are deleted with all that belongs to them, by those who may, and nothing else is."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from services.reconciler.retention import delete_tenants
from tests.services.gateway.conftest import Gateway

EXECUTE = {"kind": "execute", "input": {"language": "python", "code": "1"}}


def test_a_job_is_deleted_when_it_has_ended(gateway: Gateway) -> None:
    with gateway.client("acme") as client, gateway.client("other") as other, gateway.client("acme", "read") as reader:
        job = client.post("/v1/jobs", json=EXECUTE).json()["id"]
        refused = client.delete(f"/v1/jobs/{job}")
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        client.post(f"/v1/jobs/{job}/cancel")
        assert other.delete(f"/v1/jobs/{job}").status_code == 404
        assert reader.delete(f"/v1/jobs/{job}").status_code == 403
        assert client.delete(f"/v1/jobs/{job}").status_code == 204
        assert client.get(f"/v1/jobs/{job}").status_code == 404
        assert client.delete(f"/v1/jobs/{job}").status_code == 404
    with gateway.engine.connect() as connection:
        left = connection.execute(text("SELECT count(*) FROM job_events WHERE job_id = :id"), {"id": job}).scalar()
    assert left == 0


def test_a_tenant_is_deleted_with_all_that_belongs_to_it(gateway: Gateway) -> None:
    with gateway.client("doomed", "read", "write", "admin") as doomed, gateway.client("kept") as kept:
        for client in (doomed, kept):
            assert client.post("/v1/jobs", json=EXECUTE).status_code == 202
            assert client.post("/v1/files?name=a.txt", content=b"a").status_code == 201
            assert client.post("/v1/flows", json={"name": "f", "nodes": [], "edges": []}).status_code == 201
        assert doomed.delete("/v1/tenants/doomed").status_code == 409  # not with a key of its own
        assert kept.delete("/v1/tenants/doomed").status_code == 403
        with gateway.client("operators", "admin") as admin:
            assert admin.delete("/v1/tenants/doomed").status_code == 202
            assert doomed.get("/v1/jobs").status_code == 401, "its key was in use a moment ago"
            assert admin.delete("/v1/tenants/doomed").status_code == 202
        while delete_tenants(gateway.engine):
            pass
        assert len(kept.get("/v1/jobs").json()["items"]) == 1
        assert len(kept.get("/v1/files").json()["items"]) == 1
    guarded = "SELECT table_name FROM information_schema.columns WHERE column_name = 'tenant_id'"
    with gateway.engine.connect() as connection:
        tables = set(connection.execute(text(guarded)).scalars()) - {"audit_log"}
        of_tenant = {"tenant": "doomed"}
        counts = {
            table: connection.execute(
                text(f"SELECT count(*) FROM {table} WHERE tenant_id = :tenant"), of_tenant
            ).scalar()
            for table in tables
        }
        assert {table for table, count in counts.items() if count} == set()
        events = "SELECT count(*) - count(j.id), count(j.id) FROM job_events e LEFT JOIN jobs j ON j.id = e.job_id"
        assert connection.execute(text(events)).one() == (0, 1)  # that of the other tenant's job is there
        assert connection.execute(text("SELECT count(*) FROM tenant_deletions")).scalar() == 0
        with pytest.raises(Exception, match="has not been requested"):
            connection.execute(text("SELECT assay_delete_tenant('kept', 10)"))
