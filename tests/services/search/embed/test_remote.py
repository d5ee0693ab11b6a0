"""Embeddings over HTTP, against a server of our own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import numpy as np
import pytest

from services.search.embed.remote import RemoteEmbedder
from shared.errors import EmbeddingUnavailable
from shared.llm.chat import ChainLink, TokenUsage
from shared.loop import BudgetSpent


class _Handler(BaseHTTPRequestHandler):
    answers: ClassVar[list[tuple[int, object]]] = []
    seen: ClassVar[list[dict[str, object]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.seen.append({"path": self.path, "key": self.headers.get("authorization"), **body})
        status, answer = self.answers.pop(0) if self.answers else (200, None)
        if answer is None:
            rows = [{"index": n, "embedding": [3.0, len(text), 0.0]} for n, text in enumerate(body["input"])]
            answer = {"data": list(reversed(rows))}
        raw = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def serving(*answers: tuple[int, object]) -> Iterator[tuple[str, list[dict[str, object]]]]:
    handler = type("Handler", (_Handler,), {"answers": list(answers), "seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", handler.seen  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_texts_come_back_in_order_as_unit_vectors() -> None:
    with serving() as (url, seen):
        vectors = RemoteEmbedder("m", url, "secret").documents(["four", ""])
    assert vectors == pytest.approx(np.array([[0.6, 0.8, 0.0], [1.0, 0.0, 0.0]]))
    assert seen[0]["path"] == "/v1/embeddings"
    assert seen[0]["key"] == "Bearer secret"
    assert seen[0]["model"] == "m"


def test_a_large_input_is_sent_in_batches() -> None:
    with serving() as (url, seen):
        vectors = RemoteEmbedder("m", url, "").documents([str(number) for number in range(300)])
    assert len(vectors) == 300
    assert [len(request["input"]) for request in seen] == [128, 128, 44]  # type: ignore[arg-type]


def test_a_passing_fault_is_tried_again() -> None:
    with serving((500, {}), (429, {})) as (url, seen):
        assert RemoteEmbedder("m", url, "").query("text").shape == (3,)
    assert len(seen) == 3


@pytest.mark.parametrize("answer", [{}, {"data": []}, {"data": [{"index": 0, "embedding": ["x"]}]}, [], {"data": 1}])
def test_an_answer_that_does_not_fit_is_an_outage(answer: object) -> None:
    with serving((200, answer)) as (url, _), pytest.raises(EmbeddingUnavailable) as caught:
        RemoteEmbedder("m", url, "secret").query("text")
    assert "secret" not in caught.value.detail


def test_after_five_failures_it_is_left_alone() -> None:
    with serving(*[(500, {})] * 20) as (url, seen):
        embedder = RemoteEmbedder("m", url, "")
        for _ in range(4):
            with pytest.raises(EmbeddingUnavailable):
                embedder.query("text")
    assert len(seen) == 5


def test_a_wrong_key_is_not_tried_again() -> None:
    with serving((401, {}), (401, {})) as (url, seen), pytest.raises(EmbeddingUnavailable, match="401"):
        RemoteEmbedder("m", url, "wrong").query("text")
    assert len(seen) == 1


class Paying:
    """A job that pays, and does not want more than it says."""

    def __init__(self, most: int = 10**9) -> None:
        self.spent: list[tuple[ChainLink, str, int | None]] = []
        self._most = most

    def admit(self, link: ChainLink) -> None:
        if sum(tokens or 0 for _, _, tokens in self.spent) >= self._most:
            raise BudgetSpent("tokens")

    def spend(self, link: ChainLink, role: str, usage: TokenUsage, seconds: float) -> None:
        self.spent.append((link, role, usage.input))


def test_the_tokens_of_each_request_are_those_of_the_job_that_embeds() -> None:
    rows = [{"index": n, "embedding": [1.0, n]} for n in range(128)]
    answer = {"data": rows, "usage": {"total_tokens": 500}}
    paying = Paying(most=1000)
    with serving(*[(200, answer)] * 4) as (url, seen):
        embedder = RemoteEmbedder("m", url, "").metered(paying)
        with pytest.raises(BudgetSpent):
            embedder.documents(["text"] * 128 * 4)

    assert len(seen) == 2, "what the budget does not cover is not asked"
    assert paying.spent == [(ChainLink("openai", "m"), "search.embed", 500)] * 2
    assert embedder.fingerprint == "openai/m"


def test_a_server_that_does_not_say_its_tokens_serves_all_the_same() -> None:
    paying = Paying()
    with serving() as (url, _):
        RemoteEmbedder("m", url, "").metered(paying).query("text")
    assert paying.spent == [(ChainLink("openai", "m"), "search.embed", None)]
