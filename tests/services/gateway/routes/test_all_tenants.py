"""Operations that promise numbers of all tenants keep it under the gateway's role, which sees one tenant at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx2 as httpx
import pytest
from sqlalchemy import text

from services.gateway.app import create_app
from tests.services.gateway.conftest import Gateway, settings_of
from tests.services.gateway.http.test_problems import assert_problem
from tests.services.gateway.workers import claim, complete

BUSY = {"calm": 2, "flood": 5}
_PROMISES = re.compile(r"\b(all|any|every|other) tenants?\b|\btenants use\b|\btenant may use\b")


@pytest.fixture(scope="module")
def busy(gateway: Gateway) -> Iterator[dict[str, httpx.Client]]:
    """Two tenants with queued jobs and one job each that has ended."""
    clients = {tenant: gateway.client(tenant) for tenant in BUSY}
    for tenant, client in clients.items():
        for number in range(BUSY[tenant] + 1):
            body = {"kind": "execute", "input": {"language": "python", "code": str(number)}}
            assert client.post("/v1/jobs", json=body).status_code == 202
    for _ in BUSY:
        complete(gateway.engine, *claim(gateway.engine), {"verdict": "ok"})
    yield clients
    for client in clients.values():
        client.close()


@pytest.fixture(scope="module")
def operator(gateway: Gateway) -> Iterator[httpx.Client]:
    """An administrator of a third tenant, which has no jobs."""
    with gateway.client("operators", "read", "write", "admin") as client:
        yield client


def _of_execute(answer: Any) -> dict[str, Any]:
    kinds: dict[str, dict[str, Any]] = {each["kind"]: each for each in answer["items"]}
    return kinds["execute"]


def _queues(operator: httpx.Client, busy: dict[str, httpx.Client]) -> None:
    seen = _of_execute(operator.get("/v1/queues").json())
    assert (seen["queued"], seen["ended_last_hour"]) == (sum(BUSY.values()), len(BUSY))
    assert [(each["tenant"], each["queued"]) for each in seen["tenants"]] == [("flood", 5), ("calm", 2)]
    own = [_of_execute(client.get("/v1/queues").json()) for client in busy.values()]
    assert sum(each["queued"] for each in own) == seen["queued"]
    assert all(0 < each["queued"] < seen["queued"] for each in own)
    assert [[tenant["tenant"] for tenant in each["tenants"]] for each in own] == [["calm"], ["flood"]]


def _history(operator: httpx.Client, busy: dict[str, httpx.Client]) -> None:
    seen = _of_execute(operator.get("/v1/queues/history").json())
    assert (sum(seen["submitted"]), sum(seen["ended"])) == (sum(BUSY.values()) + len(BUSY), len(BUSY))
    assert seen["queued"][-1] == sum(BUSY.values())
    for tenant, client in busy.items():
        assert sum(_of_execute(client.get("/v1/queues/history").json())["submitted"]) == BUSY[tenant] + 1


def _stats(operator: httpx.Client, busy: dict[str, httpx.Client]) -> None:
    rows = operator.get("/v1/stats", params={"by": "tenant", "bucket": "all"}).json()["items"]
    assert {row["group"]: row["jobs"] for row in rows} == {tenant: jobs + 1 for tenant, jobs in BUSY.items()}
    assert operator.get("/v1/stats", params={"by": "kind", "bucket": "all"}).json()["items"] == []
    for client in busy.values():
        assert_problem(client.get("/v1/stats", params={"by": "tenant"}), 403, "missing_scope")


def _limits(operator: httpx.Client, busy: dict[str, httpx.Client]) -> None:
    for tenant, jobs in BUSY.items():
        seen = operator.get(f"/v1/tenants/{tenant}/limits").json()
        own = busy[tenant].get("/v1/limits").json()
        assert _quota(seen, "queued_jobs") == _quota(own, "queued_jobs") == jobs


def _quota(limits: Any, name: str) -> int:
    used: int = limits["quotas"][name]["used"]
    return used


def _models(operator: httpx.Client, busy: dict[str, httpx.Client]) -> None:
    assert operator.put("/v1/tenants/calm/models", json={"models": ["groq/*"]}).status_code == 200
    seen = {tenant: operator.get(f"/v1/tenants/{tenant}/models").json() for tenant in BUSY}
    assert {tenant: (each["models"], each["own"]) for tenant, each in seen.items()} == {
        "calm": (["groq/*"], True),
        "flood": (seen["flood"]["models"], False),
    }
    assert operator.delete("/v1/tenants/calm/models").status_code == 204


def _keys(operator: httpx.Client, busy: dict[str, httpx.Client]) -> None:
    assert {*BUSY, "operators"} <= {key["tenant"] for key in operator.get("/v1/keys").json()["items"]}


def _audit(operator: httpx.Client, busy: dict[str, httpx.Client]) -> None:
    operator.get("/v1/queues")
    items = operator.get("/v1/audit", params={"action": "tenants.read"}).json()["items"]
    assert ("operators", "queues") in {(item["tenant"], item["object"]) for item in items}


#: How each operation that promises to see all tenants, or any, is checked.
CHECKS: dict[tuple[str, str], Callable[[httpx.Client, dict[str, httpx.Client]], None]] = {
    ("get", "/v1/audit"): _audit,
    ("get", "/v1/keys"): _keys,
    ("get", "/v1/queues"): _queues,
    ("get", "/v1/queues/history"): _history,
    ("get", "/v1/stats"): _stats,
    ("get", "/v1/tenants/{tenant}/limits"): _limits,
    ("get", "/v1/tenants/{tenant}/models"): _models,
}
#: Not reads, or about an empty set that is the same for all.
NO_READS = {
    ("put", "/v1/tenants/{tenant}/limits"),
    ("put", "/v1/tenants/{tenant}/models"),
    ("get", "/v1/stacks/definitions"),
}


def test_each_operation_that_promises_all_tenants_is_checked(gateway: Gateway) -> None:
    promising = set()
    for path, operations in create_app(settings_of(gateway.settings.stores)).openapi()["paths"].items():
        for method, operation in operations.items():
            texts = [operation.get("summary", ""), operation.get("description", "")]
            texts += [parameter.get("description", "") for parameter in operation.get("parameters", ())]
            if path.startswith("/v1/tenants/{tenant}") or any(map(_PROMISES.search, texts)):
                promising.add((method, path))
    assert {each for each in promising if each[0] == "get"} - NO_READS == set(CHECKS)


@pytest.mark.parametrize("operation", sorted(CHECKS), ids=lambda operation: operation[1])
def test_a_promise_of_all_tenants_is_kept_with_the_rights_of_the_gateway(
    operation: tuple[str, str], operator: httpx.Client, busy: dict[str, httpx.Client]
) -> None:
    CHECKS[operation](operator, busy)


def test_a_read_of_all_tenants_is_in_the_audit_log_once_an_hour_and_not_that_of_a_tenant(
    gateway: Gateway, busy: dict[str, httpx.Client]
) -> None:
    with gateway.client("watchers", "read", "admin") as watcher:
        for _ in range(3):
            watcher.get("/v1/queues")
            watcher.get("/v1/stats", params={"by": "tenant", "bucket": "all"})
        watcher.get("/v1/stats", params={"by": "kind"})
        query = {"action": "tenants.read", "tenant": "watchers"}
        items = watcher.get("/v1/audit", params=query).json()["items"]
        assert [(item["object"], item["detail"]) for item in items] == [
            ("stats", {"by": "tenant", "bucket": "all"}),
            ("queues", {}),
        ]
        for tenant, client in busy.items():
            client.get("/v1/queues")
            assert watcher.get("/v1/audit", params={**query, "tenant": tenant}).json()["items"] == []


def test_a_read_of_all_tenants_that_cannot_be_recorded_is_refused(gateway: Gateway) -> None:
    with gateway.client("unrecorded", "read", "admin") as watcher:
        revoke, grant = "REVOKE INSERT ON audit_log FROM", "GRANT INSERT ON audit_log TO"
        with gateway.engine.begin() as connection:
            connection.execute(text(f"{revoke} assay_gateway"))
        try:
            refused = watcher.get("/v1/queues")
        finally:
            with gateway.engine.begin() as connection:
                connection.execute(text(f"{grant} assay_gateway"))
        assert refused.status_code >= 500
        assert watcher.get("/v1/queues").status_code == 200
