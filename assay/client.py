"""The synchronous client."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, Self, Unpack

import httpx2

from assay import resources, submits
from assay.calls import files, jobs, rest
from assay.calls.call import Call, Reply, Upload, raw
from assay.errors import APIConnectionError, APITimeoutError
from assay.events import Feed, JobEvent
from assay.exchange import Answer, Options, Outcome, Send, Steps, error_of, exchange
from assay.job import Job
from assay.target import Target, find_target

if TYPE_CHECKING:
    from shared.contracts.capabilities import Capabilities
    from shared.contracts.detect import DetectResult
    from shared.contracts.document import DocumentResult
    from shared.contracts.execute import ExecuteResult
    from shared.contracts.flow import FlowResult
    from shared.contracts.models import Providers
    from shared.contracts.search import IngestResult, SearchResult
    from shared.contracts.transform import TransformResult

_CHUNK = 256 * 1024


class Client:
    """Talks to one Assay; usable from several threads. ``with Client() as assay: ...`` closes its connections."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 30.0,
        max_retries: int = 2,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.target: Target = find_target(url, api_key)
        self.options = Options(timeout, max_retries)
        headers = {"User-Agent": "assay-python"}
        if self.target.api_key:
            headers["Authorization"] = f"Bearer {self.target.api_key}"
        self._http = httpx2.Client(base_url=self.target.url, headers=headers, transport=transport)
        self._add_resources()

    def with_options(self, *, timeout: float | None = None, max_retries: int | None = None) -> Self:
        """The same client on the same connections, with other patience."""
        other = type(self).__new__(type(self))
        other.target, other._http = self.target, self._http
        given = {"timeout": timeout, "max_retries": max_retries}
        other.options = replace(self.options, **{name: v for name, v in given.items() if v is not None})  # type: ignore[arg-type]
        other._add_resources()
        return other

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # --- work by kind ------------------------------------------------------------------------------------------------

    def execute(
        self,
        code: str,
        *,
        files: Mapping[str, files.Content] | None = None,
        submit: jobs.Options | None = None,
        wait: float | None = None,
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> Job[ExecuteResult]:
        """Run code in the sandbox; ``files``: path in the sandbox -> content. ``fields`` as in API.md."""
        fields.setdefault("language", "python")
        input = self.drive(submits.execute_input(self.options, code, files, fields))
        return self.submit("execute", input, submit, wait=wait, idempotency_key=idempotency_key)

    def transform(
        self,
        task: str,
        data: object,
        *,
        submit: jobs.Options | None = None,
        wait: float | None = None,
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> Job[TransformResult]:
        """Have code written for a task on data, run, and checked; see ``submits.transform_input`` for ``data``."""
        input = self.drive(submits.transform_input(self.options, task, data, fields))
        return self.submit("transform", input, submit, wait=wait, idempotency_key=idempotency_key)

    def detect(
        self,
        source: str | os.PathLike[str],
        *,
        submit: jobs.Options | None = None,
        wait: float | None = None,
        **fields: Any,
    ) -> Job[DetectResult]:
        """Find the technologies of a folder, an archive, or a public repository."""
        input = self.drive(submits.detect_input(self.options, source, fields))
        return self.submit("detect", input, submit, wait=wait)

    def edit_flow(
        self,
        flow_id: str,
        message: str,
        submit: jobs.Options | None = None,
        **fields: Any,
    ) -> Job[FlowResult]:
        return self.submit("flow", {"flow_id": flow_id, "message": message, **fields}, submit)

    def search(
        self,
        collection: str,
        question: str,
        submit: jobs.Options | None = None,
        **fields: Any,
    ) -> Job[SearchResult]:
        return self.submit("search", {"collection": collection, "question": question, **fields}, submit)

    def ingest(
        self,
        collection: str,
        table: str,
        submit: jobs.Options | None = None,
        **fields: Any,
    ) -> Job[IngestResult]:
        return self.submit("ingest", {"collection": collection, "table": table, **fields}, submit)

    def document(self, submit: jobs.Options | None = None, **fields: Any) -> Job[DocumentResult]:
        return self.submit("document", fields, submit)

    def submit(
        self,
        kind: str,
        input: Mapping[str, Any],
        submit: jobs.Options | None = None,
        *,
        wait: float | None = None,
        idempotency_key: str | None = None,
        **more: Unpack[jobs.Options],
    ) -> Job[Any]:
        """A job of any kind, with its input as API.md has it."""
        options: jobs.Options = {**(submit or {}), **more}
        view = self.drive(submits.submit(self.options, kind, input, options, wait, idempotency_key))
        return Job(self, view)

    def job(self, id: str) -> Job[Any]:
        """The handle of a job that is there."""
        return Job(self, self.send(jobs.get(id)))

    # --- the rest ----------------------------------------------------------------------------------------------------

    def capabilities(self) -> Capabilities:
        return self.send(rest.capabilities())

    def providers(self) -> Providers:
        return self.models.providers()

    def ready(self) -> bool:
        """Whether the server is there and reaches its database."""
        try:
            self.with_options(max_retries=0).send(rest.ready())
        except Exception:
            return False
        return True

    def request(
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
        call = Call(method.upper(), path, raw, query or {}, json, upload, headers or {})
        return self.drive(exchange(call, self.options))

    def send(self, call: Call[Answer]) -> Answer:
        """Send a call and read its answer. Raises: APIError."""
        return self.drive(submits.call(call, self.options))

    def fetch(self, call: Call[Any]) -> Any:
        """Send a call and take its answer's JSON as it is. Raises: APIError."""
        return (self.drive(exchange(call, self.options))).json()

    def drive(self, steps: Steps[Answer]) -> Answer:
        """Perform what the core asks for."""
        outcome: Outcome = None
        try:
            while True:
                step = steps.send(outcome)
                outcome = None
                if isinstance(step, Send):
                    outcome = self._perform(step)
                else:
                    time.sleep(step.seconds)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def download(self, path: str, target: BinaryIO) -> None:
        """Stream an answer's body into a file. Raises: APIError."""
        try:
            with self._http.stream("GET", path, timeout=self.options.timeout) as response:
                if response.status_code >= 400:
                    raise error_of(reply_of(response, response.read()))
                for chunk in response.iter_bytes(_CHUNK):
                    target.write(chunk)
        except httpx2.HTTPError as fault:
            raise fault_of(fault) from fault

    def events(self, job_id: str, after: int = 0, timeout: float | None = None) -> Iterator[JobEvent]:
        """The job's events until its last, or until ``timeout`` seconds are over; reconnects as often as needed."""
        feed = Feed(after)
        deadline = None if timeout is None else time.monotonic() + timeout
        while not feed.finished:
            patience = feed.begin(deadline)
            if patience <= 0:
                return
            try:
                yield from self._listen(job_id, feed, patience, deadline)
            except EndOfEvents:
                return
            except httpx2.HTTPError:
                time.sleep(feed.pause(deadline))

    def _listen(self, job_id: str, feed: Feed, patience: float, deadline: float | None) -> Iterator[JobEvent]:
        """One connection's worth. Raises: EndOfEvents, httpx2.HTTPError for another try, APIError."""
        before, path = feed.after, jobs.events_path(job_id)
        with self._http.stream("GET", path, headers=feed.headers, timeout=patience) as response:
            if response.status_code >= 400:
                refuse(reply_of(response, response.read()))
            for chunk in response.iter_bytes():
                yield from feed.receive(chunk)
                if feed.renew(deadline):
                    return
        if not feed.finished:
            if feed.after == before and self._ended(job_id):
                raise EndOfEvents
            raise httpx2.ReadError("the stream ended before the job")

    def _ended(self, job_id: str) -> bool:
        """Whether a stream was silent because everything in it had been seen before."""
        return self.send(jobs.get(job_id)).state.terminal

    def _perform(self, request: Send) -> Outcome:
        stream = request.upload.open() if request.upload is not None else None
        try:
            response = self._http.request(
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
        self.files = resources.Files(self)
        self.flows = resources.Flows(self)
        self.prompts = resources.Prompts(self)
        self.models = resources.Models(self)
        self.keys = resources.Keys(self)
        self.conversations = resources.Conversations(self)
        self.collections = resources.Collections(self)
        self.stacks = resources.Stacks(self)


class EndOfEvents(Exception):
    """A stream was silent because everything in it had been seen before."""


def refuse(reply: Reply) -> NoReturn:
    """Raise what an event stream's status means: another try for a busy server, else the error."""
    if reply.status == 429 or reply.status >= 500:
        raise httpx2.ReadError("the server is busy")
    raise error_of(reply)


def chunks_of(stream: BinaryIO) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk


def reply_of(response: httpx2.Response, body: bytes) -> Reply:
    return Reply(response.status_code, {name.lower(): value for name, value in response.headers.items()}, body)


def fault_of(fault: Exception) -> APIConnectionError:
    """The transport's error in our words; its own text may hold addresses, but they are the caller's."""
    if isinstance(fault, httpx2.TimeoutException):
        return APITimeoutError("the server did not answer in time")
    return APIConnectionError(f"the server cannot be reached: {fault}")


def save(client: Client, path: str, target: Path) -> None:
    """Download into ``target``, which appears only when it is whole."""
    beside = target.with_name(f".{target.name}.part")
    try:
        with beside.open("wb") as file:
            client.download(path, file)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
