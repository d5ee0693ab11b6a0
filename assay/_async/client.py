"""The asynchronous client."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self, Unpack

import anyio
import httpx2

from assay import submits
from assay._async import resources
from assay._async.job import AsyncJob
from assay.calls import files, jobs, rest
from assay.calls.call import ApiCall, Reply, Upload, raw
from assay.events import Feed, JobEvent
from assay.exchange import Answer, ClientOptions, Outcome, Send, Steps, error_of, exchange
from assay.transport import CHUNK_BYTES, EndOfEvents, Target, fault_of, find_target, refuse, reply_of

if TYPE_CHECKING:
    from shared.contracts.capabilities import Capabilities
    from shared.contracts.detect import DetectResult
    from shared.contracts.document import DocumentResult
    from shared.contracts.execute import ExecuteResult
    from shared.contracts.flow import FlowResult
    from shared.contracts.models import Providers
    from shared.contracts.operations import Doctor, QueueHistory, Queues, Served, SettingStates, Stats, Workers
    from shared.contracts.search import IngestResult, RecordsResult, SearchResult
    from shared.contracts.transform import TransformResult


class AsyncClient:
    """Talks to one Assay; ``async with AsyncClient() as assay: ...`` closes its connections."""

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
        self._http = httpx2.AsyncClient(base_url=self.target.url, headers=headers, transport=transport)
        self._add_resources()

    def with_options(self, *, timeout: float | None = None, max_retries: int | None = None) -> Self:
        """The same client on the same connections, with other patience."""
        other = type(self).__new__(type(self))
        other.target, other._http = self.target, self._http
        given = {"timeout": timeout, "max_retries": max_retries}
        other.options = replace(self.options, **{name: v for name, v in given.items() if v is not None})  # type: ignore[arg-type]
        other._add_resources()
        return other

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    # --- work by kind ------------------------------------------------------------------------------------------------

    async def execute(
        self,
        code: str,
        *,
        files: Mapping[str, files.Content] | None = None,
        submit: jobs.SubmitOptions | None = None,
        wait: float | None = None,
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> AsyncJob[ExecuteResult]:
        """Run code in the sandbox; ``files``: path in the sandbox -> content. ``fields`` as in API.md."""
        fields.setdefault("language", "python")
        input = await self.drive(submits.execute_input(self.options, code, files, fields))
        return await self.submit("execute", input, submit, wait=wait, idempotency_key=idempotency_key)

    async def transform(
        self,
        task: str,
        data: object,
        *,
        submit: jobs.SubmitOptions | None = None,
        wait: float | None = None,
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> AsyncJob[TransformResult]:
        """Have code written for a task on data, run, and checked; see ``submits.transform_input`` for ``data``."""
        input = await self.drive(submits.transform_input(self.options, task, data, fields))
        return await self.submit("transform", input, submit, wait=wait, idempotency_key=idempotency_key)

    async def detect(
        self,
        source: str | os.PathLike[str],
        *,
        submit: jobs.SubmitOptions | None = None,
        wait: float | None = None,
        **fields: Any,
    ) -> AsyncJob[DetectResult]:
        """Find the technologies of a folder, an archive, or a public repository."""
        input = await self.drive(submits.detect_input(self.options, source, fields))
        return await self.submit("detect", input, submit, wait=wait)

    async def edit_flow(
        self,
        flow_id: str,
        message: str,
        submit: jobs.SubmitOptions | None = None,
        **fields: Any,
    ) -> AsyncJob[FlowResult]:
        return await self.submit("flow", {"flow_id": flow_id, "message": message, **fields}, submit)

    async def search(
        self,
        collection: str,
        question: str,
        submit: jobs.SubmitOptions | None = None,
        **fields: Any,
    ) -> AsyncJob[SearchResult]:
        return await self.submit("search", {"collection": collection, "question": question, **fields}, submit)

    async def ingest(
        self,
        collection: str,
        table: str,
        submit: jobs.SubmitOptions | None = None,
        **fields: Any,
    ) -> AsyncJob[IngestResult]:
        return await self.submit("ingest", {"collection": collection, "table": table, **fields}, submit)

    async def records(
        self,
        collection: str,
        table: str,
        submit: jobs.SubmitOptions | None = None,
        **fields: Any,
    ) -> AsyncJob[RecordsResult]:
        """A page of what a table holds; ``after`` is the ``next`` of the page before."""
        return await self.submit("records", {"collection": collection, "table": table, **fields}, submit)

    async def document(self, submit: jobs.SubmitOptions | None = None, **fields: Any) -> AsyncJob[DocumentResult]:
        return await self.submit("document", fields, submit)

    async def submit(
        self,
        kind: str,
        input: Mapping[str, Any],
        submit: jobs.SubmitOptions | None = None,
        *,
        wait: float | None = None,
        idempotency_key: str | None = None,
        **more: Unpack[jobs.SubmitOptions],
    ) -> AsyncJob[Any]:
        """A job of any kind, with its input as API.md has it."""
        options: jobs.SubmitOptions = {**(submit or {}), **more}
        view = await self.drive(submits.submit(self.options, kind, input, options, wait, idempotency_key))
        return AsyncJob(self, view)

    async def job(self, id: str) -> AsyncJob[Any]:
        """The handle of a job that is there."""
        return AsyncJob(self, await self.send(jobs.get(id)))

    # --- the rest ----------------------------------------------------------------------------------------------------

    async def capabilities(self) -> Capabilities:
        return await self.send(rest.capabilities())

    async def queues(self) -> Queues:
        return await self.send(rest.queues())

    async def queue_history(self) -> QueueHistory:
        """What waited, came and went in each minute of the last hour."""
        return await self.send(rest.queue_history())

    async def workers(self) -> Workers:
        return await self.send(rest.workers())

    async def settings(self) -> SettingStates:
        return await self.send(rest.settings())

    async def doctor(self) -> Doctor:
        """What the server checks of itself; for keys with admin."""
        return await self.send(rest.doctor())

    async def stats(
        self,
        by: str = "kind",
        bucket: str = "day",
        since: str | None = None,
        until: str | None = None,
        source: str | None = None,
    ) -> Stats:
        """Sums of jobs and model calls, by kind, model, prompt and so on."""
        return await self.send(rest.stats(by, bucket, since, until, source))

    async def served(self, since: str | None = None, until: str | None = None, source: str | None = None) -> Served:
        """Which models answered for which."""
        return await self.send(rest.served(since, until, source))

    async def providers(self) -> Providers:
        return await self.models.providers()

    async def ready(self) -> bool:
        """Whether the server is there and reaches its database."""
        try:
            await self.with_options(max_retries=0).send(rest.ready())
        except Exception:
            return False
        return True

    async def request(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        upload: Upload | None = None,
    ) -> Reply:
        """Any request, with the client's retries; answers the bare reply. Raises: APIError."""
        call = ApiCall(method.upper(), path, raw, query or {}, json, upload, headers or {})
        return await self.drive(exchange(call, self.options))

    async def send(self, call: ApiCall[Answer]) -> Answer:
        """Send a call and read its answer. Raises: APIError."""
        return await self.drive(submits.call(call, self.options))

    async def fetch(self, call: ApiCall[Any]) -> Any:
        """Send a call and take its answer's JSON as it is. Raises: APIError."""
        reply = await self.drive(exchange(call, self.options))
        return reply.json()

    async def drive(self, steps: Steps[Answer]) -> Answer:
        """Perform what the core asks for."""
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
            raise fault_of(fault) from fault

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
        """The job's events until its last, or until ``timeout`` seconds are over; reconnects as often as needed."""
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
        """One connection's worth. Raises: EndOfEvents, httpx2.HTTPError for another try, APIError."""
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
        """Whether a stream was silent because everything in it had been seen before."""
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
            return fault_of(fault)
        finally:
            if stream is not None and request.upload is not None and request.upload.close:
                stream.close()
        return reply_of(response, response.content)

    def _add_resources(self) -> None:
        self.jobs = resources.Jobs(self)
        self.batches = resources.Batches(self)
        self.evaluations = resources.Evaluations(self)
        self.shadows = resources.Shadows(self)
        self.files = resources.Files(self)
        self.uploads = resources.Uploads(self)
        self.flows = resources.Flows(self)
        self.prompts = resources.Prompts(self)
        self.models = resources.Models(self)
        self.keys = resources.Keys(self)
        self.limits = resources.Limits(self)
        self.webhook_secrets = resources.WebhookSecrets(self)
        self.audit = resources.Audit(self)
        self.sessions = resources.Sessions(self)
        self.conversations = resources.Conversations(self)
        self.collections = resources.Collections(self)
        self.stacks = resources.Stacks(self)


async def chunks_of(stream: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := await anyio.to_thread.run_sync(stream.read, CHUNK_BYTES):
        yield chunk
