"""Handlers return contract models; the few answers that are prepared bytes are held to their models here."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2 as httpx
import pytest
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from services.gateway.app import create_app
from shared.flows.calls import Call
from tests.services.gateway.conftest import Gateway
from tests.services.gateway.flows.test_flows import propose

Json = dict[str, Any]
JOB: Json = {"kind": "execute", "input": {"language": "python", "code": "print(6 * 7)"}, "labels": {"run": "1"}}
CASE: Json = {"name": "product", "kind": "execute", "input": JOB["input"], "expect": {"stdout": "42"}}
NODES: list[Json] = [{"id": "x", "position": {"x": 0, "y": 1.5}, "data": {"label": "X"}, "width": 10}, {"id": "y"}]
FLOW: Json = {"name": "main", "nodes": NODES, "edges": [{"id": "e", "source": "x", "target": "y"}]}


def routes_of(gateway: Gateway) -> dict[str, APIRoute]:
    """The described operations by name."""
    app = create_app(gateway.settings)
    return {route.name: route for route in app.routes if isinstance(route, APIRoute) and route.include_in_schema}


def returned_by(route: APIRoute) -> str:
    return str(inspect.signature(route.endpoint).return_annotation)


@dataclass
class Walk:
    """Calls operations, and compares each answer with the model that its route declares."""

    client: httpx.Client
    routes: Mapping[str, APIRoute]
    seen: set[str] = field(default_factory=set)

    def __call__(self, name: str, method: str, url: str, **more: Any) -> Json:
        response = self.client.request(method, url, **more)
        assert response.is_success, (name, response.text)
        route = self.routes[name]
        declared = route.responses.get(response.status_code, {}).get("model") or route.response_model
        content: Json = json.loads(response.content)
        adapter: TypeAdapter[Any] = TypeAdapter(declared)
        read = adapter.validate_json(response.content)
        assert adapter.dump_python(read, mode="json", by_alias=True, exclude_unset=True) == content, name
        self.seen.add(name)
        return content


@pytest.mark.slow
def test_every_prepared_answer_is_what_its_route_declares(gateway: Gateway, client: httpx.Client) -> None:
    routes = routes_of(gateway)
    walk = Walk(client, routes)

    job = walk("submit_job", "POST", "/v1/jobs", json=JOB)
    walk("get_job", "GET", f"/v1/jobs/{job['id']}")
    walk("list_jobs", "GET", "/v1/jobs?total=true&limit=1")
    walk("cancel_job", "POST", f"/v1/jobs/{job['id']}/cancel")
    walk("replay_job", "POST", f"/v1/jobs/{job['id']}/replay")
    batch = walk("submit_batch", "POST", "/v1/batches", json={"jobs": [JOB, JOB]})
    walk("get_batch", "GET", f"/v1/batches/{batch['id']}")

    file = walk("upload_file", "POST", "/v1/files?name=t.csv", content=b"n,city\n1,Oslo\n2,\n")
    walk("get_file_rows", "GET", f"/v1/files/{file['id']}/rows")

    evaluation = walk("create_evaluation", "POST", "/v1/evaluations", json={"suite": {"name": "s", "cases": [CASE]}})
    walk(
        "create_evaluation", "POST", "/v1/evaluations", json={"suite": {"name": "s", "cases": [CASE]}, "dry_run": True}
    )
    path = f"/v1/evaluations/{evaluation['id']}"
    walk("get_evaluation", "GET", f"{path}?suite=true&baseline={evaluation['id']}")
    walk("list_evaluation_runs", "GET", f"{path}/runs")
    walk("cancel_evaluation", "POST", f"{path}/cancel")
    walk("resume_evaluation", "POST", f"{path}/resume")

    flow = walk("create_flow", "POST", "/v1/flows", json=FLOW)
    walk("import_flow", "POST", "/v1/flows/import", json={"format": "mermaid", "text": "flowchart TD\n a --> b\n ???"})
    path = f"/v1/flows/{flow['id']}"
    walk("get_flow", "GET", path)
    calls = [{"name": "addNode", "params": {"label": "New", "parentNodeId": "x"}}, {"name": "deleteNode"}]
    walk("run_operations", "POST", f"{path}/operations", json={"tool_calls": calls})
    for name in ("undo", "redo", "redo"):
        walk(f"{name}_flow", "POST", f"{path}/{name}")
    walk("lay_out_flow", "POST", f"{path}/layout")
    walk("get_version", "GET", f"{path}/versions/1")
    walk("restore_version", "POST", f"{path}/versions/1/restore")
    walk("branch_version", "POST", f"{path}/versions/1/branch")
    walk("diff_versions", "GET", f"{path}/diff?from=1&to=2")
    saved = walk("save_flow", "PUT", path, json=FLOW)
    proposal = propose(gateway, saved, Call("addNode", {"label": "A", "parentNodeId": "x"}))
    walk("apply_proposal", "POST", f"{path}/proposals/{proposal}/apply")

    assert walk.seen == {name for name, route in routes.items() if "Prepared" in returned_by(route)}


def test_a_handler_returns_its_model_or_says_that_its_answer_is_prepared(gateway: Gateway) -> None:
    decorated = {
        name: returned_by(route)
        for name, route in routes_of(gateway).items()
        if route.response_model is not None
        and "Response" in returned_by(route)
        and "Prepared" not in returned_by(route)
    }
    assert decorated == {}


def test_a_client_that_has_the_version_gets_no_body(client: httpx.Client) -> None:
    for url in (f"/v1/jobs/{client.post('/v1/jobs', json=JOB).json()['id']}", "/v1/models", "/v1/stacks/definitions"):
        first = client.get(url)
        again = client.get(url, headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"]), url
        assert "content-type" not in again.headers
        assert client.get(url, headers={"If-None-Match": '"other"'}).content == first.content
