"""Query parameters: an unknown one is refused, and the error names those that exist."""

from __future__ import annotations

import httpx2 as httpx
import pytest

from services.gateway.app import create_app
from services.gateway.http.openapi import _routes
from services.gateway.routing import Route, query_names
from services.gateway.settings import Settings
from tests.services.gateway.http.test_problems import assert_problem


@pytest.mark.parametrize(
    ("path", "wrong", "known"),
    [
        ("/v1/jobs?statee=failed", "statee", "state"),
        ("/v1/files?limitt=3", "limitt", "limit"),
        ("/v1/collections?x", "x", "cursor"),
        ("/v1/capabilities?verbose=1", "verbose", "none"),
        ("/v1/jobs/none?fields=id", "fields", "none"),
    ],
)
def test_an_unknown_parameter_is_refused_by_name(client: httpx.Client, path: str, wrong: str, known: str) -> None:
    answer = client.get(path)
    assert_problem(answer, 422, "invalid_request")
    assert answer.json()["errors"][0]["loc"] == ["query", wrong]
    assert known in answer.json()["detail"]


def test_parameters_that_there_are_pass(client: httpx.Client) -> None:
    assert client.get("/v1/jobs?state=failed&state=dead&kind=execute&label=a=b&limit=3").status_code == 200
    assert client.post("/v1/files?name=a.txt", content=b"x").status_code == 201
    wrong = client.post("/v1/jobs?dry=1", json={"kind": "execute", "input": {"language": "python", "code": "1"}})
    assert wrong.status_code == 422


def test_who_has_no_key_is_told_that_first(client: httpx.Client) -> None:
    assert client.get("/v1/jobs?statee=x", headers={"Authorization": ""}).status_code == 401


def test_the_routes_of_the_older_editor_stay_lenient(client: httpx.Client) -> None:
    assert client.get("/api/flow?t=123").status_code == 200
    assert client.get("/healthz?t=123").status_code == 200


def test_every_v1_operation_checks_what_its_description_lists(settings: Settings) -> None:
    routes = [route for route in _routes(create_app(settings)) if route.path.startswith("/v1/")]
    assert len(routes) > 50
    assert all(isinstance(route, Route) for route in routes)
    assert {"state", "label", "q"} <= next(query_names(each.dependant) for each in routes if each.name == "list_jobs")
