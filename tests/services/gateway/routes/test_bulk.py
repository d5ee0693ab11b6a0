"""Many jobs cancelled or run again at once, with what came of each."""

from __future__ import annotations

import httpx2 as httpx
import pytest

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
