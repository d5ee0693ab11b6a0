"""A finished job as a case of a suite, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2 as httpx
from uuid_utils import uuid7

from shared.jobs.record.tables import jobs
from tests.services.gateway.conftest import Gateway
from tests.services.gateway.http.test_problems import assert_problem
from tests.support.rows import job_row

CODE = "print(6*7)\nprint('done')"


def ended(gateway: Gateway, **given: Any) -> str:
    defaults = {"tenant_id": "acme", "kind": "execute", "state": "succeeded"}
    row = job_row(id=str(uuid7()), **(defaults | given))
    with gateway.engine.begin() as connection:
        connection.execute(jobs.insert().values(row))
    return str(row["id"])


def test_a_job_that_ended_is_a_case_that_can_be_run(
    gateway: Gateway, client: httpx.Client, other: httpx.Client
) -> None:
    input = {"language": "python", "code": CODE}
    result = {"verdict": "ok", "stdout": "42\ndone\n", "truncated": False}
    id = ended(gateway, input=input, result=result, budget={"seconds": 5})
    case = client.get(f"/v1/jobs/{id}/case").json()
    assert case == {
        "name": "print(6*7)",
        "kind": "execute",
        "input": input,
        "expect": {"verdict": "ok", "stdout": "42\ndone\n"},
        "budget": {"seconds": 5},
    }
    assert client.get(f"/v1/jobs/{id}/case?name=product").json()["name"] == "product"
    suite = {"suite": {"name": "life", "cases": [case]}, "dry_run": True}
    assert client.post("/v1/evaluations", json=suite).json()["runs"] == 1
    assert_problem(other.get(f"/v1/jobs/{id}/case"), 404, "not_found")


def test_a_flow_is_a_case_that_begins_as_it_was(gateway: Gateway, client: httpx.Client) -> None:
    chart = {"format": "mermaid", "text": "flowchart LR\n a[Cart]", "name": "shop"}
    flow = client.post("/v1/flows/import", json=chart).json()
    call = {"name": "addNode", "params": {"label": "Pay", "parentNodeId": "a"}}
    client.post(f"/v1/flows/{flow['id']}/operations", json={"tool_calls": [call]})
    after = client.get(f"/v1/flows/{flow['id']}").json()
    result = {"flow": after, "version": after["version"], "proposal_id": None}
    id = ended(gateway, kind="flow", input={"flow_id": flow["id"], "message": "add a payment"}, result=result)
    case = client.get(f"/v1/jobs/{id}/case").json()
    assert [node["data"]["label"] for node in case["input"]["flow"]["nodes"]] == ["Cart"]
    assert [node["data"]["label"] for node in case["expect"]["flow"]["nodes"]] == ["Cart", "Pay"]


def test_what_makes_no_case_says_why(gateway: Gateway, client: httpx.Client) -> None:
    queued = ended(gateway, state="queued", input={"language": "python", "code": "1"})
    assert_problem(client.get(f"/v1/jobs/{queued}/case"), 404, "job_not_finished")
    long = {"verdict": "ok", "stdout": "x" * 300_000}
    problem = assert_problem(client.get(f"/v1/jobs/{ended(gateway, result=long)}/case"), 409, "conflict")
    assert "expect.stdout" in str(problem["detail"])
