"""All jobs of a tenant in one stream: each as it is submitted, begun and ended, and none of another tenant."""

from __future__ import annotations

import httpx2 as httpx
import pytest

from tests.services.gateway import workers
from tests.services.gateway.conftest import Gateway
from tests.services.gateway.http.test_problems import EXECUTE, assert_problem
from tests.services.gateway.streams.test_events import AS_JSON, Seen, events

pytestmark = pytest.mark.slow


def _changes(client: httpx.Client, after: int, most: int) -> list[Seen]:
    received: list[Seen] = []
    with client.stream("GET", f"/v1/events?after={after}", timeout=60) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for event in events(answer.iter_lines()):
            received.append(event)
            if len(received) == most:
                break
    return received


def test_a_list_hears_of_every_job_and_goes_on_where_it_was(client: httpx.Client, gateway: Gateway) -> None:
    workers.advertise(gateway.engine)
    begin = client.get("/v1/events", headers=AS_JSON).json()["next_after"]
    with client.stream("GET", f"/v1/events?after={begin}", timeout=60) as answer:
        live = events(answer.iter_lines())
        id = client.post("/v1/jobs", json={**EXECUTE, "priority": 9}).json()["id"]
        mine = (event for event in live if event.data["id"] == id)
        submitted = next(mine)
        claimed, fence = workers.claim(gateway.engine)
        assert claimed == id
        started = next(mine)
        workers.complete(gateway.engine, id, fence, {"verdict": "ok"})
        ended = next(mine)
    assert [event.type for event in (submitted, started, ended)] == ["job_submitted", "job_started", "job_ended"]
    assert begin < submitted.id < started.id < ended.id
    listed = next(job for job in client.get("/v1/jobs?limit=200").json()["items"] if job["id"] == id)
    assert ended.data == listed, "an event holds the item of the list"
    again = [event for event in _changes(client, begin, 1) if event.data["id"] == id]
    assert [event.type for event in again] == ["job_ended"], "a job comes as it is now"
    page = client.get(f"/v1/events?after={begin}", headers=AS_JSON).json()
    assert [job["state"] for job in page["items"] if job["id"] == id] == ["succeeded"]
    assert (page["next_after"], page["reset"]) == (ended.id, False)


def test_a_list_hears_nothing_of_strangers(client: httpx.Client, gateway: Gateway) -> None:
    begin = client.get("/v1/events", headers=AS_JSON).json()["next_after"]
    client.post("/v1/jobs", json=EXECUTE)
    with gateway.client_of(gateway.key("strangers")) as stranger:
        assert stranger.get(f"/v1/events?after={begin}", headers=AS_JSON).json()["items"] == []


def test_more_changes_than_a_page_holds_all_come(client: httpx.Client) -> None:
    after = begin = client.get("/v1/events", headers=AS_JSON).json()["next_after"]
    made = client.post("/v1/batches", json={"jobs": [EXECUTE] * 450}).json()
    wanted = {job["id"] for job in client.get(f"/v1/batches/{made['id']}").json()["jobs"]}
    streamed: set[object] = set()
    with client.stream("GET", f"/v1/events?after={begin}", timeout=60) as answer:
        live = events(answer.iter_lines())
        while not streamed >= wanted:
            streamed.add(next(live).data["id"])
    heard: set[str] = set()
    for _ in range(6):
        page = client.get("/v1/events", params={"after": after}, headers=AS_JSON).json()
        heard |= {job["id"] for job in page["items"]}
        after = page["next_after"]
    assert heard >= wanted


def test_who_was_away_for_long_is_told_to_read_the_list_again(client: httpx.Client) -> None:
    assert [event.type for event in _changes(client, 1, 1)] == ["reset"]
    page = client.get("/v1/events?after=1", headers=AS_JSON).json()
    assert page["reset"]
    assert page["next_after"] > 1_700_000_000_000_000
    for wrong in ("x", "-1", "99999999999999999999"):
        assert_problem(client.get(f"/v1/events?after={wrong}"), 422, "invalid_request")
