"""The nouns of the API on the asynchronous client; every method sends one call."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from assay.calls import files, flows, jobs, registries, rest, stacks

if TYPE_CHECKING:
    from assay._async.client import AsyncClient
    from assay._async.job import AsyncJob
    from shared.contracts.common import Page
    from shared.contracts.conversations import Conversation, ConversationSummary
    from shared.contracts.definitions import DefinitionsCheck, DefinitionSet, DefinitionsVersion, Proposal
    from shared.contracts.files import FileInfo
    from shared.contracts.jobs import BatchView, JobView
    from shared.contracts.keys import KeyInfo, NewKey
    from shared.contracts.models import LlmCalls, ModelTest, Prompt, Providers
    from shared.contracts.models import Models as ModelList
    from shared.contracts.search import Collection

Json = dict[str, Any]


class Noun:
    def __init__(self, client: AsyncClient) -> None:
        self._client = client


class Jobs(Noun):
    async def create(
        self,
        kind: str,
        input: Mapping[str, Any],
        *,
        wait: float | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[jobs.Options],
    ) -> AsyncJob[Any]:
        return await self._client.submit(kind, input, options, wait=wait, idempotency_key=idempotency_key)

    async def list(
        self,
        kind: str | None = None,
        state: str | None = None,
        labels: Mapping[str, str] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[JobView]:
        return await self._client.send(jobs.page(kind, state, labels, limit, cursor))

    async def each(
        self, kind: str | None = None, state: str | None = None, labels: Mapping[str, str] | None = None
    ) -> AsyncIterator[JobView]:
        """All of them, page by page."""
        cursor: str | None = None
        while True:
            page = await self.list(kind, state, labels, limit=200, cursor=cursor)
            for item in page.items:
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return

    async def get(self, id: str) -> JobView:
        return await self._client.send(jobs.get(id))

    async def result(self, id: str) -> Any:
        """The bare result. Raises: NotFound with code ``job_not_finished`` before the end."""
        return await self._client.send(jobs.result(id))

    async def result_form(self, id: str, format: str) -> bytes:
        """Another form of the result, for example ``cyclonedx``."""
        return await self._client.send(jobs.result_form(id, format))

    async def cancel(self, id: str) -> JobView:
        return await self._client.send(jobs.cancel(id))

    async def replay(self, id: str, input: Mapping[str, Any] | None = None, model: str | None = None) -> AsyncJob[Any]:
        job = await self._client.job(id)
        return await job.replay(input, model=model)

    async def llm_calls(self, id: str) -> LlmCalls:
        return await self._client.send(jobs.llm_calls(id))


class Batches(Noun):
    async def create(self, requests: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> BatchView:
        """Up to 1,000 submits; all are accepted, or none."""
        return await self._client.send(jobs.create_batch(requests, idempotency_key))

    async def get(self, id: str) -> BatchView:
        return await self._client.send(jobs.get_batch(id))


class Files(Noun):
    async def put(self, content: files.Content, *, name: str | None = None, media_type: str | None = None) -> FileInfo:
        """Upload a path, bytes or an open file; streamed."""
        return await self._client.send(files.put(content, name, media_type))

    async def list(self, limit: int | None = None, cursor: str | None = None) -> Page[FileInfo]:
        return await self._client.send(files.page(limit, cursor))

    async def get(self, id: str) -> FileInfo:
        return await self._client.send(files.get(id))

    async def content(self, id: str, first: int | None = None, last: int | None = None) -> bytes:
        return await self._client.send(files.content(id, first, last))

    async def save(self, id: str, target: str | os.PathLike[str]) -> Path:
        """Stream the content into a file, which appears only when it is whole."""
        path = Path(target)
        beside = path.with_name(f".{path.name}.part")
        try:
            with beside.open("wb") as file:
                await self._client.download(files.content_path(id), file)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        return path

    async def delete(self, id: str) -> None:
        await self._client.send(files.delete(id))


class Flows(Noun):
    async def create(self, flow: Mapping[str, Any]) -> Json:
        return await self._client.send(flows.create(flow))

    async def list(self, limit: int | None = None, cursor: str | None = None) -> Json:
        return await self._client.send(flows.page(limit, cursor))

    async def get(self, id: str) -> Json:
        return await self._client.send(flows.get(id))

    async def replace(self, id: str, flow: Mapping[str, Any], *, if_match: str | None = None) -> Json:
        return await self._client.send(flows.replace(id, flow, if_match))

    async def delete(self, id: str, *, if_match: str | None = None) -> None:
        await self._client.send(flows.delete(id, if_match))

    async def operate(
        self, id: str, tool_calls: Sequence[Mapping[str, Any]], *, atomic: bool = False, if_match: str | None = None
    ) -> Json:
        """Run tool calls without a model."""
        return await self._client.send(flows.operate(id, tool_calls, atomic=atomic, if_match=if_match))

    async def undo(self, id: str, scope: Literal["all", "mine"] | None = None) -> Json:
        return await self._client.send(flows.undo(id, scope))

    async def redo(self, id: str, scope: Literal["all", "mine"] | None = None) -> Json:
        return await self._client.send(flows.redo(id, scope))

    async def history(self, id: str, limit: int | None = None, cursor: str | None = None) -> Json:
        return await self._client.send(flows.history(id, limit, cursor))

    async def version(self, id: str, number: int) -> Json:
        return await self._client.send(flows.version(id, number))

    async def versions(self, id: str, limit: int | None = None, cursor: str | None = None) -> Json:
        return await self._client.send(flows.versions(id, limit, cursor))

    async def name_version(self, id: str, number: int, name: str | None) -> Json:
        """Name a version, so that it is kept; None takes the name away."""
        return await self._client.send(flows.name_version(id, number, name))

    async def restore(self, id: str, number: int) -> Json:
        """Make an earlier version the current one."""
        return await self._client.send(flows.restore(id, number))

    async def lint(self, id: str) -> Json:
        return await self._client.send(flows.lint(id))

    async def proposals(self, id: str, limit: int | None = None) -> Json:
        return await self._client.send(flows.proposals(id, limit))

    async def proposal(self, id: str, proposal_id: str) -> Json:
        return await self._client.send(flows.proposal(id, proposal_id))

    async def diff(self, id: str, old: int, new: int | None = None) -> Json:
        return await self._client.send(flows.diff(id, old, new))

    async def apply(self, id: str, proposal_id: str, accept: Sequence[int] | None = None) -> Json:
        """``accept``: only these operations of the proposal, by their place in its list."""
        return await self._client.send(flows.apply(id, proposal_id, accept))

    async def discard(self, id: str, proposal_id: str) -> Any:
        return await self._client.send(flows.discard(id, proposal_id))

    async def export(self, id: str, format: flows.Format) -> str:
        return await self._client.send(flows.export(id, format))

    async def import_text(self, format: Literal["mermaid", "json"], text: str, name: str | None = None) -> Json:
        return await self._client.send(flows.import_text(format, text, name))

    async def layout(self, id: str, direction: Literal["LR", "TB"] | None = None) -> Json:
        return await self._client.send(flows.layout(id, direction))


class Prompts(Noun):
    async def list(self) -> Page[Prompt]:
        return await self._client.send(registries.prompts())

    async def get(self, key: str) -> Prompt:
        return await self._client.send(registries.prompt(key))

    async def set(self, key: str, text: str, *, if_match: str | None = None) -> Prompt:
        return await self._client.send(registries.set_prompt(key, text, if_match))

    async def versions(self, key: str) -> Page[Prompt]:
        return await self._client.send(registries.prompt_versions(key))

    async def roll_back(self, key: str, version: int) -> Prompt:
        return await self._client.send(registries.roll_back_prompt(key, version))

    async def reset(self, key: str) -> Prompt:
        return await self._client.send(registries.reset_prompt(key))


class Models(Noun):
    async def get(self) -> ModelList:
        return await self._client.send(registries.models())

    async def set(self, role: str, chain: Sequence[Mapping[str, Any]]) -> Any:
        """The chain of a role: the first is asked first."""
        return await self._client.send(registries.set_chain(role, chain))

    async def test(self, role: str) -> ModelTest:
        return await self._client.send(registries.test_model(role))

    async def reset(self) -> Any:
        return await self._client.send(registries.reset_models())

    async def providers(self) -> Providers:
        return await self._client.send(registries.providers())


class Keys(Noun):
    async def create(self, tenant: str, name: str, scopes: Sequence[str], expires_at: str | None = None) -> NewKey:
        return await self._client.send(rest.create_key(tenant, name, scopes, expires_at))

    async def list(self, limit: int | None = None, cursor: str | None = None) -> Page[KeyInfo]:
        return await self._client.send(rest.keys(limit, cursor))

    async def revoke(self, id: str) -> None:
        await self._client.send(rest.revoke_key(id))


class Conversations(Noun):
    async def list(self, limit: int | None = None, cursor: str | None = None) -> Page[ConversationSummary]:
        return await self._client.send(rest.conversations(limit, cursor))

    async def get(self, id: str) -> Conversation:
        return await self._client.send(rest.conversation(id))

    async def delete(self, id: str) -> None:
        await self._client.send(rest.delete_conversation(id))


class Collections(Noun):
    async def create(self, name: str, tables: Mapping[str, Any], embedding: str | None = None) -> Collection:
        return await self._client.send(rest.create_collection(name, tables, embedding))

    async def list(self, limit: int | None = None, cursor: str | None = None) -> Page[Collection]:
        return await self._client.send(rest.collections(limit, cursor))

    async def get(self, name: str) -> Collection:
        return await self._client.send(rest.collection(name))

    async def delete(self, name: str) -> None:
        await self._client.send(rest.delete_collection(name))


class Stacks(Noun):
    """The tenant's own definitions for ``detect``, and what is proposed for them."""

    async def definitions(self, version: int | None = None) -> DefinitionSet:
        """Those in use, or an older version of them."""
        return await self._client.send(stacks.definitions() if version is None else stacks.definition_version(version))

    async def versions(self) -> Page[DefinitionsVersion]:
        return await self._client.send(stacks.definition_versions())

    async def set(self, definitions: stacks.Definitions, if_match: str | None = None) -> DefinitionSet:
        """The whole set: YAML, or a list."""
        return await self._client.send(stacks.set_definitions(definitions, if_match))

    async def check(self, definitions: stacks.Definitions) -> DefinitionsCheck:
        return await self._client.send(stacks.check_definitions(definitions))

    async def rollback(self, version: int) -> DefinitionSet:
        return await self._client.send(stacks.roll_back_definitions(version))

    async def clear(self, if_match: str | None = None) -> DefinitionSet:
        return await self._client.send(stacks.delete_definitions(if_match))

    async def proposals(self, at_least: int | None = None) -> Page[Proposal]:
        return await self._client.send(stacks.proposals(at_least))

    async def promote(
        self,
        axis: str,
        id: str,
        *,
        new_id: str | None = None,
        name: str | None = None,
        files: Sequence[str] | None = None,
    ) -> DefinitionSet:
        return await self._client.send(stacks.promote(axis, id, new_id=new_id, name=name, files=files))

    async def dismiss(self, axis: str, id: str) -> Proposal:
        return await self._client.send(stacks.dismiss(axis, id))
