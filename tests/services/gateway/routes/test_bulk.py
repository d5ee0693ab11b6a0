"""Many jobs cancelled or run again at once, with the outcome of each."""

from __future__ import annotations

import threading

import httpx2 as httpx
import pytest
from sqlalchemy import text

from tests.services.gateway import workers
from tests.services.gateway.conftest import Gateway
from tests.services.gateway.http.test_problems import assert_problem

CODE = {"language": "python", "code": "1"}


def submitted(client: httpx.Client, label: str, count: int = 1) -> list[str]:
    jobs = [{"kind": "execute", "input": CODE, "labels": {"bulk": label}} for _ in range(count)]
    return [job["id"] for job in client.post("/v1/batches", json={"jobs": jobs}).json()["jobs"]]


def test_jobs_are_cancelled_by_id_and_each_is_told_of(client: httpx.Client, other: httpx.Client) -> None:
    mine, theirs = submitted(client, "ids", 2), submitted(other, "ids")
    answer = client.post("/v1/jobs/cancel", json={"ids": [*mine, *theirs, mine[0], "nothing"]})
    assert answer.status_code == 202
    told = answer.json()
    assert [(each["id"], each["ok"], each["code"]) for each in told["items"]] == [
        (mine[0], True, None),
        (mine[1], True, None),
        (theirs[0], False, "not_found"),
        ("nothing", False, "not_found"),
    ]
    assert other.get(f"/v1/jobs/{theirs[0]}").json()["state"] == "queued"
    again = client.post("/v1/jobs/cancel", json={"ids": mine[:1]}).json()["items"][0]
    assert (again["ok"], again["code"], again["state"]) == (False, "job_finished", "cancelled")


def test_a_thousand_jobs_are_cancelled_with_a_few_statements(gateway: Gateway, client: httpx.Client) -> None:
    """Whatever their number: each with its event, and running ones are requested to end."""
    ids = [id for _ in range(2) for id in submitted(client, "thousand", 500)]
    running, fence = workers.claim(gateway.engine)
    assert running in ids
    with gateway.client() as mine:
        told = mine.post("/v1/jobs/cancel", json={"filter": {"label": ["bulk=thousand"]}}).json()
    outcomes = {each["id"]: each for each in told["items"]}
    assert (set(outcomes), told["more"]) == (set(ids), False)
    assert {each["state"] for id, each in outcomes.items() if id != running} == {"cancelled"}
    assert outcomes[running]["state"] == "running"
    with gateway.engine.connect() as connection:
        query = text("SELECT count(*) FROM job_events WHERE type = 'job_cancelled' AND job_id = ANY(:ids)")
        assert connection.execute(query, {"ids": ids}).scalar_one() == len(ids) - 1
        count = text("SELECT count(*) FROM jobs WHERE id = ANY(:ids) AND cancel_requested_at IS NOT NULL")
        assert connection.execute(count, {"ids": ids}).scalar_one() == len(ids)
    workers.complete(gateway.engine, running, fence, None)
    queue = next(each for each in client.get("/v1/queues").json()["items"] if each["kind"] == "execute")
    assert queue["queued"] == 0


def test_inputs_that_are_large_together_are_run_again_as_far_as_one_body_may_be(
    gateway: Gateway, client: httpx.Client
) -> None:
    """A body of a few bytes made the gateway hold and check a gigabyte."""
    workers.advertise(gateway.engine)
    ids = [*submitted(client, "large", 2), *submitted(client, "small")]
    with gateway.engine.begin() as connection:
        grown = text("UPDATE jobs SET input = input || jsonb_build_object('code', repeat('#', 9000000)) WHERE id = :id")
        for id in ids[:2]:
            connection.execute(grown, {"id": id})
    with gateway.client() as mine:
        told = mine.post("/v1/jobs/replay", json={"ids": ids}).json()["items"]
    assert [(each["id"], each["code"]) for each in told][1:] == [(ids[1], "too_large"), (ids[2], None)]
    assert "16000000 bytes" in told[1]["detail"]


def test_two_who_cancel_the_same_jobs_at_once_both_get_an_answer(gateway: Gateway, client: httpx.Client) -> None:
    ids = submitted(client, "twice", 200)
    answers: list[httpx.Response] = []

    def cancel(order: list[str]) -> None:
        with gateway.client() as mine:
            answers.append(mine.post("/v1/jobs/cancel", json={"ids": order}))

    both = [threading.Thread(target=cancel, args=(order,)) for order in (ids, ids[::-1])]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert [answer.status_code for answer in answers] == [202, 202]
    done = [each["ok"] for answer in answers for each in answer.json()["items"]]
    assert (done.count(True), done.count(False)) == (200, 200)


def test_jobs_that_a_filter_fits_are_cancelled_and_no_others(client: httpx.Client, other: httpx.Client) -> None:
    mine, rest = submitted(client, "wanted", 3), submitted(client, "rest")
    theirs = submitted(other, "wanted")
    told = client.post("/v1/jobs/cancel", json={"filter": {"label": ["bulk=wanted"]}}).json()
    assert sorted(each["id"] for each in told["items"]) == sorted(mine)
    assert all(each["ok"] for each in told["items"])
    assert told["more"] is False
    assert client.get(f"/v1/jobs/{rest[0]}").json()["state"] == "queued"
    assert other.get(f"/v1/jobs/{theirs[0]}").json()["state"] == "queued"
    assert client.post("/v1/jobs/cancel", json={"filter": {"label": ["bulk=wanted"]}}).json()["items"] == []


def test_jobs_run_again_as_one_batch_and_those_that_cannot_say_why(gateway: Gateway, client: httpx.Client) -> None:
    workers.advertise(gateway.engine)
    old = submitted(client, "again", 2)
    file = client.post("/v1/files?name=a", content=b"x").json()["id"]
    lost = {"kind": "execute", "input": {**CODE, "files": [{"id": file, "path": "a"}]}, "labels": {"bulk": "again"}}
    old.append(client.post("/v1/jobs", json=lost).json()["id"])
    client.delete(f"/v1/files/{file}")
    change = {"budget": {"seconds": 7}}
    told = client.post("/v1/jobs/replay", json={"filter": {"label": ["bulk=again"]}, "change": change}).json()
    outcomes = {each["id"]: each for each in told["items"]}
    assert set(outcomes) == set(old)
    assert (outcomes[old[2]]["ok"], outcomes[old[2]]["code"]) == (False, "invalid_request")
    made = client.get(f"/v1/batches/{told['batch_id']}").json()
    assert {job["id"] for job in made["jobs"]} == {outcomes[id]["job_id"] for id in old[:2]}
    one = client.get(f"/v1/jobs/{outcomes[old[0]]['job_id']}").json()
    assert (one["replayed_from"], one["labels"], one["input"]) == (old[0], {"bulk": "again"}, CODE)


@pytest.mark.parametrize(
    "body", [{}, {"ids": []}, {"filter": {}}, {"ids": ["a"], "filter": {"q": "x"}}, {"filter": {"colour": "red"}}]
)
def test_one_has_to_say_which(client: httpx.Client, body: dict[str, object]) -> None:
    for verb in ("cancel", "replay"):
        assert_problem(client.post(f"/v1/jobs/{verb}", json=body), 422, "invalid_request")


def test_who_may_only_read_changes_nothing(gateway: Gateway) -> None:
    with gateway.client("acme", "read") as reader:
        assert_problem(reader.post("/v1/jobs/cancel", json={"ids": ["a"]}), 403, "missing_scope")
        assert_problem(reader.post("/v1/jobs/replay", json={"ids": ["a"]}), 403, "missing_scope")
