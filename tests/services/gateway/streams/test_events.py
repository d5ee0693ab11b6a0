"""A job's events as a stream: none missing, none twice, whatever breaks."""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx
import pytest

from services.gateway.settings import Settings
from services.host.redis import Redis
from shared import keys
from shared.settings import StoreSettings
from tests.services.gateway import workers
from tests.services.gateway.conftest import Gateway, serving, settings_of, with_http
from tests.services.gateway.http.test_problems import EXECUTE, assert_problem
from tests.support.wait import until

AS_JSON = {"Accept": "application/json"}


@dataclass(frozen=True)
class Seen:
    id: int
    type: str
    data: dict[str, object]


def events(lines: Iterator[str]) -> Iterator[Seen]:
    """The events of a stream; comments and ``retry`` are skipped."""
    fields: dict[str, str] = {}
    for line in lines:
        if line == "":
            if "data" in fields:
                yield Seen(int(fields["id"]), fields["event"], json.loads(fields["data"]))
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


def watch(client: httpx.Client, id: str, after: int = 0, most: int | None = None) -> list[Seen]:
    """What the stream gives, to its end or until there are ``most``."""
    headers = {"Last-Event-ID": str(after)} if after else {}
    received: list[Seen] = []
    with client.stream("GET", f"/v1/jobs/{id}/events", headers=headers, timeout=20) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        for event in events(answer.iter_lines()):
            received.append(event)
            if len(received) == most:
                break
    return received


@pytest.fixture
def job(client: httpx.Client, gateway: Gateway) -> tuple[str, int]:
    """A running job: its id and fence."""
    workers.advertise(gateway.engine)
    id = client.post("/v1/jobs", json={**EXECUTE, "priority": 9}).json()["id"]
    claimed, fence = workers.claim(gateway.engine)
    assert claimed == id
    return id, fence


def test_a_finished_job_tells_its_story_from_the_beginning(
    client: httpx.Client, gateway: Gateway, job: tuple[str, int]
) -> None:
    id, fence = job
    workers.say(gateway.engine, id, fence, "output", stream="stdout", text="line\nnext \u2028 \ud83d\ude00")
    workers.complete(gateway.engine, id, fence, {})
    received = watch(client, id)
    assert [event.type for event in received] == ["job_queued", "job_started", "output", "job_succeeded"]
    assert [event.id for event in received] == [1, 2, 3, 4]
    for event in received:
        assert event.data["type"] == event.type
        assert event.data["job_id"] == id
        assert event.data["seq"] == event.id
        assert str(event.data["at"]).endswith("Z")
    assert received[2].data["stream"] == "stdout"
    assert received[2].data["text"] == "line\nnext \u2028 \U0001f600"
    assert [event.id for event in watch(client, id, after=2)] == [3, 4]
    assert watch(client, id, after=4) == []
    assert watch(client, id, after=999) == []
    with client.stream("GET", f"/v1/jobs/{id}/events?after=3") as answer:
        assert [event.id for event in events(answer.iter_lines())] == [4]


@pytest.mark.parametrize("after", ["x", "-1", "1.5", "99999999999999999999"])
def test_a_place_to_go_on_from_is_a_number(client: httpx.Client, job: tuple[str, int], after: str) -> None:
    assert_problem(client.get(f"/v1/jobs/{job[0]}/events?after={after}"), 422, "invalid_request")
    answer = client.get(f"/v1/jobs/{job[0]}/events", headers={"Last-Event-ID": after})
    assert_problem(answer, 422, "invalid_request")


def test_events_come_as_pages_to_who_asks_for_json(
    client: httpx.Client, gateway: Gateway, job: tuple[str, int]
) -> None:
    id, fence = job
    for number in range(120):
        workers.say(gateway.engine, id, fence, "output", stream="stdout", text=str(number))
    path = f"/v1/jobs/{id}/events"
    first = client.get(path, headers=AS_JSON).json()
    assert [event["seq"] for event in first["items"]] == list(range(1, 101))
    assert (first["state"], first["next_after"]) == ("running", 100)
    rest = client.get(path, params={"after": first["next_after"], "limit": 1000}, headers=AS_JSON).json()
    assert [event["seq"] for event in rest["items"]] == list(range(101, 123))
    assert rest["next_after"] is None
    workers.complete(gateway.engine, id, fence, {})
    some = client.get(path, params={"type": ["job_started", "job_succeeded"]}, headers=AS_JSON).json()
    assert [event["type"] for event in some["items"]] == ["job_started", "job_succeeded"]
    assert some["state"] == "succeeded"
    streamed = watch(client, id)
    whole = client.get(path, params={"limit": 1000}, headers=AS_JSON).json()["items"]
    assert whole == [event.data for event in streamed], "a page holds what a stream says"


def test_a_page_of_events_is_bounded(client: httpx.Client, gateway: Gateway, job: tuple[str, int]) -> None:
    id, fence = job
    for _ in range(250):
        workers.say(gateway.engine, id, fence, "output", stream="stdout", text="x" * 8000)
    answer = client.get(f"/v1/jobs/{id}/events?limit=1000", headers=AS_JSON)
    assert len(answer.content) < 2_000_000
    page = answer.json()
    assert page["next_after"] == page["items"][-1]["seq"] == 200
    for wrong in ("limit=0", "limit=1001", f"type={'x' * 65}"):
        assert_problem(client.get(f"/v1/jobs/{id}/events?{wrong}", headers=AS_JSON), 422, "invalid_request")
    for only_of_pages in ("limit=5", "type=output"):
        assert_problem(client.get(f"/v1/jobs/{id}/events?{only_of_pages}"), 422, "invalid_request")


def test_a_strangers_job_has_no_page(gateway: Gateway, job: tuple[str, int]) -> None:
    with gateway.client_of(gateway.key("strangers")) as stranger:
        assert_problem(stranger.get(f"/v1/jobs/{job[0]}/events", headers=AS_JSON), 404, "not_found")


def test_what_happens_is_seen_as_it_happens(client: httpx.Client, gateway: Gateway, job: tuple[str, int]) -> None:
    id, fence = job
    with client.stream("GET", f"/v1/jobs/{id}/events?after=2", timeout=20) as answer:
        live = events(answer.iter_lines())
        for number in range(5):
            workers.say(gateway.engine, id, fence, "thinking", message=str(number))
            workers.notify(gateway.settings.stores.redis_url, id)
            assert next(live).data["message"] == str(number)
        workers.complete(gateway.engine, id, fence, {}, gateway.settings.stores.redis_url)
        assert [event.type for event in live] == ["job_succeeded"]


@pytest.mark.slow
def test_a_stream_that_is_dropped_twenty_times_misses_nothing(
    client: httpx.Client, gateway: Gateway, job: tuple[str, int]
) -> None:
    id, fence = job
    count = 200

    def work() -> None:
        for number in range(count):
            workers.say(gateway.engine, id, fence, "output", stream="stdout", text=str(number))
        workers.complete(gateway.engine, id, fence, {})

    worker = threading.Thread(target=work)
    worker.start()
    received: list[Seen] = []
    for _ in range(20):
        received += watch(client, id, after=received[-1].id if received else 0, most=7)
    received += watch(client, id, after=received[-1].id)
    worker.join()
    assert [event.id for event in received] == list(range(1, count + 4))
    assert [event.data["text"] for event in received if event.type == "output"] == [str(n) for n in range(count)]
    assert received[-1].type == "job_succeeded"


def test_any_replica_serves_any_job(client: httpx.Client, gateway: Gateway, job: tuple[str, int]) -> None:
    id, fence = job
    key = client.headers["authorization"]
    with (
        serving(gateway.settings) as url,
        httpx.Client(base_url=url, headers={"authorization": key}) as second,
        ThreadPoolExecutor(2) as pool,
    ):
        watching = [pool.submit(watch, each, id) for each in (client, second)]
        workers.complete(gateway.engine, id, fence, {}, gateway.settings.stores.redis_url)
        first, other = (each.result(20) for each in watching)
    assert first == other
    assert first[-1].type == "job_succeeded"


def test_a_stopping_gateway_ends_its_streams(client: httpx.Client, gateway: Gateway, job: tuple[str, int]) -> None:
    headers = {"authorization": client.headers["authorization"]}
    with httpx.Client(headers=headers, timeout=20) as watcher:
        with serving(gateway.settings) as url:
            answer = watcher.send(watcher.build_request("GET", f"{url}/v1/jobs/{job[0]}/events"), stream=True)
            live = events(answer.iter_lines())
            assert [next(live).id, next(live).id] == [1, 2]
        assert list(live) == []
        answer.close()


@pytest.mark.slow
def test_without_redis_everything_is_seen_all_the_same(database_url: str, tmp_path: Path, gateway: Gateway) -> None:
    blobs = tmp_path / "blobs"
    with (
        tempfile.TemporaryDirectory(prefix="assay-ev-", dir="/tmp") as folder,
        Redis(Path(folder), durable=False) as redis,
    ):
        stores = StoreSettings(database_url=database_url, redis_url=redis.url, blob_url=blobs.as_uri(), qdrant_url=None)
        with serving(settings_of(stores)) as url:
            client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {gateway.key('acme')}"}, timeout=20)
            workers.advertise(gateway.engine)
            redis.stop()
            answer = client.post("/v1/jobs", json={**EXECUTE, "priority": 9})
            assert answer.status_code == 202
            id, fence = workers.claim(gateway.engine)
            with ThreadPoolExecutor(1) as pool:
                watching = pool.submit(watch, client, id)
                workers.say(gateway.engine, id, fence, "thinking", message="still")
                workers.complete(gateway.engine, id, fence, {})
                received = watching.result(20)
            client.close()
    assert [event.type for event in received] == ["job_queued", "job_started", "thinking", "job_succeeded"]


@pytest.mark.slow
@pytest.mark.parametrize("followed", ["job", "flow"])
def test_a_stream_ends_when_its_key_is_revoked(gateway: Gateway, admin: httpx.Client, followed: str) -> None:
    made = admin.post("/v1/keys", json={"tenant": "brief", "name": "b", "scopes": ["read", "write"]}).json()
    with gateway.client_of(made["key"]) as client:
        path = _followed(client, followed)
        with client.stream("GET", path, timeout=30) as answer:
            chunks = answer.iter_raw()
            next(chunks)
            with gateway.engine.begin() as connection:  # as another gateway does it
                connection.execute(keys.revoke(made["id"]))
            began = time.monotonic()
            for _ in chunks:
                pass
        assert time.monotonic() - began < 5  # within a second on a machine that has nothing else to do


@pytest.mark.slow
def test_two_hundred_streams_of_one_key_at_once_are_refused_by_its_limit_and_by_nothing_else(
    gateway: Gateway, job: tuple[str, int]
) -> None:
    """Each would read the database before it begins: those above the limit must not."""

    async def statuses() -> Counter[tuple[int, str]]:
        headers = {"Authorization": f"Bearer {gateway.key('many', 'read', 'write')}"}
        limits = httpx.Limits(max_connections=300, max_keepalive_connections=300)
        async with httpx.AsyncClient(base_url=gateway.url, headers=headers, timeout=60, limits=limits) as client:
            body = {"kind": "execute", "input": {"language": "python", "code": "1"}}
            id = (await client.post("/v1/jobs", json=body)).json()["id"]
            held = AsyncExitStack()

            async def one() -> tuple[int, str]:
                answer = await held.enter_async_context(client.stream("GET", f"/v1/jobs/{id}/events"))
                if answer.status_code == 200:
                    return 200, ""
                return answer.status_code, json.loads(await answer.aread())["code"]

            async with held:
                return Counter(await asyncio.gather(*(one() for _ in range(200))))

    limit = gateway.settings.http.streams_per_key
    assert asyncio.run(statuses()) == {(200, ""): limit, (429, "quota_exceeded"): 200 - limit}


def test_a_key_has_only_so_many_streams_open(gateway: Gateway, settings: Settings) -> None:
    headers = {"Authorization": f"Bearer {gateway.key('acme')}"}
    with (
        serving(with_http(settings, streams_per_key=2)) as url,
        httpx.Client(base_url=url, headers=headers, timeout=30) as client,
    ):
        path = _followed(client, "flow")
        with client.stream("GET", path) as first, client.stream("GET", path) as second:
            assert (first.status_code, second.status_code) == (200, 200)
            problem = assert_problem(client.get(path), 429, "quota_exceeded")
            assert (problem["quota"], problem["limit"]) == ("streams", 2)
            assert client.head(path).status_code == 429
        until(lambda: _opens(client, path), "a stream that is closed counts no more")


def _followed(client: httpx.Client, what: str) -> str:
    """Return the path of a stream that stays open."""
    if what == "job":
        return str(client.post("/v1/jobs", json=EXECUTE).json()["links"]["events"])
    flow = client.post("/v1/flows", json={"name": "f", "nodes": [], "edges": []}).json()
    return f"/v1/flows/{flow['id']}/events?after={flow['version']}"


def _opens(client: httpx.Client, path: str) -> bool:
    with client.stream("GET", path) as answer:
        return answer.status_code == 200
