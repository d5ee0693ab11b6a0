"""A job's events as a stream: none missing, none twice, whatever breaks."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx
import pytest

from services.host.redis import Redis
from shared.settings import StoreSettings
from tests.services.gateway import workers
from tests.services.gateway.conftest import Gateway, serving, settings_of
from tests.services.gateway.http.test_problems import EXECUTE, assert_problem


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
