"""One key, one effect, one answer."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx2 as httpx
import pytest

from tests.services.gateway.conftest import Gateway
from tests.services.gateway.http.test_problems import EXECUTE, assert_problem


def key(name: str) -> dict[str, str]:
    return {"Idempotency-Key": name}


def count(gateway: Gateway, table: str) -> int:
    with gateway.engine.begin() as connection:
        return int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())


def test_the_same_request_gets_the_same_answer_and_one_job(client: httpx.Client, gateway: Gateway) -> None:
    first = client.post("/v1/jobs", json=EXECUTE, headers=key("a"))
    jobs = count(gateway, "jobs")
    assert "idempotency-replayed" not in first.headers
    reordered = b'{"input": {"code":"1", "language":"python"}, "kind":"execute"}'
    headers = {**key("a"), "Content-Type": "application/json"}
    for again in (
        client.post("/v1/jobs", json=EXECUTE, headers=key("a")),
        client.post("/v1/jobs", content=reordered, headers=headers),
    ):
        assert again.status_code == 202
        assert again.headers["idempotency-replayed"] == "true"
        assert again.headers["location"] == first.headers["location"]
        assert again.headers["content-type"] == "application/json"
        assert again.content == first.content
    assert count(gateway, "jobs") == jobs


def test_another_body_or_path_is_refused(client: httpx.Client) -> None:
    client.post("/v1/jobs", json=EXECUTE, headers=key("b"))
    changed = {**EXECUTE, "priority": 1}
    reused = assert_problem(client.post("/v1/jobs", json=changed, headers=key("b")), 422, "idempotency_key_reused")
    assert reused["errors"][0]["loc"] == ["header", "Idempotency-Key"]  # type: ignore[index]
    batch = {"jobs": [EXECUTE]}
    assert_problem(client.post("/v1/batches", json=batch, headers=key("b")), 422, "idempotency_key_reused")


def test_a_key_belongs_to_its_tenant(client: httpx.Client, other: httpx.Client) -> None:
    mine = client.post("/v1/jobs", json=EXECUTE, headers=key("c"))
    theirs = other.post("/v1/jobs", json={**EXECUTE, "priority": 2}, headers=key("c"))
    assert theirs.status_code == 202
    assert theirs.json()["id"] != mine.json()["id"]


def test_a_refused_request_does_not_use_its_key_up(client: httpx.Client) -> None:
    assert client.post("/v1/jobs", json={**EXECUTE, "priority": 99}, headers=key("d")).status_code == 422
    assert client.post("/v1/jobs/none/cancel", headers=key("d")).status_code == 404
    assert client.post("/v1/jobs", json=EXECUTE, headers=key("d")).status_code == 202


def test_fifty_at_once_make_one_job(client: httpx.Client, gateway: Gateway) -> None:
    jobs = count(gateway, "jobs")
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: client.post("/v1/jobs", json=EXECUTE, headers=key("e")), range(50)))
    statuses = Counter(answer.status_code for answer in answers)
    assert set(statuses) <= {202, 409}
    assert count(gateway, "jobs") == jobs + 1
    ids = {answer.json()["id"] for answer in answers if answer.status_code == 202}
    assert len(ids) == 1
    for answer in answers:
        if answer.status_code == 409:
            assert_problem(answer, 409, "request_in_flight")
            assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize("name", ["", "x" * 256, "a\tb"])
def test_a_key_is_visible_ascii(client: httpx.Client, name: str) -> None:
    assert_problem(client.post("/v1/jobs", json=EXECUTE, headers=key(name)), 422, "invalid_request")


def test_every_post_understands_keys(client: httpx.Client, admin: httpx.Client, gateway: Gateway) -> None:
    job = client.post("/v1/jobs", json=EXECUTE).json()
    cancel = f"/v1/jobs/{job['id']}/cancel"
    first = client.post(cancel, headers=key("f"))
    again = client.post(cancel, headers=key("f"))
    assert (first.status_code, again.status_code, again.content) == (202, 202, first.content)
    files = count(gateway, "files")
    upload = [client.post("/v1/files?name=a.txt", content=b"abc", headers=key("g")) for _ in range(2)]
    assert upload[0].json() == upload[1].json()
    assert upload[1].headers["idempotency-replayed"] == "true"
    assert count(gateway, "files") == files + 1
    other = client.post("/v1/files?name=a.txt", content=b"abcd", headers=key("g"))
    assert_problem(other, 422, "idempotency_key_reused")
    made = [
        admin.post("/v1/keys", json={"tenant": "acme", "name": "n", "scopes": ["read"]}, headers=key("h"))
        for _ in range(2)
    ]
    assert made[0].json()["id"] == made[1].json()["id"]
    assert made[0].json()["key"].startswith("ask_")
    assert "key" not in made[1].json()


def test_an_answer_is_kept_for_a_day(client: httpx.Client, gateway: Gateway) -> None:
    first = client.post("/v1/jobs", json=EXECUTE, headers=key("i")).json()
    with gateway.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE idempotency_keys SET created_at = created_at - interval '25 hours'")
    second = client.post("/v1/jobs", json={**EXECUTE, "priority": 3}, headers=key("i"))
    assert second.status_code == 202
    assert second.json()["id"] != first["id"]
