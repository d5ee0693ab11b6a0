"""What an attack has in its hands: a key of a tenant of its own, and as many connections as it likes."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

import httpx2 as httpx

#: Another of loopback's addresses: an attacker is on another machine than the tenant that is measured.
ADDRESS = "127.0.0.2"
Act: TypeAlias = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Attacker:
    """Counts what it was answered: the status, or the name of the error."""

    host: str
    port: int
    key: str
    client: httpx.AsyncClient
    outcomes: Counter[str] = field(default_factory=Counter)

    async def send(self, method: str, path: str, body: object = None, *, key: str | None = None, **headers: str) -> str:
        """Return one request, its body as JSON unless it is bytes; the text of the answer, empty when there was
        none.
        """
        content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        sent = {"Authorization": f"Bearer {key or self.key}", "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            response = await self.client.request(method, path, content=content, headers=sent)
        except httpx.HTTPError as error:
            self.outcomes[type(error).__name__] += 1
            return ""
        self.outcomes[str(response.status_code)] += 1
        return response.text

    async def hold(self, path: str, seconds: float) -> str:
        """Open a stream and read it for some seconds; the answer is empty."""
        headers = {"Authorization": f"Bearer {self.key}", "Accept": "text/event-stream"}
        try:
            async with asyncio.timeout(seconds), self.client.stream("GET", path, headers=headers) as response:
                self.outcomes[str(response.status_code)] += 1
                async for _ in response.aiter_bytes():
                    pass
        except TimeoutError:
            pass
        except httpx.HTTPError as error:
            self.outcomes[type(error).__name__] += 1
        return ""

    async def submit(self, kind: str, given: object, *, webhook: str | None = None, prefer: str = "") -> str:
        """Return a job; its id, empty when it was refused."""
        body: dict[str, object] = {"kind": kind, "input": given}
        if webhook:
            body["webhook"] = {"url": webhook, "events": ["job.finished"]}
        answer = await self.send("POST", "/v1/jobs", body, Prefer=prefer)
        return str(json.loads(answer).get("id", "")) if answer.startswith("{") else ""

    async def upload(self, name: str, content: bytes) -> str:
        """Return a file; its id, empty when it was refused."""
        answer = await self.send("POST", f"/v1/files?name={name}", content, Content_Type="application/octet-stream")
        return str(json.loads(answer).get("id", "")) if answer.startswith("{") else ""

    async def endlessly(self, act: Act, parallel: int = 1) -> None:
        """The same again and again, on several connections at once."""

        async def again() -> None:
            while True:
                await act()
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as group:
            for _ in range(parallel):
                group.create_task(again())

    async def drip(self, count: int, *pieces: bytes, pause: float) -> None:
        """Connections that send a piece, wait, and send the next; the last piece again and again."""

        async def one() -> None:
            with suppress(OSError, asyncio.IncompleteReadError):
                _, writer = await asyncio.open_connection(self.host, self.port, local_addr=(ADDRESS, 0))
                self.outcomes["connected"] += 1
                async with AsyncExitStack() as stack:
                    stack.callback(writer.close)
                    for piece in pieces:
                        writer.write(piece)
                        await asyncio.sleep(pause)
                    while pieces and not writer.is_closing():
                        writer.write(pieces[-1])
                        await writer.drain()
                        await asyncio.sleep(pause)
                    await asyncio.Event().wait()
            self.outcomes["closed"] += 1

        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(one())

    @property
    def head(self) -> bytes:
        """The beginning of a submit, without the end of its headers."""
        lines = ("POST /v1/jobs HTTP/1.1", "Host: x", f"Authorization: Bearer {self.key}")
        return "".join(f"{line}\r\n" for line in (*lines, "Content-Type: application/json")).encode()


Attack: TypeAlias = Callable[[Attacker], Awaitable[None]]
