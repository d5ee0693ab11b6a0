"""Pressure: how much a tenant may request, and when it may come again."""

from __future__ import annotations

import re
from dataclasses import replace

import httpx2 as httpx
import pytest

from shared.llm.settings import CallSettings, ProviderSettings
from shared.llm.tables import llm_calls
from tests.services.gateway import workers
from tests.services.gateway.conftest import Gateway, serving, with_http
from tests.services.gateway.http.test_problems import EXECUTE, assert_problem
from tests.support.wait import until


def test_every_answer_says_what_is_left(client: httpx.Client) -> None:
    for answer in (client.get("/v1/jobs"), client.get("/v1/jobs/x"), client.post("/v1/jobs", content=b"{")):
        assert re.fullmatch(r'"tenant";q=\d+;w=60', answer.headers["ratelimit-policy"])
        assert re.fullmatch(r'"tenant";r=\d+;t=\d+', answer.headers["ratelimit"])


@pytest.mark.slow
def test_a_tenant_that_asks_too_much_is_told_when_to_come_again(gateway: Gateway) -> None:
    hasty, patient = gateway.key("hasty"), gateway.key("patient")
    limited = with_http(gateway.settings, requests_per_minute=5)
    with serving(limited) as first, serving(limited) as second:
        statuses = []
        for number in range(12):
            url = first if number % 2 else second
            answer = httpx.get(f"{url}/v1/jobs", headers={"Authorization": f"Bearer {hasty}"})
            statuses.append(answer.status_code)
        # The minute may turn once in between; replicas share the count.
        assert 5 <= statuses.count(200) <= 10
        assert answer.status_code == 429
        assert_problem(answer, 429, "rate_limited")
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert answer.headers["ratelimit-policy"] == '"tenant";q=5;w=60'
        assert answer.headers["ratelimit"].startswith('"tenant";r=0;t=')
        other = httpx.get(f"{first}/v1/jobs", headers={"Authorization": f"Bearer {patient}"})
        assert other.status_code == 200
        assert httpx.get(f"{first}/healthz").status_code == 200


@pytest.mark.slow
def test_quotas_are_told_set_and_refused_by_name(gateway: Gateway, admin: httpx.Client) -> None:
    workers.advertise(gateway.engine)
    with gateway.client("frugal") as client:
        quotas = client.get("/v1/limits").json()["quotas"]
        assert quotas["queued_jobs"] == {"limit": 100_000, "used": 0, "own": None, "default": 100_000}
        assert quotas["tokens_per_day"]["limit"] == quotas["tokens_per_day"]["default"] == 100_000_000
        set_now = admin.put("/v1/tenants/frugal/limits", json={"queued_jobs": 1, "storage_bytes": 5, "streams": 0})
        told = set_now.json()["quotas"]
        assert told["queued_jobs"] == {"limit": 1, "used": 0, "own": 1, "default": 100_000}
        assert (told["streams"]["own"], told["running_jobs"]["own"]) == (0, None)
        until(lambda: client.get("/v1/limits").json()["quotas"]["streams"]["limit"] == 0, "the limits are in force")
        job = client.post("/v1/jobs", json=EXECUTE).json()
        stored = client.post("/v1/files?name=a", content=b"12345")
        assert stored.status_code == 201
        for refused, quota, limit in (
            (client.post("/v1/jobs", json=EXECUTE), "queued_jobs", 1),
            (client.post("/v1/files?name=b", content=b"1"), "storage_bytes", 5),
            (client.post("/v1/files?name=b", content=iter([b"1"])), "storage_bytes", 5),
            (client.get(job["links"]["events"]), "streams", 0),
        ):
            problem = assert_problem(refused, 429, "quota_exceeded")
            assert (problem["quota"], problem["limit"]) == (quota, limit)
            assert int(refused.headers["retry-after"]) >= 1
        assert [file["id"] for file in client.get("/v1/files").json()["items"]] == [stored.json()["id"]]
        assert_problem(client.put("/v1/tenants/frugal/limits", json={}), 403, "missing_scope")
        assert_problem(admin.put("/v1/tenants/frugal/limits", json={"queued_jobs": -1}), 422, "invalid_request")
        assert_problem(admin.put("/v1/tenants/frugal/limits", json={"weight": 0}), 422, "invalid_request")
        assert admin.put("/v1/tenants/frugal/limits", json={"weight": 5}).json()["weight"] == 5
        with gateway.engine.connect() as connection:
            weights = connection.exec_driver_sql("SELECT weight FROM tenant_limits WHERE tenant_id = 'frugal'")
            assert weights.scalar_one() == 5, "which claims go by (tests/shared/jobs/test_turns.py)"
        endless = admin.put("/v1/tenants/frugal/limits", json={"tokens_per_day": 0}).json()["quotas"]["tokens_per_day"]
        assert (endless["limit"], endless["own"], endless["default"]) == (None, 0, 100_000_000)
        unset = admin.put("/v1/tenants/frugal/limits", json={}).json()
        assert (unset["quotas"]["queued_jobs"]["limit"], unset["weight"]) == (100_000, 1)
        assert admin.get("/v1/tenants/frugal/limits").json()["quotas"]["queued_jobs"]["used"] == 1
    with gateway.client("lavish") as other:
        assert other.post("/v1/jobs", json=EXECUTE).status_code == 202


@pytest.mark.slow
def test_who_stores_too_much_submits_nothing_until_it_deletes(gateway: Gateway, admin: httpx.Client) -> None:
    workers.advertise(gateway.engine)
    large = {"kind": "execute", "input": {"language": "python", "code": "#" * 20_000}}
    with gateway.client("hoarder") as client:
        admin.put("/v1/tenants/hoarder/limits", json={"storage_bytes": 10_000})
        job = client.post("/v1/jobs", json=large)
        assert job.status_code == 202

        def refused() -> bool:  # counted once in a second
            return client.post("/v1/jobs", json=EXECUTE).status_code == 429

        until(refused, "a refusal for what is stored")
        problem = assert_problem(client.post("/v1/jobs", json=EXECUTE), 429, "quota_exceeded")
        assert (problem["quota"], problem["limit"]) == ("storage_bytes", 10_000)
        assert client.get("/v1/limits").json()["quotas"]["storage_bytes"]["used"] >= 20_000
        client.post(job.json()["links"]["cancel"])
        assert client.delete(job.json()["links"]["self"]).status_code == 204
        until(lambda: client.post("/v1/jobs", json=EXECUTE).status_code == 202, "place after the deletion")


@pytest.mark.slow
def test_a_tenant_may_have_a_rate_of_its_own(gateway: Gateway, admin: httpx.Client) -> None:
    admin.put("/v1/tenants/slow/limits", json={"requests_per_minute": 3})
    with gateway.client("slow") as client:
        statuses = [client.get("/v1/jobs").status_code for _ in range(8)]
    assert statuses[-1] == 429
    assert 3 <= statuses.count(200) <= 6  # the minute may turn once in between


@pytest.mark.slow
def test_jobs_that_wait_are_counted(gateway: Gateway) -> None:
    workers.advertise(gateway.engine)
    key = gateway.key("queuer")
    headers = {"Authorization": f"Bearer {key}"}
    with serving(with_http(gateway.settings, queued_per_tenant=3)) as url:
        for _ in range(3):
            assert httpx.post(f"{url}/v1/jobs", json=EXECUTE, headers=headers).status_code == 202
        refused = httpx.post(f"{url}/v1/jobs", json=EXECUTE, headers=headers)
        assert_problem(refused, 429, "quota_exceeded")
        assert int(refused.headers["retry-after"]) >= 1
        batch = httpx.post(f"{url}/v1/batches", json={"jobs": [EXECUTE]}, headers=headers)
        assert_problem(batch, 429, "quota_exceeded")
    with serving(with_http(gateway.settings, queued_in_all=1)) as url:
        refused = httpx.post(f"{url}/v1/jobs", json=EXECUTE, headers=headers)
        assert_problem(refused, 503, "overloaded")
        assert int(refused.headers["retry-after"]) >= 1


@pytest.mark.slow
def test_a_tenant_that_has_spent_its_model_tokens_of_the_day_is_refused_what_asks_models(gateway: Gateway) -> None:
    workers.advertise(gateway.engine)
    task = {"kind": "transform", "input": {"task": "x", "data": [{"csv": "a\n1\n"}]}}
    call = {
        "turn": 1,
        "attempt": 1,
        "role": "r",
        "requested_provider": "p",
        "requested_model": "m",
        "reason": "primary",
    }
    with gateway.engine.begin() as connection:
        spent = {**call, "tenant_id": "spender", "outcome": "ok", "seconds": 1, "source": "live", "input_tokens": 10}
        connection.execute(llm_calls.insert().values(spent))
    calls = CallSettings(tenant_tokens_per_day=10)
    keyed = replace(gateway.settings, calls=calls, providers=ProviderSettings({"GROQ_API_KEY": "x"}))
    with serving(keyed) as url:
        headers = {"Authorization": f"Bearer {gateway.key('spender')}"}
        refused = httpx.post(f"{url}/v1/jobs", json=task, headers=headers)
        assert_problem(refused, 429, "quota_exceeded")
        assert int(refused.headers["retry-after"]) >= 1
        assert httpx.post(f"{url}/v1/jobs", json=EXECUTE, headers=headers).status_code == 202
        frugal = {"Authorization": f"Bearer {gateway.key('frugal')}"}
        assert httpx.post(f"{url}/v1/jobs", json=task, headers=frugal).status_code == 202


def test_only_origins_that_were_named_may_call_from_a_browser(gateway: Gateway) -> None:
    asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    assert "access-control-allow-origin" not in httpx.options(f"{gateway.url}/v1/jobs", headers=asked).headers
    with serving(with_http(gateway.settings, cors_origins="https://app.example, https://b.example")) as url:
        allowed = httpx.options(f"{url}/v1/jobs", headers=asked)
        assert allowed.headers["access-control-allow-origin"] == "https://app.example"
        other = httpx.options(f"{url}/v1/jobs", headers={**asked, "Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers
        refused = httpx.get(f"{url}/v1/jobs", headers={"Origin": "https://app.example"})
        assert refused.headers["access-control-allow-origin"] == "https://app.example"


def test_the_numbers_are_those_of_the_record(gateway: Gateway, client: httpx.Client, admin: httpx.Client) -> None:
    client.post("/v1/jobs", json=EXECUTE)
    assert_problem(client.get("/metrics"), 403, "missing_scope")
    assert_problem(httpx.get(f"{gateway.url}/metrics"), 401, "not_authenticated")
    text = admin.get("/metrics").text
    for name in ("job_queue_depth", "job_queue_age_seconds", "jobs_submitted_total"):
        value = re.search(rf'^{name}{{queue="execute"}} ([0-9.e+-]+)$', text, re.MULTILINE)
        assert value is not None, name
        assert float(value[1]) > 0
    assert 'http_server_request_duration_seconds_count{method="POST",route="/v1/jobs",status="202"}' in text
    assert "acme" not in text
