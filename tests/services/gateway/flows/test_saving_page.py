"""A front end that saves the whole flow after every layout, click and load: undo and redo still work over HTTP."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from tests.services.gateway.conftest import Gateway

Json = dict[str, Any]


class Page:
    """What such a page sends."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.nodes: list[Json] = []
        self.edges: list[Json] = []

    def post(self, path: str, body: object = None) -> Json:
        answer = self.client.post(f"/api/flow{path}", json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def open(self) -> None:
        self.show(self.client.get("/api/flow").json())

    def show(self, flow: Json) -> None:
        """Lay out, measure, save."""
        self.edges = flow["edges"]
        self.nodes = [
            {**node, "position": {"x": 250 * rank, "y": 40}, "measured": {"width": 172, "height": 76}, "width": 172,
             "height": 76, "sourcePosition": "right", "targetPosition": "left"}
            for rank, node in enumerate(flow["nodes"])
        ]  # fmt: skip
        self.save()

    def click(self, id: str) -> None:
        self.nodes = [{**node, "selected": node["id"] == id, "dragging": False} for node in self.nodes]
        self.save()

    def save(self) -> None:
        self.post("", {"nodes": self.nodes, "edges": self.edges})

    def add(self, label: str, parent: str | None = None) -> None:
        self.show(self.post("/node", {"label": label, "parentNodeId": parent})["flow"])

    def step(self, kind: str) -> list[str] | None:
        """Ctrl+Z or Ctrl+Y; the ids of the nodes after it, None when there was nothing."""
        told = self.post(f"/{kind}")
        if told["success"]:
            self.show(told["flow"])
            self.click(self.nodes[0]["id"] if self.nodes else "")
        return [node["id"] for node in self.nodes] if told["success"] else None


@pytest.fixture
def page(gateway: Gateway) -> Iterator[Page]:
    with gateway.client(f"tenant-{uuid.uuid4().hex}") as client:
        yield Page(client)


@pytest.mark.slow
def test_every_undo_takes_one_edit_back_and_every_redo_brings_one_again(page: Page) -> None:
    page.open()
    for label, parent in (("A", None), ("B", "a"), ("C", "b"), ("D", "c")):
        page.add(label, parent)
        page.click("a")
    walk = [["a", "b", "c", "d"][:count] for count in range(5)]
    assert [page.step("undo") for _ in range(4)] == walk[3::-1]
    assert page.step("undo") is None
    page.open()
    assert [page.step("redo") for _ in range(4)] == walk[1:]
    assert page.step("redo") is None
    status = page.client.get("/api/flow/history-status").json()
    assert (status["snapshotCount"], status["currentIndex"], status["canRedo"]) == (4, 4, False)


def test_opening_the_page_keeps_what_can_be_redone(page: Page) -> None:
    page.add("A")
    page.add("B")
    page.step("undo")
    other = Page(page.client)
    other.open()
    other.click("a")
    assert page.client.get("/api/flow/history-status").json()["canRedo"] is True
    assert other.step("redo") == ["a", "b"]


def test_a_real_change_after_an_undo_cuts_what_could_be_redone(page: Page) -> None:
    page.add("A")
    page.add("B")
    page.step("undo")
    page.nodes = [{**page.nodes[0], "data": {"label": "renamed"}}]
    page.save()
    assert page.step("redo") is None
    assert page.step("undo") == ["a"]
    assert page.nodes[0]["data"]["label"] == "A"
