"""Every list comes in pages, and says which one does not fit."""

from __future__ import annotations

import base64

import httpx2 as httpx
import pytest

from tests.services.gateway.http.test_problems import assert_problem

LISTS = [
    "/v1/jobs",
    "/v1/files",
    "/v1/conversations",
    "/v1/flows",
    "/v1/flows/{flow}/history",
    "/v1/flows/{flow}/versions",
    "/v1/flows/{flow}/proposals",
    "/v1/prompts",
    "/v1/prompts/flows.edit/versions",
    "/v1/collections",
    "/v1/stacks/definitions/versions",
    "/v1/stacks/proposals",
    "/v1/keys",
]


@pytest.fixture
def flow(admin: httpx.Client) -> str:
    id: str = admin.post("/v1/flows", json={"name": "listed"}).json()["id"]
    return id


@pytest.mark.parametrize("path", LISTS)
def test_a_page_that_does_not_fit_is_refused(admin: httpx.Client, flow: str, path: str) -> None:
    address = path.format(flow=flow)
    page = admin.get(address, params={"limit": 1}).json()
    assert set(page) == {"items", "next_cursor"}
    assert len(page["items"]) <= 1
    for limit in ("0", "-1", "201", "x", ""):
        problem = assert_problem(admin.get(address, params={"limit": limit}), 422, "invalid_request")
        assert problem["errors"][0]["loc"] == ["query", "limit"]  # type: ignore[index]
    others = [base64.urlsafe_b64encode(text).decode().rstrip("=") for text in (b"null", b"-1", b"[]", b'["x","y"]')]
    for cursor in ("", "x", "\0", *others):
        problem = assert_problem(admin.get(address, params={"cursor": cursor}), 422, "invalid_request")
        assert problem["errors"][0]["loc"] == ["query", "cursor"]  # type: ignore[index]


def test_a_list_that_is_at_hand_is_walked_through_as_others_are(client: httpx.Client) -> None:
    whole = client.get("/v1/prompts", params={"limit": 200}).json()["items"]
    items: list[object] = []
    cursor: str | None = None
    while True:
        page = client.get("/v1/prompts", params={"limit": 7, **({"cursor": cursor} if cursor else {})}).json()
        items += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert items == whole


def test_the_bare_address_leads_to_the_documentation(client: httpx.Client) -> None:
    answer = client.get("/")
    assert (answer.status_code, answer.headers["location"]) == (307, "/docs")
