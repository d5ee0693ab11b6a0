"""One connection to the server: it sends calls, streams bodies, and follows events."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import anyio
import httpx2

from assay import submits
from assay.calls import jobs
from assay.calls.call import ApiCall
from assay.events import Feed, JobEvent
from assay.exchange import Answer, ClientOptions, Outcome, Send, Steps, error_of, exchange
from assay.transport import (
    CHUNK_BYTES,
    EndOfEvents,
    Target,
    answer_of_proxy,
    fault_of,
    find_target,
    refuse,
    reply_of,
    usable_proxy,
)


class AsyncConnection:
    """Pooled HTTP connections to one Assay, with retries."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        profile: str | None = None,
        timeout: float = 30.0,
        max_retries: int = 2,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.target: Target = find_target(url, api_key, profile=profile)
        self.options = ClientOptions(timeout, max_retries)
        headers = {"User-Agent": "assay-python"}
        if self.target.api_key:
            headers["Authorization"] = f"Bearer {self.target.api_key}"
        proxy = self.target.proxy_url if transport is None else None
        if transport is None and proxy is None:
            transport = httpx2.AsyncHTTPTransport()  # without the proxies of the environment, which it does not need
        with usable_proxy(self.target):
            self._http = httpx2.AsyncClient(base_url=self.target.url, headers=headers, transport=transport, proxy=proxy)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def send(self, call: ApiCall[Answer]) -> Answer:
        """Send a call and read its answer. Raises: APIError."""
        return await self.drive(submits.call(call, self.options))

    async def fetch(self, call: ApiCall[Any]) -> Any:
        """Send a call and take its answer's JSON as it is. Raises: APIError."""
        reply = await self.drive(exchange(call, self.options))
        return reply.json()

    async def drive(self, steps: Steps[Answer]) -> Answer:
        """Perform the steps that the core yields."""
        outcome: Outcome = None
        try:
            while True:
                step = steps.send(outcome)
                outcome = None
                if isinstance(step, Send):
                    outcome = await self._perform(step)
                else:
                    await anyio.sleep(step.seconds)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def download(self, path: str, target: BinaryIO) -> None:
        """Stream an answer's body into a file. Raises: APIError."""
        try:
            async with self._http.stream("GET", path, timeout=self.options.timeout) as response:
                if response.status_code >= 400:
                    raise error_of(reply_of(response, await response.aread()))
                async for chunk in response.aiter_bytes(CHUNK_BYTES):
                    target.write(chunk)
        except httpx2.HTTPError as fault:
            raise fault_of(fault, self.target) from fault

    async def lines(self, path: str) -> AsyncIterator[str]:
        """Stream an answer line by line, whatever its size. Raises: APIError."""
        try:
            async with self._http.stream("GET", path, timeout=self.options.timeout) as response:
                if response.status_code >= 400:
                    raise error_of(reply_of(response, await response.aread()))
                async for line in response.aiter_lines():
                    if line:
                        yield line
        except httpx2.HTTPError as fault:
            raise fault_of(fault, self.target) from fault

    async def save(self, path: str, target: str | os.PathLike[str]) -> Path:
        """Stream an answer's body into a file, which appears only when it is whole. Raises: APIError."""
        whole = Path(target)
        beside = whole.with_name(f".{whole.name}.{os.getpid()}.part")
        try:
            with beside.open("wb") as file:
                await self.download(path, file)
            beside.replace(whole)
        finally:
            beside.unlink(missing_ok=True)
        return whole

    async def events(self, job_id: str, after: int = 0, timeout: float | None = None) -> AsyncIterator[JobEvent]:
        """Yield the job's events until the last one, or for ``timeout`` seconds; reconnect as often as needed."""
        feed = Feed(after)
        deadline = None if timeout is None else time.monotonic() + timeout
        while not feed.finished:
            patience = feed.begin(deadline)
            if patience <= 0:
                return
            try:
                async for event in self._listen(job_id, feed, patience, deadline):
                    yield event
            except EndOfEvents:
                return
            except httpx2.HTTPError:
                await anyio.sleep(feed.pause(deadline))

    async def _listen(
        self, job_id: str, feed: Feed, patience: float, deadline: float | None
    ) -> AsyncIterator[JobEvent]:
        """Yield the events of one connection. Raises: EndOfEvents; httpx2.HTTPError, to be retried; APIError."""
        before, path = feed.after, jobs.events_path(job_id)
        async with self._http.stream("GET", path, headers=feed.headers, timeout=patience) as response:
            if response.status_code >= 400:
                refuse(reply_of(response, await response.aread()))
            async for chunk in response.aiter_bytes():
                for event in feed.receive(chunk):
                    yield event
                if feed.renew(deadline):
                    return
        if not feed.finished:
            if feed.after == before and await self._ended(job_id):
                raise EndOfEvents
            raise httpx2.ReadError("the stream ended before the job")

    async def _ended(self, job_id: str) -> bool:
        """Return whether the job has ended, because a silent stream may have held only events seen before."""
        job = await self.send(jobs.get(job_id))
        return job.state.terminal

    async def _perform(self, request: Send) -> Outcome:
        stream = request.upload.open() if request.upload is not None else None
        try:
            response = await self._http.request(
                request.method,
                request.path,
                params=httpx2.QueryParams(request.parameters) if request.parameters else None,
                headers=dict(request.headers),
                content=chunks_of(stream) if stream is not None else request.content,
                timeout=httpx2.Timeout(request.timeout, connect=min(5.0, request.timeout)),
            )
        except (httpx2.HTTPError, httpx2.InvalidURL) as fault:
            return fault_of(fault, self.target)
        finally:
            if stream is not None and request.upload is not None and request.upload.close:
                stream.close()
        reply = reply_of(response, response.content)
        return answer_of_proxy(reply, self.target) or reply


async def chunks_of(stream: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := await anyio.to_thread.run_sync(stream.read, CHUNK_BYTES):
        yield chunk
