"""The nouns of the API on the asynchronous client; every method sends one call."""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Concatenate, ParamSpec, TypeVar, Unpack

from assay import submits
from assay._async.job import AsyncJob
from assay.calls import evaluations, files, flows, jobs, rest, shadows, stacks, uploads
from assay.calls.call import ApiCall

if TYPE_CHECKING:
    from assay._async.connection import AsyncConnection
    from shared.contracts.definitions import DefinitionSet
    from shared.contracts.jobs import JobView

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")
_PART_BYTES = 8_000_000  #: of an upload in parts, sent and kept at once


class Noun:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection


def sends(
    call: Callable[Parameters, ApiCall[Answer]],
) -> Callable[Concatenate[Any, Parameters], Coroutine[Any, Any, Answer]]:
    """Return a method that sends a call and has the call's parameters and documentation."""

    async def method(self: Noun, /, *positional: Parameters.args, **named: Parameters.kwargs) -> Answer:
        return await self._connection.send(call(*positional, **named))

    signature = inspect.signature(call)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__name__, method.__doc__ = call.__name__, call.__doc__
    method.__signature__ = signature.replace(parameters=[itself, *signature.parameters.values()])  # type: ignore[attr-defined]
    return method


class Jobs(Noun):
    async def create(
        self,
        kind: str,
        input: Mapping[str, Any],
        *,
        wait: float | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[jobs.SubmitOptions],
    ) -> AsyncJob[Any]:
        view = await self._connection.drive(
            submits.submit(self._connection.options, kind, input, options, wait, idempotency_key)
        )
        return AsyncJob(self._connection, view)

    list = sends(jobs.page)
    counts = sends(jobs.counts)
    changes = sends(jobs.changes)
    cancel_many = sends(jobs.cancel_many)
    replay_many = sends(jobs.replay_many)

    async def each(
        self, kind: str | None = None, state: str | None = None, labels: Mapping[str, str] | None = None
    ) -> AsyncIterator[JobView]:
        """Yield every matching job, page by page."""
        cursor: str | None = None
        while True:
            page = await self.list(kind, state, labels, limit=200, cursor=cursor)
            for item in page.items:
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return

    get = sends(jobs.get)
    result = sends(jobs.result)
    result_form = sends(jobs.result_form)
    cancel = sends(jobs.cancel)

    async def save_table(self, id: str, target: str | os.PathLike[str], format: str) -> Path:
        """Stream every row of the result's table into a file, for example as ``csv``, ``parquet`` or ``xlsx``."""
        return await self._connection.save(jobs.result_path(id, format), target)

    async def replay(self, id: str, input: Mapping[str, Any] | None = None, model: str | None = None) -> AsyncJob[Any]:
        job: AsyncJob[Any] = AsyncJob(self._connection, await self._connection.send(jobs.get(id)))
        return await job.replay(input, model=model)

    llm_calls = sends(jobs.llm_calls)
    llm_call = sends(jobs.llm_call)
    source = sends(jobs.source)
    delete = sends(jobs.delete)
    deliveries = sends(jobs.deliveries)
    redeliver = sends(jobs.redeliver)


class Batches(Noun):
    create = sends(jobs.create_batch)
    get = sends(jobs.get_batch)


class Evaluations(Noun):
    create = sends(evaluations.create)
    estimate = sends(evaluations.estimate)
    list = sends(evaluations.page)
    get = sends(evaluations.get)
    runs = sends(evaluations.runs)
    case_of = sends(evaluations.case_of)
    cancel = sends(evaluations.cancel)
    resume = sends(evaluations.resume)


class Shadows(Noun):
    start = sends(shadows.start)
    list = sends(shadows.page)
    get = sends(shadows.get)
    stop = sends(shadows.stop)


class Files(Noun):
    put = sends(files.put)
    list = sends(files.page)
    get = sends(files.get)
    rows = sends(files.rows)
    profile = sends(files.profile)
    content = sends(files.content)

    async def save(self, id: str, target: str | os.PathLike[str]) -> Path:
        """Stream the content into a file, which appears only when it is whole."""
        return await self._connection.save(files.content_path(id), target)

    delete = sends(files.delete)


class Uploads(Noun):
    begin = sends(uploads.begin)
    get = sends(uploads.get)
    list = sends(uploads.page)
    append = sends(uploads.append)
    delete = sends(uploads.delete)

    async def send(self, id: str, content: BinaryIO) -> AsyncIterator[int]:
        """Send what of a seekable file the server does not have yet; yields how far it has come, from the beginning.

        After an interruption, call it again with the same id. Raises: APIError, ValueError when the file is shorter.
        """
        upload = await self.get(id)
        offset = upload.received
        yield offset
        content.seek(offset)
        while upload.file_id is None:
            part = content.read(min(_PART_BYTES, upload.size - offset))
            if not part and offset < upload.size:
                raise ValueError(f"the file ends before byte {upload.size}: it has changed since the upload began")
            await self.append(id, part, offset)
            offset += len(part)
            yield offset
            if offset == upload.size:
                return


class Flows(Noun):
    create = sends(flows.create)
    list = sends(flows.page)
    get = sends(flows.get)
    replace = sends(flows.replace)
    delete = sends(flows.delete)
    operate = sends(flows.operate)
    undo = sends(flows.undo)
    redo = sends(flows.redo)
    history = sends(flows.history)
    version = sends(flows.version)
    versions = sends(flows.versions)
    name_version = sends(flows.name_version)
    restore = sends(flows.restore)
    branch = sends(flows.branch)
    lint = sends(flows.lint)
    proposals = sends(flows.proposals)
    proposal = sends(flows.proposal)
    diff = sends(flows.diff)
    apply = sends(flows.apply)
    discard = sends(flows.discard)
    export = sends(flows.export)
    import_text = sends(flows.import_text)
    layout = sends(flows.layout)


class Prompts(Noun):
    list = sends(rest.prompts)
    get = sends(rest.prompt)
    set = sends(rest.set_prompt)
    test = sends(rest.try_prompt)
    label = sends(rest.label_prompt)
    draft = sends(rest.draft_prompt)
    publish = sends(rest.publish_prompt)
    versions = sends(rest.prompt_versions)
    roll_back = sends(rest.roll_back_prompt)
    reset = sends(rest.reset_prompt)


class Models(Noun):
    get = sends(rest.models)
    set = sends(rest.set_chain)
    test = sends(rest.test_model)
    reset = sends(rest.reset_models)
    reset_role = sends(rest.reset_role)
    release = sends(rest.release_provider)
    providers = sends(rest.providers)
    allowed = sends(rest.tenant_models)
    allow = sends(rest.set_tenant_models)
    reset_allowed = sends(rest.reset_tenant_models)
    endpoints = sends(rest.endpoints)
    set_endpoint = sends(rest.set_endpoint)
    remove_endpoint = sends(rest.remove_endpoint)
    test_endpoint = sends(rest.test_endpoint)


class Keys(Noun):
    create = sends(rest.create_key)
    list = sends(rest.keys)
    rotate = sends(rest.rotate_key)
    revoke = sends(rest.revoke_key)


class WebhookSecrets(Noun):
    """What deliveries are signed with: two are valid at once, so that one can replace the other."""

    list = sends(rest.webhook_secrets)
    add = sends(rest.add_webhook_secret)
    delete = sends(rest.delete_webhook_secret)


class Audit(Noun):
    """Who changed what; an administrator's."""

    list = sends(rest.audit)
    verify = sends(rest.audit_verification)


class Limits(Noun):
    """Quotas; those of other tenants are an administrator's."""

    mine = sends(rest.limits)
    get = sends(rest.tenant_limits)
    set = sends(rest.set_tenant_limits)
    delete_tenant = sends(rest.delete_tenant)


class Sessions(Noun):
    current = sends(rest.session)
    create = sends(rest.create_session)
    create_code = sends(rest.create_session_code)
    end = sends(rest.end_session)


class Conversations(Noun):
    list = sends(rest.conversations)
    get = sends(rest.conversation)
    delete = sends(rest.delete_conversation)


class Collections(Noun):
    create = sends(rest.create_collection)
    list = sends(rest.collections)
    get = sends(rest.collection)
    delete = sends(rest.delete_collection)
    attempts = sends(rest.search_attempts)


class Stacks(Noun):
    """The tenant's own definitions for ``detect``, and what is proposed for them."""

    async def definitions(self, version: int | None = None) -> DefinitionSet:
        """Return the definitions in use, or an older version of them."""
        return await self._connection.send(
            stacks.definitions() if version is None else stacks.definition_version(version)
        )

    versions = sends(stacks.definition_versions)
    set = sends(stacks.set_definitions)
    check = sends(stacks.check_definitions)
    rollback = sends(stacks.roll_back_definitions)
    clear = sends(stacks.delete_definitions)
    proposals = sends(stacks.proposals)
    promote = sends(stacks.promote)
    dismiss = sends(stacks.dismiss)
