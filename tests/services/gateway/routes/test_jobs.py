"""Jobs over HTTP, from the submit to the result."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import httpx2 as httpx
import pytest
from fastapi import Request
from pydantic import JsonValue

from services.gateway.settings import Settings
from services.gateway.streams.waits import wanted_seconds
from shared import VERSION
from shared.contracts.jobs import BatchView, JobView
from shared.jobs.record import advertising, statements
from tests.services.gateway import workers
from tests.services.gateway.conftest import Gateway, serving, with_http
from tests.services.gateway.http.test_problems import EXECUTE, assert_problem
from tests.support.wait import until


@pytest.fixture(autouse=True)
def worker(gateway: Gateway) -> Iterator[None]:
    workers.advertise(gateway.engine)
    yield
    with gateway.engine.begin() as connection:
        connection.exec_driver_sql("TRUNCATE jobs, batches, conversations, files, idempotency_keys CASCADE")


def submit(client: httpx.Client, **change: object) -> dict[str, object]:
    answer = client.post("/v1/jobs", json={**EXECUTE, **change})
    assert answer.status_code == 202, answer.text
    job: dict[str, object] = answer.json()
    return job


def test_a_submit_is_accepted_with_its_place_in_the_queue(client: httpx.Client, gateway: Gateway) -> None:
    before = workers.notifications_in(gateway.settings.stores.redis_url)
    answer = client.post("/v1/jobs", json={**EXECUTE, "labels": {"team": "x"}})
    assert answer.status_code == 202
    job = answer.json()
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    assert answer.headers["retry-after"] == "1"
    view = JobView.model_validate(job)
    assert (view.state, view.attempt, view.input, view.result) == ("queued", 0, EXECUTE["input"], None)
    assert view.conversation_id
    assert view.labels == {"team": "x"}
    assert view.warnings == []
    assert view.waiting is not None
    assert (view.waiting.reason, view.waiting.position) == ("in_queue", 1)
    assert view.usage.llm_calls == 0
    assert job["created_at"].endswith("Z")
    assert submit(client)["waiting"]["position"] == 2  # type: ignore[index]
    until(lambda: workers.notifications_in(gateway.settings.stores.redis_url) == before + 2, "the notifications")


def test_a_job_is_read_until_its_result_is_there(client: httpx.Client, gateway: Gateway) -> None:
    id = submit(client)["id"]
    assert_problem(client.get(f"/v1/jobs/{id}/result"), 404, "job_not_finished")
    queued = client.get(f"/v1/jobs/{id}")
    assert queued.json()["waiting"] == {"reason": "in_queue", "position": 1, "detail": None, "retry_at": None}
    claimed, fence = workers.claim(gateway.engine)
    assert claimed == id
    running = client.get(f"/v1/jobs/{id}", headers={"If-None-Match": queued.headers["etag"]})
    assert running.status_code == 200
    assert (running.json()["state"], running.json()["attempt"], running.json()["waiting"]) == ("running", 1, None)
    assert_problem(client.get(f"/v1/jobs/{id}/result"), 404, "job_not_finished")
    workers.complete(gateway.engine, claimed, fence, {"verdict": "ok"})
    done = client.get(f"/v1/jobs/{id}")
    assert done.json()["state"] == "succeeded"
    assert done.json()["result"] == {"verdict": "ok"}
    assert done.json()["warnings"] == ["careful"]
    assert done.json()["usage"] == {"llm_calls": 2, "input_tokens": 0, "output_tokens": 0, "cost_usd": None}
    unchanged = client.get(f"/v1/jobs/{id}", headers={"If-None-Match": f'W/{done.headers["etag"]}, "x"'})
    assert unchanged.status_code == 304
    assert unchanged.content == b""
    assert client.get(f"/v1/jobs/{id}/result").json() == {"verdict": "ok"}
    assert_problem(client.get(f"/v1/jobs/{id}/result?format=cyclonedx"), 422, "invalid_request")


def test_a_job_says_where_its_code_ran(client: httpx.Client, gateway: Gateway) -> None:
    workers.advertise(gateway.engine, facts={"isolation": {"tier": "namespace", "minimum": "process"}})
    id = client.post("/v1/jobs", json={**EXECUTE, "priority": 9}).json()["id"]
    assert client.get(f"/v1/jobs/{id}").json()["isolation"] is None
    claimed, fence = workers.claim(gateway.engine)
    assert claimed == id
    assert client.get(f"/v1/jobs/{id}").json()["isolation"] == {"tier": "namespace"}
    workers.complete(gateway.engine, id, fence, {})
    events = client.get(f"/v1/jobs/{id}/events", headers={"Accept": "application/json"}).json()["items"]
    assert events[1]["isolation"] == {"tier": "namespace"}
    workers.advertise(gateway.engine)


def test_large_numbers_of_a_result_come_back_as_they_were(client: httpx.Client, gateway: Gateway) -> None:
    submit(client)
    id, fence = workers.claim(gateway.engine)
    numbers: list[JsonValue] = [1e30, -1.5e300, 2**64 - 1, 0.1]
    workers.complete(gateway.engine, id, fence, {"numbers": numbers})
    assert client.get(f"/v1/jobs/{id}").json()["result"] == {"numbers": numbers}
    assert client.get(f"/v1/jobs/{id}/result").json() == {"numbers": numbers}


def test_a_failed_job_says_why_and_has_no_result(client: httpx.Client, gateway: Gateway) -> None:
    submit(client)
    id, fence = workers.claim(gateway.engine)
    workers.complete(gateway.engine, id, fence, None)
    job = client.get(f"/v1/jobs/{id}").json()
    assert job["state"] == "failed"
    assert job["error"]["code"] == "budget_spent"
    assert_problem(client.get(f"/v1/jobs/{id}/result"), 404, "not_found")


def test_another_form_of_the_result_is_fetched_by_its_name(client: httpx.Client, gateway: Gateway) -> None:
    submit(client)
    id, fence = workers.claim(gateway.engine)
    workers.complete(gateway.engine, id, fence, {})
    forms = {"dockerfile": ("text/plain; charset=utf-8", b"FROM x")}
    with gateway.engine.begin() as connection:
        connection.execute(statements.add_forms(workers.held(connection, id, fence), forms))
    form = client.get(f"/v1/jobs/{id}/result?format=dockerfile")
    assert (form.text, form.headers["content-type"]) == ("FROM x", "text/plain; charset=utf-8")


@pytest.mark.slow
def test_without_a_worker_a_job_is_accepted_and_warned(client: httpx.Client, gateway: Gateway) -> None:
    workers.retire(gateway.engine)
    until(lambda: submit(client)["waiting"]["reason"] == "no_worker", "no worker")  # type: ignore[index]
    job = submit(client)
    assert "No worker" in job["warnings"][0]  # type: ignore[index]
    assert client.get(f"/v1/jobs/{job['id']}").json()["waiting"]["reason"] == "no_worker"
    listed = client.get("/v1/jobs?limit=1").json()["items"][0]
    assert listed["waiting"]["reason"] == "no_worker"
    worker_is_back(client, gateway)


def worker_is_back(client: httpx.Client, gateway: Gateway) -> None:
    """An absence is believed for a moment: the next test wants none of it."""
    workers.advertise(gateway.engine)
    until(
        lambda: client.get("/v1/capabilities").json()["kinds"]["execute"]["state"] != "no_worker",
        "the workers' state",
    )


def test_a_job_that_is_tried_again_later_says_when(client: httpx.Client, gateway: Gateway) -> None:
    id = submit(client)["id"]
    with gateway.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE jobs SET run_at = clock_timestamp() + interval '1 hour'")
    waiting = client.get(f"/v1/jobs/{id}").json()["waiting"]
    assert waiting["reason"] == "retry_at"
    assert datetime.fromisoformat(waiting["retry_at"]) > datetime.now().astimezone() + timedelta(minutes=50)


@pytest.mark.parametrize(
    "input",
    [{"task": "t", "data": [{"csv": "a\n1\n"}]}, {"task": "t", "data": [{"csv": "a\n1\n"}], "code": None}],
)
def test_a_job_that_needs_a_model_is_refused_without_one(client: httpx.Client, input: dict[str, object]) -> None:
    answer = client.post("/v1/jobs", json={"kind": "transform", "input": input})
    assert_problem(answer, 503, "no_provider_configured")
    assert client.get("/v1/jobs").json()["items"] == []
    assert client.post("/v1/jobs", json={"kind": "transform", "input": {**input, "code": "data"}}).status_code == 202


@pytest.mark.slow
def test_a_language_that_no_worker_has_is_refused(client: httpx.Client, gateway: Gateway) -> None:
    languages: JsonValue = {
        "python": {"available": True, "version": "3"},
        "r": {"available": False, "reason": "no Rscript"},
    }
    workers.advertise(
        gateway.engine, facts={"languages": languages, "isolation": {"tier": "bubblewrap", "minimum": "x"}}
    )
    r = {"kind": "execute", "input": {"language": "r", "code": "1"}}
    until(lambda: client.post("/v1/jobs", json=r).status_code == 503, "a refusal")
    problem = assert_problem(client.post("/v1/jobs", json=r), 503, "language_unavailable")
    assert "no Rscript" in str(problem["detail"])
    assert client.post("/v1/jobs", json=EXECUTE).status_code == 202
    can = client.get("/v1/capabilities").json()
    assert can["languages"]["r"] == {"available": False, "version": None, "reason": "no Rscript"}
    assert can["version"] == VERSION
    assert can["isolation"] == {"tier": "bubblewrap", "minimum": "x", "claimed": None}
    assert can["kinds"]["execute"]["state"] == "ready"
    assert can["kinds"]["transform"]["state"] == "needs_provider"


def test_a_local_path_is_no_source_for_others(client: httpx.Client) -> None:
    answer = client.post("/v1/jobs", json={"kind": "detect", "input": {"source": {"path": "/etc"}}})
    problem = assert_problem(answer, 422, "source_not_allowed")
    assert problem["errors"] == [{"loc": ["body", "input", "source", "path"], "msg": problem["errors"][0]["msg"]}]  # type: ignore[index]


@pytest.mark.slow
def test_a_local_path_is_read_for_admins_below_configured_folders_on_one_machine(
    gateway: Gateway, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "own" / "app").mkdir(parents=True)
    (tmp_path / "own" / "link").symlink_to("/etc")
    inside, key = tmp_path / "own" / "app", gateway.key("acme", "read", "write", "admin")

    def asked(url: str, path: Path, key: str) -> tuple[int, str | None]:
        body = {"kind": "detect", "input": {"source": {"path": str(path)}, "mode": "static"}}
        answer = httpx.post(f"{url}/v1/jobs", json=body, headers={"Authorization": f"Bearer {key}"})
        return answer.status_code, answer.json().get("code")

    own = with_http(settings, embedded=True, detect_roots=str(tmp_path / "own"))
    with serving(own) as url:
        assert asked(url, inside, key) == (202, None)
        assert asked(url, inside, gateway.key("acme")) == (403, "missing_scope")
        for path in (tmp_path, Path("/etc"), inside / ".." / "..", tmp_path / "own" / "link"):
            assert asked(url, path, key) == (422, "source_not_allowed")
    with serving(with_http(settings, embedded=True)) as url:
        assert asked(url, inside, key) == (422, "source_not_allowed")
    with serving(with_http(own, host="0.0.0.0")) as url:
        assert asked(url, inside, key) == (422, "source_not_allowed")


def test_jobs_are_listed_newest_first_in_pages(client: httpx.Client, gateway: Gateway) -> None:
    ids = [submit(client, labels={"n": str(number % 2), "a": "b:c"})["id"] for number in range(5)]
    first = client.get("/v1/jobs?limit=2").json()
    assert [job["id"] for job in first["items"]] == [ids[4], ids[3]]
    assert all("input" not in job and "result" not in job for job in first["items"])
    assert [job["waiting"]["position"] for job in first["items"]] == [5, 4]
    second = client.get("/v1/jobs", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [job["id"] for job in second["items"]] == [ids[2], ids[1]]
    last = client.get("/v1/jobs", params={"limit": 2, "cursor": second["next_cursor"]}).json()
    assert [job["id"] for job in last["items"]] == [ids[0]]
    assert last["next_cursor"] is None
    labelled = client.get("/v1/jobs?label=n:1&label=a:b:c").json()["items"]
    assert [job["id"] for job in labelled] == [ids[3], ids[1]]
    odd = submit(client, labels={"team:ops": "x=y", "n": "1"})["id"]
    for asked in ("team:ops=x=y", "team:ops=x%3Dy&label=n=1"):
        assert [job["id"] for job in client.get(f"/v1/jobs?label={asked}").json()["items"]] == [odd]
    assert client.get("/v1/jobs?label=team=ops").json()["items"] == []
    equal = submit(client, labels={"a=b": "c=d", "=": ":", "k": "="})["id"]
    for asked in ("a%3Db%3Dc%3Dd", "a=b=c=d", "==:", "k==", "a%3Db%3Dc%3Dd&label=k%3D%3D"):
        assert [job["id"] for job in client.get(f"/v1/jobs?label={asked}").json()["items"]] == [equal], asked
    assert client.get("/v1/jobs?label=a=b=c").json()["items"] == []
    client.post(f"/v1/jobs/{equal}/cancel")
    client.post(f"/v1/jobs/{odd}/cancel")
    workers.claim(gateway.engine)
    assert [job["id"] for job in client.get("/v1/jobs?state=running").json()["items"]] == [ids[0]]
    assert client.get("/v1/jobs?kind=flow").json() == {"items": [], "next_cursor": None}


def test_a_queued_job_is_cancelled_at_once_and_only_once(client: httpx.Client) -> None:
    id = submit(client)["id"]
    cancelled = client.post(f"/v1/jobs/{id}/cancel")
    assert (cancelled.status_code, cancelled.json()["state"]) == (202, "cancelled")
    assert cancelled.json()["finished_at"]
    assert_problem(client.post(f"/v1/jobs/{id}/cancel"), 409, "job_finished")
    assert "cancelled" in str(assert_problem(client.get(f"/v1/jobs/{id}/result"), 404, "not_found")["detail"])


def test_a_running_job_is_asked_to_stop(client: httpx.Client, gateway: Gateway) -> None:
    submit(client)
    id, _ = workers.claim(gateway.engine)
    for _ in range(2):
        answer = client.post(f"/v1/jobs/{id}/cancel")
        assert (answer.status_code, answer.json()["state"]) == (202, "running")


def test_a_replay_merges_its_input_into_the_old_one(client: httpx.Client) -> None:
    old = submit(
        client, labels={"a": "b"}, budget={"seconds": 9}, input={"language": "python", "code": "1", "stdin": "x"}
    )
    answer = client.post(f"/v1/jobs/{old['id']}/replay", json={"input": {"code": "2"}, "model": "m"})
    assert answer.status_code == 202
    new = answer.json()
    assert new["input"] == {"language": "python", "code": "2", "stdin": "x"}
    assert new["replayed_from"] == old["id"]
    assert new["labels"] == {"a": "b"}
    assert new["id"] != old["id"]
    assert client.post(f"/v1/jobs/{old['id']}/replay").json()["input"] == old["input"]
    wrong = client.post(f"/v1/jobs/{old['id']}/replay", json={"input": {"language": "cobol"}})
    problem = assert_problem(wrong, 422, "invalid_request")
    assert problem["errors"][0]["loc"] == ["body", "input", "language"]  # type: ignore[index]
    unknown = client.post(f"/v1/jobs/{old['id']}/replay", json={"inputs": {}})
    assert_problem(unknown, 422, "invalid_request")


def test_a_reproducible_job_says_so_and_so_does_its_replay(client: httpx.Client) -> None:
    old = submit(client, reproducible=True)
    assert old["overrides"] == {"reproducible": True}
    replayed = client.post(f"/v1/jobs/{old['id']}/replay", json={"model": "m"}).json()
    assert replayed["overrides"] == {"reproducible": True, "model": "m"}
    usual = client.post(f"/v1/jobs/{old['id']}/replay", json={"reproducible": False}).json()
    assert usual["overrides"] == {"reproducible": False}
    assert submit(client)["overrides"] == {}


def test_a_job_names_the_model_that_is_asked_and_so_does_its_replay(client: httpx.Client) -> None:
    old = submit(client, model="groq/one")
    assert old["overrides"] == {"model": "groq/one"}
    assert client.post(f"/v1/jobs/{old['id']}/replay").json()["overrides"] == {"model": "groq/one"}
    other = client.post(f"/v1/jobs/{old['id']}/replay", json={"model": "groq/two"}).json()
    assert other["overrides"] == {"model": "groq/two"}
    refused = client.post("/v1/jobs", json={**EXECUTE, "model": ""})
    assert assert_problem(refused, 422, "invalid_request")["errors"][0]["loc"] == ["body", "model"]  # type: ignore[index]


def test_an_answer_is_held_until_the_job_has_ended(client: httpx.Client, gateway: Gateway) -> None:
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(client.post, "/v1/jobs", json=EXECUTE, headers={"Prefer": "respond-async, wait=60"})
        until(lambda: client.get("/v1/jobs").json()["items"], "the job")
        id, fence = workers.claim(gateway.engine)
        workers.complete(gateway.engine, id, fence, {"verdict": "ok"}, gateway.settings.stores.redis_url)
        held = answer.result(10)
    assert (held.status_code, held.headers["preference-applied"]) == (200, "wait")
    assert held.json()["result"] == {"verdict": "ok"}
    assert held.headers["location"] == f"/v1/jobs/{id}"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("wait=5", 5.0), ("wait=5.5", 5.5), ('wait="5.5"', 5.5), ("respond-async, wait=0.5; x=1", 0.5),
        ("wait = 7", 7.0),
        ("wait=100", 60.0), ("wait=100.9", 60.0), ("wait=", 0.0), ("wait=x", 0.0), ("wait=5s", 0.0), ("wait=-5", 0.0),
        ("wait=1e3", 0.0), ("wait=5.", 0.0), ("await=5", 0.0),
    ],
)  # fmt: skip
def test_how_long_a_client_would_wait(header: str, seconds: float) -> None:
    request = Request({"type": "http", "headers": [(b"prefer", header.encode())]})
    assert wanted_seconds(request) == seconds


def test_whoever_asks_again_still_waits(client: httpx.Client, gateway: Gateway) -> None:
    submit(client)
    headers = {"Prefer": "wait=60", "Idempotency-Key": "again"}
    assert client.post("/v1/jobs", json=EXECUTE, headers={"Idempotency-Key": "again"}).status_code == 202
    for _ in range(2):
        id, fence = workers.claim(gateway.engine)
        workers.complete(gateway.engine, id, fence, {}, gateway.settings.stores.redis_url)
    held = client.post("/v1/jobs", json=EXECUTE, headers=headers)
    assert (held.status_code, held.json()["state"]) == (200, "succeeded")
    assert (held.headers["preference-applied"], held.headers["idempotency-replayed"]) == ("wait", "true")
    assert held.json()["id"] == id


def test_a_large_number_is_answered_with_as_it_was_sent(client: httpx.Client) -> None:
    rows = [{"a": 1e20, "b": -1e308, "c": 2**53, "d": 0.1}]
    given = {"task": "t", "data": [{"name": "data", "rows": rows}], "code": "result = data"}
    job = client.post("/v1/jobs", json={"kind": "transform", "input": given})
    assert job.status_code == 202, job.text
    read = client.get(job.headers["location"])
    assert read.json()["input"]["data"][0]["rows"] == rows


def test_a_job_that_has_changed_is_not_cancelled_by_an_old_reader(client: httpx.Client, gateway: Gateway) -> None:
    id = submit(client)["id"]
    read = client.get(f"/v1/jobs/{id}").headers["etag"]
    workers.claim(gateway.engine)
    stale = client.post(f"/v1/jobs/{id}/cancel", headers={"If-Match": read})
    assert_problem(stale, 412, "precondition_failed")
    read = client.get(f"/v1/jobs/{id}").headers["etag"]
    assert client.post(f"/v1/jobs/{id}/cancel", headers={"If-Match": read}).status_code == 202


@pytest.mark.parametrize(
    ("job", "loc"),
    [
        ({"kind": "search", "input": {"collection": "none", "question": "q"}}, ["body", "input", "collection"]),
        (
            {"kind": "ingest", "input": {"collection": "none", "table": "t", "records": []}},
            ["body", "input", "collection"],
        ),
        ({"kind": "flow", "input": {"flow_id": "none", "message": "m"}}, ["body", "input", "flow_id"]),
        ({"kind": "document", "input": {"markdown": "", "previous_job_id": "x"}}, ["body", "input", "previous_job_id"]),
        ({"kind": "detect", "input": {"source": {"file_id": "x"}}}, ["body", "input", "source", "file_id"]),
        (
            {"kind": "transform", "input": {"task": "t", "data": [{"file_ids": ["x"]}]}},
            ["body", "input", "data", 0, "file_ids", 0],
        ),
    ],
)
def test_what_a_job_refers_to_has_to_be_there(client: httpx.Client, job: dict[str, object], loc: list[str]) -> None:
    problem = assert_problem(client.post("/v1/jobs", json=job), 422, "invalid_request")
    assert problem["errors"][0]["loc"] == loc  # type: ignore[index]


def test_the_parameters_of_a_document_have_to_fit_wherever_it_is(client: httpx.Client) -> None:
    text = "---\nparams:\n  region: {enum: [north, south]}\n---\n\n&[n]{int max=3}\n"
    file = client.post("/v1/files", files={"file": ("a.md", text.encode())}).json()["id"]
    for source in ({"markdown": text}, {"file_id": file}):
        job = {"kind": "document", "input": {**source, "parameters": {"n": 9, "region": "east", "m": 1}}}
        problem = assert_problem(client.post("/v1/jobs", json=job), 422, "invalid_request")
        assert [error["loc"] for error in problem["errors"]] == [  # type: ignore[attr-defined]
            ["body", "input", "parameters", name] for name in ("n", "region", "m")
        ]
        good = {"kind": "document", "input": {**source, "parameters": {"n": 2, "region": "north"}}}
        assert client.post("/v1/jobs", json=good).status_code == 202


@pytest.mark.slow
def test_an_answer_that_was_held_long_enough_is_a_202(client: httpx.Client) -> None:
    answer = client.post("/v1/jobs", json=EXECUTE, headers={"Prefer": "wait=1"})
    assert answer.status_code == 202
    assert "preference-applied" not in answer.headers


@pytest.mark.slow
def test_a_batch_is_accepted_whole_or_not_at_all(client: httpx.Client, other: httpx.Client) -> None:
    wrong = {"jobs": [EXECUTE, {**EXECUTE, "input": {"language": "python"}}]}
    problem = assert_problem(client.post("/v1/batches", json=wrong), 422, "invalid_request")
    assert problem["errors"][0]["loc"] == ["body", "jobs", 1, "input", "code"]  # type: ignore[index]
    missing = {"jobs": [EXECUTE, {**EXECUTE, "input": {**EXECUTE["input"], "files": [{"id": "f", "path": "p"}]}}]}  # type: ignore[dict-item]
    problem = assert_problem(client.post("/v1/batches", json=missing), 422, "invalid_request")
    assert problem["errors"][0]["loc"] == ["body", "jobs", 1, "input", "files", 0, "id"]  # type: ignore[index]
    assert client.get("/v1/jobs").json()["items"] == []
    assert_problem(client.post("/v1/batches", json={"jobs": []}), 422, "invalid_request")
    assert_problem(client.post("/v1/batches", json={"jobs": [EXECUTE] * 1001}), 422, "invalid_request")
    answer = client.post("/v1/batches", json={"jobs": [EXECUTE] * 1000})
    assert answer.status_code == 202
    batch = BatchView.model_validate(answer.json())
    assert batch.counts == {"queued": 1000}
    response = client.get(answer.headers["location"])
    assert response.status_code == 200
    assert [job["id"] for job in response.json()["jobs"]] == [job.id for job in batch.jobs]
    client.post(f"/v1/jobs/{batch.jobs[0].id}/cancel")
    assert client.get(answer.headers["location"]).json()["counts"] == {"queued": 999, "cancelled": 1}
    assert_problem(other.get(answer.headers["location"]), 404, "not_found")


def test_what_belongs_to_another_tenant_is_not_found(client: httpx.Client, other: httpx.Client) -> None:
    job = submit(client)
    file = client.post("/v1/files?name=a", content=b"a").json()
    path = f"/v1/jobs/{job['id']}"
    for method, target in [
        ("GET", path),
        ("GET", f"{path}/result"),
        ("GET", f"{path}/events"),
        ("POST", f"{path}/cancel"),
        ("POST", f"{path}/replay"),
        ("GET", f"/v1/files/{file['id']}"),
        ("GET", f"/v1/files/{file['id']}/content"),
        ("DELETE", f"/v1/files/{file['id']}"),
    ]:
        assert_problem(other.request(method, target), 404, "not_found")
    assert other.get("/v1/jobs").json()["items"] == []
    borrowed = {"language": "python", "code": "1", "files": [{"id": file["id"], "path": "a"}]}
    assert_problem(other.post("/v1/jobs", json={**EXECUTE, "input": borrowed}), 422, "invalid_request")
    conversation = {**EXECUTE, "conversation_id": job["conversation_id"]}
    assert_problem(other.post("/v1/jobs", json=conversation), 422, "invalid_request")
    assert client.post("/v1/jobs", json=conversation).json()["conversation_id"] == job["conversation_id"]
    assert client.post("/v1/jobs", json={**EXECUTE, "input": borrowed}).status_code == 202


@pytest.mark.slow
def test_a_worker_that_stands_by_says_why_its_jobs_wait(gateway: Gateway, client: httpx.Client) -> None:
    workers.retire(gateway.engine)
    with gateway.engine.begin() as connection:
        facts: dict[str, JsonValue] = {
            "unavailable": "user namespaces are switched off",
            "isolation": {"tier": "none", "minimum": "ns"},
        }
        connection.execute(advertising.advertise("idle", "execution", [], 4, "1", facts))
    try:
        until(
            lambda: client.post("/v1/jobs", json=EXECUTE).json()["waiting"]["reason"] == "no_worker",
            "the workers' state",
        )
        job = client.post("/v1/jobs", json=EXECUTE).json()
        assert "user namespaces are switched off" in job["waiting"]["detail"]
        assert "user namespaces are switched off" in job["warnings"][0]
        kinds = client.get("/v1/capabilities").json()["kinds"]
        assert kinds["execute"]["state"] == "no_worker"
        assert "user namespaces are switched off" in kinds["execute"]["reason"]
        assert "switched off" not in kinds["search"]["reason"]
        assert client.get("/readyz").json()["isolation"] == {"tier": "none", "minimum": "ns", "claimed": None}
    finally:
        workers.retire(gateway.engine, "idle")
        worker_is_back(client, gateway)
