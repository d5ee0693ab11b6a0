"""Collections over HTTP."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx2 as httpx
import pytest
from sqlalchemy import text

from shared.contracts.search import PastAttempt
from tests.services.gateway import workers
from tests.services.gateway.conftest import Gateway
from tests.services.gateway.http.test_problems import EXECUTE
from tests.support.wait import until

TABLES = {
    "sessions": {"facets": {"session_topic": 1.5}, "fields": {"track": "keyword", "start": "datetime"}},
    "people": {"facets": {"buying": 1.5, "selling": 1.5}, "pair": {"buying": "selling"}},
}


def declared(**changes: Any) -> dict[str, Any]:
    return {"name": f"c-{uuid.uuid4().hex[:8]}", "tables": TABLES, **changes}


def test_a_collection_is_created_read_listed_and_deleted(client: httpx.Client) -> None:
    body = declared()
    created = client.post("/v1/collections", json=body)
    assert created.status_code == 201, created.text
    assert created.headers["location"] == f"/v1/collections/{body['name']}"
    assert created.json()["tables"]["sessions"] == {**TABLES["sessions"], "pair": {}, "passages": None}
    assert client.get(f"/v1/collections/{body['name']}").json() == created.json()
    assert body["name"] in [item["name"] for item in client.get("/v1/collections").json()["items"]]
    assert client.delete(f"/v1/collections/{body['name']}").status_code == 204
    assert client.get(f"/v1/collections/{body['name']}").status_code == 404
    assert client.delete(f"/v1/collections/{body['name']}").status_code == 404


@pytest.mark.slow
def test_a_collection_shows_the_embedding_in_effect(gateway: Gateway, client: httpx.Client) -> None:
    named = client.post("/v1/collections", json=declared(embedding="openai:small")).json()
    unnamed = client.post("/v1/collections", json=declared()).json()
    assert (named["embedding"], unnamed["embedding"]) == ("openai:small", "auto")

    def shown() -> str:
        return str(client.get(f"/v1/collections/{unnamed['name']}").json()["embedding"])

    workers.advertise(gateway.engine, "search", facts={"embedding": "minilm:int8"}, id="embeds")
    until(lambda: shown() == "minilm:int8", "the default that the worker reports")
    assert client.get(f"/v1/collections/{named['name']}").json() == named
    workers.retire(gateway.engine, "embeds")
    until(lambda: shown() == "auto", "the default without a worker")


def test_the_same_declaration_again_is_answered_another_one_is_a_conflict(client: httpx.Client) -> None:
    body = declared()
    first = client.post("/v1/collections", json=body)
    again = client.post("/v1/collections", json=body)
    assert (again.status_code, again.json()) == (200, first.json())
    other = client.post("/v1/collections", json={**body, "tables": {"sessions": {}}})
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    assert client.get(f"/v1/collections/{body['name']}").json() == first.json()


def test_a_deleted_name_can_be_used_again(client: httpx.Client) -> None:
    body = declared()
    client.post("/v1/collections", json=body)
    client.delete(f"/v1/collections/{body['name']}")
    assert client.post("/v1/collections", json={**body, "tables": {"other": {}}}).status_code == 201


def test_another_tenants_collection_is_not_there(client: httpx.Client, other: httpx.Client) -> None:
    body = declared()
    client.post("/v1/collections", json=body)
    path = f"/v1/collections/{body['name']}"
    assert other.get(path).status_code == 404
    assert other.delete(path).status_code == 404
    assert other.post("/v1/collections", json={**body, "tables": {"mine": {}}}).status_code == 201
    assert set(client.get(path).json()["tables"]) == {"sessions", "people"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "a b"},
        {"name": "../x"},
        {"tables": {}},
        {"tables": {"a b": {}}},
        {"tables": {"t": {"fields": {"f": "polygon"}}}},
        {"tables": {"t": {"facets": {"f": 0}}}},
        {"tables": {"t": {"facets": {"f": -1}}}},
        {"tables": {"t": {"facets": {"f": "high"}}}},
        {"tables": {"t": {"facets": {"f": 1}, "pair": {"f": "nowhere"}}}},
        {"tables": {"t": {"unknown": 1}}},
        {"tables": {f"t{number}": {} for number in range(51)}},
        {"embedding": "gpt-9"},
        {"embedding": "openai:"},
        {"surprise": True},
    ],
)
def test_a_declaration_that_does_not_fit_is_refused(client: httpx.Client, wrong: dict[str, Any]) -> None:
    answer = client.post("/v1/collections", json=declared(**wrong))
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"]


def test_pages_walk_through_all_collections(gateway: Any) -> None:
    with gateway.client("pages") as client:
        names = [client.post("/v1/collections", json=declared()).json()["name"] for _ in range(5)]
        seen: list[str] = []
        cursor = None
        while True:
            answer = client.get("/v1/collections", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
            seen += [item["name"] for item in answer["items"]]
            cursor = answer["next_cursor"]
            if cursor is None:
                break
    assert seen == list(reversed(names))


def test_what_searches_tried_is_listed_in_pages(gateway: Gateway, client: httpx.Client) -> None:
    name = client.post("/v1/collections", json=declared()).json()["name"]
    path = f"/v1/collections/{name}/attempts"
    assert client.get(path).json() == {"items": [], "next_cursor": None}
    job = client.post("/v1/jobs", json=EXECUTE).json()["id"]
    query = {"table": "people", "search_mode": "master", "query_text": "who", "limit": 10, "score_threshold": None}
    found = {**query, "filters": {}, "hits": 3, "error": None, "ms": 1.5}
    with gateway.engine.begin() as connection:
        for number, strategy in enumerate(("initial", "relax", "rewrite"), 1):
            connection.execute(
                text(
                    "INSERT INTO search_attempts SELECT :job, :number, 'acme', id, :strategy, 'why', 'words', "
                    "CAST(:queries AS jsonb), 2 FROM collections WHERE name = :name"
                ),
                {"job": job, "number": number, "strategy": strategy, "queries": json.dumps([found]), "name": name},
            )
    first = client.get(f"{path}?limit=2").json()
    rest = client.get(path, params={"limit": 2, "cursor": first["next_cursor"]}).json()
    tried = [PastAttempt.model_validate(item) for item in [*first["items"], *rest["items"]]]
    assert [each.strategy for each in tried] == ["rewrite", "relax", "initial"]
    assert (tried[0].job_id, tried[0].gain, tried[0].queries[0].hits) == (job, 2, 3)
    assert rest["next_cursor"] is None
    with gateway.client_of(gateway.key("strangers")) as stranger:
        assert stranger.get(path).status_code == 404
