"""A few lines of a server for the client's tests: its answers are a list, and it keeps its requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2

JOB = {
    "id": "job_1",
    "kind": "execute",
    "state": "queued",
    "attempt": 0,
    "created_at": "2026-01-01T00:00:00Z",
    "links": {"self": "/v1/jobs/job_1", "events": "/v1/jobs/job_1/events", "cancel": "/v1/jobs/job_1/cancel"},
}
RESULT = {
    "verdict": "ok", "stdout": "42\n", "stderr": "", "truncated": False, "error": None, "value": None, "displays": [],
    "artifacts": [], "usage": {"wall_ms": 1, "cpu_ms": 1, "peak_memory_mb": 1}, "isolation": {"tier": "bubblewrap"},
}  # fmt: skip

Answer = httpx2.Response | Exception | Callable[[httpx2.Request], httpx2.Response]


@dataclass
class Script(httpx2.MockTransport):
    """Answers in order; the last one for ever."""

    answers: list[Answer]
    requests: list[httpx2.Request] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(self._answer)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.bodies.append(request.read())
        return super().handle_request(request)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.bodies.append(await request.aread())
        return await super().handle_async_request(request)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer(request) if callable(answer) else answer


def ok(body: object, status: int = 200, **headers: str) -> Callable[[httpx2.Request], httpx2.Response]:
    return lambda request: httpx2.Response(status, json=body, headers=headers)


def problem(status: int, code: str, **headers: str) -> Callable[[httpx2.Request], httpx2.Response]:
    body = {"type": "x", "title": "t", "status": status, "detail": f"it is {code}", "code": code, "request_id": "r-1"}
    headers.setdefault("Retry-After", "0")
    kind = {"Content-Type": "application/problem+json"}
    return lambda request: httpx2.Response(status, content=json.dumps(body).encode(), headers={**headers, **kind})


def job(**fields: Any) -> dict[str, Any]:
    return {**JOB, **fields}


def event(seq: int, type: str, **data: Any) -> bytes:
    body = json.dumps({"type": type, "job_id": "job_1", "seq": seq, "at": "2026-01-01T00:00:00Z", **data})
    return f"id: {seq}\nevent: {type}\ndata: {body}\n\n".encode()


class Torn(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body that breaks after its pieces."""

    def __init__(self, *pieces: bytes, breaks: bool = True) -> None:
        self._pieces, self._breaks = pieces, breaks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        if self._breaks:
            raise httpx2.ReadError("the line was cut")

    async def __aiter__(self) -> Any:
        for piece in self:
            yield piece


def stream(*pieces: bytes, breaks: bool = False) -> Callable[[httpx2.Request], httpx2.Response]:
    kind = {"Content-Type": "text/event-stream"}
    return lambda request: httpx2.Response(200, stream=Torn(*pieces, breaks=breaks), headers=kind)
