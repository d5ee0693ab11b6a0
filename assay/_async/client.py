"""The asynchronous client."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, Unpack

import httpx2

from assay import submits
from assay._async import resources
from assay._async.connection import AsyncConnection
from assay._async.job import AsyncJob
from assay.calls import files, jobs, rest
from assay.calls.call import ApiCall, Reply, Upload, raw
from assay.exchange import exchange

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


class AsyncClient(AsyncConnection):
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
        super().__init__(url, api_key, profile=profile, timeout=timeout, max_retries=max_retries, transport=transport)
        self._add_resources()

    def with_options(self, *, timeout: float | None = None, max_retries: int | None = None) -> Self:
        """Return a client that shares these connections but has another timeout or number of retries."""
        other = type(self).__new__(type(self))
        other.target, other._http = self.target, self._http
        given = {"timeout": timeout, "max_retries": max_retries}
        other.options = replace(self.options, **{name: v for name, v in given.items() if v is not None})  # type: ignore[arg-type]
        other._add_resources()
        return other

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
        """Return a page of a table's records; ``after`` is the ``next`` of the previous page."""
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
        """Submit a job of any kind; its input has the form that API.md describes."""
        options: jobs.SubmitOptions = {**(submit or {}), **more}
        return await self.jobs.create(kind, input, wait=wait, idempotency_key=idempotency_key, **options)

    async def job(self, id: str) -> AsyncJob[Any]:
        """Return the handle of an existing job."""
        return AsyncJob(self, await self.send(jobs.get(id)))

    # --- the rest ----------------------------------------------------------------------------------------------------

    async def capabilities(self) -> Capabilities:
        return await self.send(rest.capabilities())

    async def queues(self) -> Queues:
        return await self.send(rest.queues())

    async def queue_history(self) -> QueueHistory:
        """Return the jobs that waited, arrived and ended in each minute of the last hour."""
        return await self.send(rest.queue_history())

    async def workers(self) -> Workers:
        return await self.send(rest.workers())

    async def settings(self) -> SettingStates:
        return await self.send(rest.settings())

    async def doctor(self) -> Doctor:
        """Return the server's checks of itself; needs a key with the scope admin."""
        return await self.send(rest.doctor())

    async def stats(
        self,
        by: str = "kind",
        bucket: str = "day",
        since: str | None = None,
        until: str | None = None,
        source: str | None = None,
    ) -> Stats:
        """Return totals of jobs and model calls, grouped by kind, model, prompt and so on."""
        return await self.send(rest.stats(by, bucket, since, until, source))

    async def served(self, since: str | None = None, until: str | None = None, source: str | None = None) -> Served:
        """Return which models answered in place of which."""
        return await self.send(rest.served(since, until, source))

    async def providers(self) -> Providers:
        return await self.models.providers()

    async def ready(self) -> bool:
        """Return whether the server answers and reaches its database."""
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
        """Send any request, with the client's retries, and return the raw reply. Raises: APIError."""
        call = ApiCall(method.upper(), path, raw, query or {}, json, upload, headers or {})
        return await self.drive(exchange(call, self.options))

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
