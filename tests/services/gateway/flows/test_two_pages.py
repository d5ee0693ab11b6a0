"""Two pages on one flow: each sees the other's edits, a stale edit says what changed, collapsed subtrees stay so."""

from __future__ import annotations

import json
import queue
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx2 as httpx
import pytest

from tests.services.gateway.conftest import Gateway

Json = dict[str, Any]


@pytest.fixture
def page(gateway: Gateway) -> Iterator[httpx.Client]:
    with gateway.client(f"tenant-{uuid.uuid4().hex}") as client:
        yield client


def put(page: httpx.Client, path: str, body: object) -> Json:
    answer = page.put(f"/api/flow{path}", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["flow"])


class Followed:
    """The events of a stream, read by a thread."""

    def __init__(self, client: httpx.Client, path: str) -> None:
        self.seen: queue.Queue[Json] = queue.Queue()
        self._open = threading.Event()
        self._client, self._path = client, path
        threading.Thread(target=self._read, daemon=True).start()
        assert self._open.wait(30)

    def _read(self) -> None:
        with suppress(httpx.TransportError), self._client.stream("GET", self._path, timeout=60) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            for line in answer.iter_lines():
                self._open.set()
                if line.startswith("data:"):
                    self.seen.put(json.loads(line.removeprefix("data:")))


@pytest.mark.slow
@pytest.mark.parametrize("base", ["/api/flow", "/api"])
def test_a_page_hears_of_the_other_ones_edits(page: httpx.Client, base: str) -> None:
    early = Followed(page, f"{base}/events")
    page.post("/api/node", json={"label": "A"})
    assert early.seen.get(timeout=20)["type"] == "create"
    change = early.seen.get(timeout=20)
    assert (change["type"], change["origin"], [one["id"] for one in change["operations"]]) == (
        "change",
        "ui.node.create",
        ["a"],
    )
    late = Followed(page, f"{base}/events")
    again = Followed(page, f"{base}/events?after=1")
    page.post("/api/undo")
    assert late.seen.get(timeout=20)["type"] == "undo"
    assert [again.seen.get(timeout=20)["type"] for _ in range(2)] == ["change", "undo"]


def test_a_page_that_polls_is_told_when_nothing_has_changed(page: httpx.Client) -> None:
    assert page.get("/api/flow").headers["etag"] == '"v0"'
    made = page.post("/api/node", json={"label": "A"})
    read = page.get("/api/flow")
    assert made.headers["etag"] == read.headers["etag"] == '"v2"'
    again = page.get("/api/flow", headers={"If-None-Match": '"v2"'})
    assert (again.status_code, again.content) == (304, b"")
    saved = page.post("/api/flow", json={"nodes": [], "edges": []})
    assert saved.headers["etag"] == '"v3"'
    assert page.post("/api/undo").headers["etag"] == '"v4"'
    assert page.get("/api/flow", headers={"If-None-Match": '"v2"'}).status_code == 200


def test_a_stale_edit_says_what_changed(page: httpx.Client) -> None:
    mine = page.post("/api/node", json={"label": "A"})
    page.post("/api/node", json={"label": "B", "parentNodeId": "a"})
    page.put("/api/node/a", json={"label": "Renamed"})
    stale = {"If-Match": mine.headers["etag"]}
    for method, path, body in (
        ("POST", "/api/flow", mine.json()["flow"]),
        ("PUT", "/api/node/a", {"label": "Mine"}),
        ("POST", "/api/undo", None),
    ):
        refused = page.request(method, path, json=body, headers=stale)
        told = refused.json()
        assert (refused.status_code, told["code"], told["version"]) == (412, "precondition_failed", 4)
        edge = told["changed"][1]["id"]
        assert told["changed"] == [
            {"kind": "node", "id": "b", "change": "added", "members": []},
            {"kind": "edge", "id": edge, "change": "added", "members": []},
            {"kind": "node", "id": "a", "change": "changed", "members": ["data"]},
        ]
        assert f"Since version 2: node b added, edge {edge} added, node a changed." in told["detail"]
    assert len(page.get("/api/flow").json()["nodes"]) == 2
    ok = page.put("/api/node/a", json={"label": "Mine"}, headers={"If-Match": '"v4"'})
    assert ok.status_code == 200
    unknown = page.post("/api/undo", headers={"If-Match": '"v1", "v2"'}).json()
    assert (unknown["changed"], unknown["version"]) == (None, 5)


def test_a_stale_edit_of_the_api_says_what_changed_too(page: httpx.Client) -> None:
    flow = page.post("/v1/flows", json={"name": "F", "nodes": [{"id": "x"}]}).json()
    path = f"/v1/flows/{flow['id']}"
    page.post(f"{path}/operations", json={"tool_calls": [{"name": "deleteNode", "params": {"nodeId": "x"}}]})
    refused = page.post(f"{path}/undo", headers={"If-Match": '"v1"'})
    assert refused.status_code == 412
    assert refused.json()["changed"] == [{"kind": "node", "id": "x", "change": "removed", "members": []}]


def test_a_collapsed_subtree_says_so_and_hides_its_edges(page: httpx.Client) -> None:
    for label, parent in (("Root", None), ("A", "root"), ("B", "a"), ("Other", None)):
        page.post("/api/node", json={"label": label, "parentNodeId": parent})
    page.post("/api/edge", json={"sourceNodeId": "other", "targetNodeId": "b"})
    before = page.get("/api/flow").json()
    flow = put(page, "/subtree/root/collapse", {"collapsed": True})
    root, a, b, other = flow["nodes"]
    assert (root["data"]["collapsed"], root.get("hidden"), other.get("hidden")) == (True, None, None)
    assert [(node["hidden"], node["subtreeHidden"]) for node in (a, b)] == [(True, True)] * 2
    assert [edge.get("hidden") for edge in flow["edges"]] == [True, True, True]
    flow = put(page, "/subtree/root/collapse", {"collapsed": not root["data"]["collapsed"]})
    root, a, b, _ = flow["nodes"]
    assert root["data"]["collapsed"] is False
    assert [(node["hidden"], node["subtreeHidden"]) for node in (a, b)] == [(False, False)] * 2
    assert [edge["hidden"] for edge in flow["edges"]] == [False] * 3
    assert page.post("/api/undo").json()["flow"]["nodes"][1]["hidden"] is True
    assert page.post("/api/undo").json()["flow"] == before


def test_what_is_collapsed_inside_is_open_again_when_the_whole_is_expanded(page: httpx.Client) -> None:
    for label, parent in (("Root", None), ("A", "root"), ("B", "a")):
        page.post("/api/node", json={"label": label, "parentNodeId": parent})
    put(page, "/subtree/a/collapse", {"collapsed": True})
    put(page, "/subtree/root/collapse", {"collapsed": True})
    flow = put(page, "/subtree/root/collapse", {"collapsed": False})
    assert [node.get("hidden", False) for node in flow["nodes"]] == [False] * 3
    assert [node["data"].get("collapsed", False) for node in flow["nodes"]] == [False] * 3


@pytest.mark.parametrize("gone", ["node", "edge"])
def test_what_a_deleted_root_had_hidden_is_shown(page: httpx.Client, gone: str) -> None:
    for label, parent in (("Root", None), ("A", "root"), ("B", "a")):
        page.post("/api/node", json={"label": label, "parentNodeId": parent})
    page.post("/api/edge", json={"sourceNodeId": "b", "targetNodeId": "a"})
    flow = put(page, "/subtree/root/collapse", {"collapsed": True})
    path = "node/root" if gone == "node" else f"edge/{flow['edges'][0]['id']}"
    flow = page.delete(f"/api/flow/{path}").json()["flow"]
    assert [node["hidden"] for node in flow["nodes"] if node["id"] != "root"] == [False, False]
    assert [edge["hidden"] for edge in flow["edges"]] == [False, False]


def test_an_empty_label_is_taken_on_update_and_not_on_creation(page: httpx.Client) -> None:
    page.post("/api/node", json={"label": "A", "description": "d"})
    assert put(page, "/node/a", {"label": ""})["nodes"][0]["data"] == {"label": "", "description": "d"}
    refused = page.post("/api/node", json={"label": ""})
    assert (refused.status_code, refused.json()["error"]) == (400, "label is required")
    assert page.put("/api/node/a", json={}).status_code == 400


def test_a_body_of_text_is_refused_with_a_problem_that_says_so(page: httpx.Client) -> None:
    for path in ("/api/node", "/api/flow", "/api/conversation/message", "/api/notes"):
        refused = page.post(path, content=b'{"label": "A"}', headers={"Content-Type": "text/plain;charset=UTF-8"})
        assert (refused.status_code, refused.json()["code"]) == (415, "unsupported_media_type")
        assert "The body is text/plain: send JSON" in refused.json()["detail"]
