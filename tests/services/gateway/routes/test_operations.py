"""Queues, workers and sums, on real rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx2 as httpx
import pytest
from pydantic import JsonValue
from sqlalchemy import insert, text

from shared.jobs.record.listing import MAX_INSPECTED
from shared.llm.tables import llm_calls
from tests.services.gateway.conftest import Gateway
from tests.services.gateway.workers import advertise, claim, complete, retire

_CALL: dict[str, Any] = {
    "turn": 1, "attempt": 1, "role": "execution.transform", "requested_provider": "groq", "requested_model": "m",
    "served_provider": "groq", "served_model": "m", "reason": "primary", "cause": None, "outcome": "ok",
    "http_status": 200, "input_tokens": 100, "output_tokens": 10, "cached_tokens": None, "cost_usd": 0.5,
    "prompt_key": "execution.transform", "prompt_version": 2, "seconds": 1.0, "first_token_seconds": 0.25,
    "finish": "stop", "detail": None, "source": "live",
}  # fmt: skip


@pytest.fixture
def worked(gateway: Gateway) -> Iterator[tuple[httpx.Client, list[str]]]:
    """A tenant with one job that succeeded after a failover, one that failed, and one that waits."""
    tenant = f"op{datetime.now(UTC).timestamp():.6f}".replace(".", "")
    advertise(gateway.engine, "execute")
    with gateway.client(tenant) as client:
        ids = []
        for code in ("# first\n1", "second", "third"):
            body = {"kind": "execute", "input": {"language": "python", "code": code}, "labels": {"n": code[:1]}}
            ids.append(client.post("/v1/jobs", json=body).json()["id"])
        for result in ({"verdict": "ok"}, None):
            job, fence = claim(gateway.engine)
            complete(gateway.engine, job, fence, result)
        unknown = ("served_provider", "served_model", "cost_usd", "input_tokens", "output_tokens")
        skipped = {**dict.fromkeys(unknown), "outcome": "skipped", "cause": "parked"}
        second = {"attempt": 2, "reason": "failover", "requested_provider": "cerebras", "served_provider": "cerebras"}
        rows = [{**_CALL, **skipped}, {**_CALL, **second}, {**_CALL, "turn": 2, "cost_usd": None}]
        with gateway.engine.begin() as connection:
            connection.execute(insert(llm_calls), [{**row, "tenant_id": tenant, "job_id": ids[0]} for row in rows])
        yield client, ids
        claim(gateway.engine)
    retire(gateway.engine)


Worked = tuple[httpx.Client, list[str]]


def _ids(client: httpx.Client, **query: str | list[str]) -> list[str]:
    answer = client.get("/v1/jobs", params=query)
    assert answer.status_code == 200, answer.text
    return [job["id"] for job in answer.json()["items"]]


def test_a_list_says_what_each_job_was_about_and_how_it_went(worked: Worked) -> None:
    client, ids = worked
    items = {job["id"]: job for job in client.get("/v1/jobs").json()["items"]}
    first, second, third = (items[id] for id in ids)
    assert (first["title"], first["verdict"], first["turns"], first["failed_over"]) == ("first", "ok", 2, True)
    assert first["served"] == {"provider": "groq", "model": "m"}
    assert (second["title"], second["verdict"], second["turns"], second["served"]) == ("python: second", None, 0, None)
    assert (third["state"], third["waiting"]["reason"]) == ("queued", "in_queue")


def test_a_list_is_filtered_by_any_of_what_it_shows(worked: Worked) -> None:
    client, (first, second, third) = worked
    assert _ids(client, state=["failed", "queued"]) == [third, second]
    assert _ids(client, kind=["execute", "transform"]) == [third, second, first]
    assert _ids(client, q="ECO") == [second]
    assert _ids(client, q="%") == []
    assert _ids(client, provider="cerebras") == [first]
    assert _ids(client, model="m", failed_over="true") == [first]
    assert _ids(client, failed_over="false") == [third, second]
    assert _ids(client, warnings="true") == [second, first]
    assert _ids(client, warnings="false") == [third]
    assert _ids(client, prompt="execution.transform@2") == [first]
    assert _ids(client, prompt="execution.transform@3") == []
    assert _ids(client, error_code="budget_spent") == [second]
    assert _ids(client, label="n=t") == [third]
    assert _ids(client, label="n:t") == [third]
    assert _ids(client, created_before=datetime.now(UTC).isoformat(), created_after="2026-01-01T00:00:00Z")
    counted = client.get("/v1/jobs", params={"total": "true", "limit": 1}).json()
    assert (counted["total"], len(counted["items"])) == (3, 1)


def test_jobs_are_counted_by_state_for_the_filter_of_the_list(worked: Worked) -> None:
    client, _ = worked

    def counts(**query: str | list[str]) -> dict[str, tuple[int, bool]]:
        answer = client.get("/v1/jobs/counts", params=query)
        assert answer.status_code == 200, answer.text
        return {each["state"]: (each["jobs"], each["more"]) for each in answer.json()["items"]}

    none = (0, False)
    expected = {"queued": (1, False), "running": none, "succeeded": (1, False), "failed": (1, False)}
    assert counts() == {**expected, "cancelled": none, "dead": none}
    assert counts(state=["failed"]) == {"failed": (1, False)}
    assert counts(q="third") == {**dict.fromkeys(counts(), none), "queued": (1, False)}
    assert counts(failed_over="true")["succeeded"] == (1, False)
    assert counts(kind="flow") == dict.fromkeys(counts(), none)
    assert client.get("/v1/jobs/counts", params={"limit": 1}).status_code == 422


@pytest.mark.parametrize("query", ["colour=red", "state=odd", "prompt=x", "label=x", "created_after=2026-01-01"])
def test_a_filter_that_would_filter_nothing_is_refused(client: httpx.Client, query: str) -> None:
    answer = client.get(f"/v1/jobs?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert answer.json()["errors"][0]["loc"][1] == query.split("=", maxsplit=1)[0]


def test_a_job_tells_who_submitted_it_and_its_calls_tell_why(worked: Worked) -> None:
    client, (first, *_) = worked
    job = client.get(f"/v1/jobs/{first}").json()
    assert job["actor"] == client.get("/v1/session").json()["key_id"]
    assert (job["budget"], job["overrides"], job["crashes"], job["worker_id"]) == ({}, {}, 0, "w1")
    calls = client.get(f"/v1/jobs/{first}/llm-calls").json()["items"]
    assert [call["cause"] for call in calls] == ["parked", None, None]
    assert (calls[1]["first_token_seconds"], calls[1]["finish"], calls[1]["job_attempt"]) == (0.25, "stop", 1)
    assert calls[1]["id"] > calls[0]["id"]


@pytest.mark.slow
def test_queues_count_what_waits_and_what_came_and_went(worked: Worked) -> None:
    client, _ = worked
    queue = next(each for each in client.get("/v1/queues").json()["items"] if each["kind"] == "execute")
    assert (queue["queued"], queue["ended_last_hour"], queue["failed_last_hour"]) == (1, 2, 1)
    assert queue["workers"] == 1
    assert queue["oldest_seconds"] >= 0


def test_workers_are_for_administrators(worked: Worked, admin: httpx.Client) -> None:
    client, _ = worked
    assert client.get("/v1/workers").status_code == 403
    worker = next(each for each in admin.get("/v1/workers").json()["items"] if each["id"] == "w1")
    assert (worker["alive"], worker["kinds"], worker["concurrency"]) == (True, ["execute"], 4)


def test_sums_are_those_of_the_ledger(worked: Worked) -> None:
    client, _ = worked
    (row,) = client.get("/v1/stats", params={"by": "kind"}).json()["items"]
    assert (row["group"], row["jobs"], row["succeeded"], row["failed"]) == ("execute", 3, 1, 1)
    assert (row["calls"], row["input_tokens"], row["output_tokens"]) == (2, 200, 20)
    assert (row["cost_usd"], row["unpriced"]) == (0.5, 1)
    assert row["wait_p50"] is not None
    models = client.get("/v1/stats", params={"by": "model", "bucket": "hour"}).json()["items"]
    assert {each["group"]: (each["calls"], each["failovers"]) for each in models} == {
        "cerebras/m": (1, 1),
        "groq/m": (1, 0),
    }
    prompts = client.get("/v1/stats", params={"by": "prompt"}).json()["items"]
    assert [(each["group"], each["jobs"]) for each in prompts] == [("execution.transform@2", 1)]


def test_sums_tell_the_turns_of_jobs_that_succeeded_and_are_whole_for_the_whole_time(worked: Worked) -> None:
    client, _ = worked
    for by in ("kind", "role"):
        (row,) = client.get("/v1/stats", params={"by": by, "bucket": "all"}).json()["items"]
        assert (row["turns_p50"], row["turns_mean"], row["turns_jobs"]) == (2, 2, 1)
        assert (row["calls"], row["errors"], row["jobs"]) == (2, 0, {"kind": 3, "role": 1}[by])
    answer = client.get("/v1/stats", params={"by": "role", "bucket": "all"}).json()
    assert (answer["items"][0]["at"], answer["source"]) == (answer["since"], None)
    by_minute = client.get("/v1/stats", params={"bucket": "minute", "from": _ago(minutes=5)}).json()["items"]
    assert sum(row["jobs"] for row in by_minute) == 3


def test_sums_by_outcome_tell_why_jobs_failed(worked: Worked, gateway: Gateway) -> None:
    client, ids = worked
    code = client.get(f"/v1/jobs/{ids[1]}").json()["error"]["code"]
    results: list[dict[str, JsonValue]] = [
        {"verdict": "timeout_wall"},
        {"status": "unverified"},
        {"success": False},
        {"blocks": [{"status": "error"}]},
        {},
    ]
    for number, result in enumerate(results):
        body = {"kind": "execute", "input": {"language": "python", "code": str(number)}}
        client.post("/v1/jobs", json=body).raise_for_status()
        complete(gateway.engine, *claim(gateway.engine), result)
    rows = client.get("/v1/stats", params={"by": "outcome", "bucket": "all"}).json()["items"]
    assert {row["group"]: (row["jobs"], row["failed"]) for row in rows} == {
        "ok": (1, 0), code: (1, 1), "timeout_wall": (1, 0), "unverified": (1, 0), "failed": (1, 0),
        "block_failed": (1, 0), "succeeded": (1, 0), "queued": (1, 0),
    }  # fmt: skip
    by_minute = client.get("/v1/stats", params={"by": "outcome", "bucket": "minute", "from": _ago(minutes=5)}).json()
    assert sum(row["jobs"] for row in by_minute["items"]) == 8
    of_each = client.get("/v1/jobs/counts", params={"outcomes": True}).json()["outcomes"]
    assert of_each == {row["group"]: row["jobs"] for row in rows}
    assert client.get("/v1/jobs/counts").json()["outcomes"] is None


@pytest.mark.parametrize(
    ("outcomes", "jobs"),
    [
        (["ok"], [0]),
        (["budget_spent"], [1]),
        (["failed"], [1]),
        (["succeeded"], [0]),
        (["queued", "ok"], [2, 0]),
        (["timeout_wall"], []),
    ],
)
def test_jobs_are_listed_and_counted_by_outcome(worked: Worked, outcomes: list[str], jobs: list[int]) -> None:
    client, ids = worked
    assert _ids(client, outcome=outcomes) == [ids[place] for place in jobs]
    counts = client.get("/v1/jobs/counts", params={"outcome": outcomes}).json()["items"]
    assert sum(each["jobs"] for each in counts) == len(jobs)


def test_sums_keep_calls_of_other_sources_apart(worked: Worked, gateway: Gateway) -> None:
    client, ids = worked
    tenant = client.get("/v1/session").json()["tenant"]
    scripted = {**_CALL, "tenant_id": tenant, "job_id": ids[1], "source": "scripted", "outcome": "rate_limited"}
    with gateway.engine.begin() as connection:
        connection.execute(insert(llm_calls), [scripted])
    live, other, none = (
        client.get("/v1/stats", params={"source": source, "bucket": "all"}).json()["items"]
        for source in ("live", "scripted", "replay")
    )
    assert [(row["jobs"], row["calls"], row["errors"], row["cost_usd"]) for row in live] == [(1, 2, 0, 0.5)]
    assert [(row["jobs"], row["calls"], row["errors"], row["turns_jobs"]) for row in other] == [(1, 1, 1, 0)]
    assert none == []
    (role,) = client.get("/v1/stats", params={"source": "scripted", "by": "role"}).json()["items"]
    assert (role["jobs"], role["calls"], role["errors"]) == (1, 1, 1)
    assert client.get("/v1/stats", params={"source": "odd"}).status_code == 422


def test_a_model_that_answered_for_another_is_told_with_the_reason(worked: Worked) -> None:
    client, _ = worked
    groq, cerebras = ({"provider": name, "model": "m"} for name in ("groq", "cerebras"))
    rows = client.get("/v1/stats/served").json()["items"]
    assert rows == [
        {"requested": groq, "served": cerebras, "requests": 1, "jobs": 1, "causes": ["skipped"]},
        {"requested": groq, "served": groq, "requests": 1, "jobs": 1, "causes": []},
    ]
    assert client.get("/v1/stats/served", params={"source": "replay"}).json()["items"] == []


def test_attempts_of_two_requests_at_once_are_told_apart(gateway: Gateway) -> None:
    one, two, hedged = (str(uuid4()) for _ in range(3))
    failed = {**dict.fromkeys(("served_provider", "served_model", "cost_usd")), "outcome": "timeout"}
    other = {"requested_provider": "cerebras", "served_provider": "cerebras"}
    rows = [
        {**_CALL, "attempt": 1, "request": one, **failed},
        {**_CALL, "attempt": 1, "request": two},
        {**_CALL, "attempt": 2, "request": one, "reason": "failover", **other},
        {**_CALL, "attempt": 1, "request": hedged, "reason": "hedge", **other},
        {**_CALL, "attempt": 2, "request": hedged, **failed, "outcome": "abandoned"},
    ]
    with gateway.client("asked") as client:
        with gateway.engine.begin() as connection:
            connection.execute(insert(llm_calls), [{**row, "tenant_id": "asked", "job_id": "j"} for row in rows])
        groq, cerebras = ({"provider": name, "model": "m"} for name in ("groq", "cerebras"))
        assert client.get("/v1/stats/served").json()["items"] == [
            {"requested": groq, "served": cerebras, "requests": 2, "jobs": 1, "causes": ["abandoned", "timeout"]},
            {"requested": groq, "served": groq, "requests": 1, "jobs": 1, "causes": []},
        ]


def test_a_time_of_which_too_much_is_asked_is_refused(worked: Worked) -> None:
    client, _ = worked
    assert client.get("/v1/stats/served", params={"from": _ago(days=2000)}).status_code == 422


def _ago(**time: float) -> str:
    return (datetime.now(UTC) - timedelta(**time)).isoformat()


def test_the_last_hour_of_a_queue_is_told_minute_by_minute(worked: Worked) -> None:
    client, _ = worked
    kinds = {each["kind"]: each for each in client.get("/v1/queues/history").json()["items"]}
    past = kinds["execute"]
    assert {len(past[name]) for name in ("queued", "submitted", "ended", "failed")} == {60}
    assert [sum(past[name]) for name in ("submitted", "ended", "failed")] == [3, 2, 1]
    assert (past["queued"][0], past["queued"][-1]) == (0, 1)
    assert kinds["flow"]["queued"] == [0] * 60


def test_sums_are_of_the_own_tenant_and_of_a_bounded_time(worked: Worked, admin: httpx.Client) -> None:
    client, _ = worked
    assert client.get("/v1/stats", params={"by": "tenant"}).status_code == 403
    tenants = {row["group"] for row in admin.get("/v1/stats", params={"by": "tenant"}).json()["items"]}
    assert client.get("/v1/session").json()["tenant"] in tenants
    long_ago = (datetime.now(UTC) - timedelta(days=400)).isoformat()
    assert client.get("/v1/stats", params={"bucket": "hour", "from": long_ago}).status_code == 422
    assert client.get("/v1/stats", params={"from": "2126-01-01T00:00:00Z"}).status_code == 422


def test_settings_are_told_with_their_source_and_without_secrets(gateway: Gateway) -> None:
    with gateway.client("settings", "read", "write") as client:
        assert client.get("/v1/settings").status_code == 403
    with gateway.client("settings", "admin") as admin:
        answer = admin.get("/v1/settings")
    told = {each["name"]: each for each in answer.json()["items"]}
    lease = told["ASSAY_LEASE_SECONDS"]
    assert (lease["value"], lease["told"], lease["source"]) == (gateway.settings.jobs.lease_seconds, True, "default")
    address = told["DATABASE_URL"]
    assert (address["value"], address["told"], address["source"]) == (None, False, "environment")
    assert told["ASSAY_COMPATIBILITY_KEY"]["told"] is False
    stores = gateway.settings.stores
    assert not any(place in answer.text for place in (stores.database_url, stores.redis_url, stores.blob_url))


def test_the_doctor_tells_what_is_well_and_what_to_do_about_the_rest(gateway: Gateway) -> None:
    with gateway.client("doctor", "read", "write") as client:
        assert client.get("/v1/doctor").status_code == 403
    advertise(gateway.engine, "execute")
    try:
        with gateway.client("doctor", "admin") as admin:
            answer = admin.get("/v1/doctor")
    finally:
        retire(gateway.engine)
    checks = {each["name"]: each for each in answer.json()["items"]}
    for name in ("postgres", "redis", "schema", "clock", "connections", "worker execute"):
        assert (checks[name]["ok"], checks[name]["remedy"]) == (True, None), checks[name]
    search = checks["worker search"]
    assert (search["ok"], search["grave"]) == (False, True)
    assert search["finding"] == "No worker that serves search jobs is running."
    assert search["remedy"].startswith("Start its worker")
    stores = gateway.settings.stores
    assert not any(place in answer.text for place in (stores.database_url, stores.redis_url, stores.blob_url))


def test_the_doctor_sees_tables_of_another_revision(gateway: Gateway) -> None:
    with gateway.engine.begin() as connection:
        newest = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
        connection.commit()
    try:
        with gateway.client("doctor", "admin") as admin:
            checks = {each["name"]: each for each in admin.get("/v1/doctor").json()["items"]}
    finally:
        with gateway.engine.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :newest"), {"newest": newest})
            connection.commit()
    assert checks["schema"]["ok"] is False
    assert checks["schema"]["finding"] == f"revision 0001; this version has {newest}"
    assert "python -m migrations" in checks["schema"]["remedy"]


_PAST = text(
    "INSERT INTO jobs (id, tenant_id, kind, state, input, conversation_id, actor, created_at, finished_at) "
    "SELECT :tenant || lpad(n::text, 5, '0'), :tenant, 'execute', 'succeeded', "
    "jsonb_build_object('code', CASE n WHEN 3 THEN 'the needle' ELSE 'hay' END), :tenant || n, 'k', "
    "timestamptz '2026-01-01' + n * interval '1 minute', clock_timestamp() FROM generate_series(1, :count) n"
)


@pytest.mark.slow
def test_a_list_that_few_jobs_fit_is_looked_for_piece_by_piece(gateway: Gateway) -> None:
    count = MAX_INSPECTED + 100
    with gateway.client("haystack") as client, gateway.engine.begin() as connection:
        connection.execute(_PAST, {"tenant": "haystack", "count": count})
        connection.commit()
        query: dict[str, str] = {"q": "needle"}
        first = client.get("/v1/jobs", params=query).json()
        assert (first["items"], first["looked_back_to"]) == ([], "2026-01-01T01:41:00Z")
        last = client.get("/v1/jobs", params={**query, "cursor": first["next_cursor"], "total": "true"}).json()
        assert [job["title"] for job in last["items"]] == ["code: the needle"]
        assert (last["next_cursor"], last["total"], "looked_back_to" in last) == (None, 1, False)
        bulk = client.post("/v1/jobs/cancel", json={"filter": {"q": "needle", "state": ["succeeded"]}}).json()
        assert ([each["code"] for each in bulk["items"]], bulk["more"]) == (["job_finished"], False)
