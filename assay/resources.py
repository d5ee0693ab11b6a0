"""The nouns of the API on the synchronous client; every method sends one call."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from assay.calls import files, flows, jobs, registries, rest, stacks

if TYPE_CHECKING:
    from assay.client import Client
    from assay.job import Job
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
    def __init__(self, client: Client) -> None:
        self._client = client


class Jobs(Noun):
    def create(
        self,
        kind: str,
        input: Mapping[str, Any],
        *,
        wait: float | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[jobs.Options],
    ) -> Job[Any]:
        return self._client.submit(kind, input, options, wait=wait, idempotency_key=idempotency_key)

    def list(
        self,
        kind: str | None = None,
        state: str | None = None,
        labels: Mapping[str, str] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[JobView]:
        return self._client.send(jobs.page(kind, state, labels, limit, cursor))

    def each(
        self, kind: str | None = None, state: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Iterator[JobView]:
        """All of them, page by page."""
        cursor: str | None = None
        while True:
            page = self.list(kind, state, labels, limit=200, cursor=cursor)
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return

    def get(self, id: str) -> JobView:
        return self._client.send(jobs.get(id))

    def result(self, id: str) -> Any:
        """The bare result. Raises: NotFound with code ``job_not_finished`` before the end."""
        return self._client.send(jobs.result(id))

    def result_form(self, id: str, format: str) -> bytes:
        """Another form of the result, for example ``cyclonedx``."""
        return self._client.send(jobs.result_form(id, format))

    def cancel(self, id: str) -> JobView:
        return self._client.send(jobs.cancel(id))

    def replay(self, id: str, input: Mapping[str, Any] | None = None, model: str | None = None) -> Job[Any]:
        return self._client.job(id).replay(input, model=model)

    def llm_calls(self, id: str) -> LlmCalls:
        return self._client.send(jobs.llm_calls(id))


class Batches(Noun):
    def create(self, requests: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> BatchView:
        """Up to 1,000 submits; all are accepted, or none."""
        return self._client.send(jobs.create_batch(requests, idempotency_key))

    def get(self, id: str) -> BatchView:
        return self._client.send(jobs.get_batch(id))


class Files(Noun):
    def put(self, content: files.Content, *, name: str | None = None, media_type: str | None = None) -> FileInfo:
        """Upload a path, bytes or an open file; streamed."""
        return self._client.send(files.put(content, name, media_type))

    def list(self, limit: int | None = None, cursor: str | None = None) -> Page[FileInfo]:
        return self._client.send(files.page(limit, cursor))

    def get(self, id: str) -> FileInfo:
        return self._client.send(files.get(id))

    def content(self, id: str, first: int | None = None, last: int | None = None) -> bytes:
        return self._client.send(files.content(id, first, last))

    def save(self, id: str, target: str | os.PathLike[str]) -> Path:
        """Stream the content into a file, which appears only when it is whole."""
        from assay.client import save  # noqa: PLC0415

        path = Path(target)
        save(self._client, files.content_path(id), path)
        return path

    def delete(self, id: str) -> None:
        self._client.send(files.delete(id))


class Flows(Noun):
    def create(self, flow: Mapping[str, Any]) -> Json:
        return self._client.send(flows.create(flow))

    def list(self, limit: int | None = None, cursor: str | None = None) -> Json:
        return self._client.send(flows.page(limit, cursor))

    def get(self, id: str) -> Json:
        return self._client.send(flows.get(id))

    def replace(self, id: str, flow: Mapping[str, Any], *, if_match: str | None = None) -> Json:
        return self._client.send(flows.replace(id, flow, if_match))

    def delete(self, id: str, *, if_match: str | None = None) -> None:
        self._client.send(flows.delete(id, if_match))

    def operate(
        self, id: str, tool_calls: Sequence[Mapping[str, Any]], *, atomic: bool = False, if_match: str | None = None
    ) -> Json:
        """Run tool calls without a model."""
        return self._client.send(flows.operate(id, tool_calls, atomic=atomic, if_match=if_match))

    def undo(self, id: str, scope: Literal["all", "mine"] | None = None) -> Json:
        return self._client.send(flows.undo(id, scope))

    def redo(self, id: str, scope: Literal["all", "mine"] | None = None) -> Json:
        return self._client.send(flows.redo(id, scope))

    def history(self, id: str, limit: int | None = None, cursor: str | None = None) -> Json:
        return self._client.send(flows.history(id, limit, cursor))

    def version(self, id: str, number: int) -> Json:
        return self._client.send(flows.version(id, number))

    def versions(self, id: str, limit: int | None = None, cursor: str | None = None) -> Json:
        return self._client.send(flows.versions(id, limit, cursor))

    def name_version(self, id: str, number: int, name: str | None) -> Json:
        """Name a version, so that it is kept; None takes the name away."""
        return self._client.send(flows.name_version(id, number, name))

    def restore(self, id: str, number: int) -> Json:
        """Make an earlier version the current one."""
        return self._client.send(flows.restore(id, number))

    def lint(self, id: str) -> Json:
        return self._client.send(flows.lint(id))

    def proposals(self, id: str, limit: int | None = None) -> Json:
        return self._client.send(flows.proposals(id, limit))

    def proposal(self, id: str, proposal_id: str) -> Json:
        return self._client.send(flows.proposal(id, proposal_id))

    def diff(self, id: str, old: int, new: int | None = None) -> Json:
        return self._client.send(flows.diff(id, old, new))

    def apply(self, id: str, proposal_id: str, accept: Sequence[int] | None = None) -> Json:
        """``accept``: only these operations of the proposal, by their place in its list."""
        return self._client.send(flows.apply(id, proposal_id, accept))

    def discard(self, id: str, proposal_id: str) -> Any:
        return self._client.send(flows.discard(id, proposal_id))

    def export(self, id: str, format: flows.Format) -> str:
        return self._client.send(flows.export(id, format))

    def import_text(self, format: Literal["mermaid", "json"], text: str, name: str | None = None) -> Json:
        return self._client.send(flows.import_text(format, text, name))

    def layout(self, id: str, direction: Literal["LR", "TB"] | None = None) -> Json:
        return self._client.send(flows.layout(id, direction))


class Prompts(Noun):
    def list(self) -> Page[Prompt]:
        return self._client.send(registries.prompts())

    def get(self, key: str) -> Prompt:
        return self._client.send(registries.prompt(key))

    def set(self, key: str, text: str, *, if_match: str | None = None) -> Prompt:
        return self._client.send(registries.set_prompt(key, text, if_match))

    def versions(self, key: str) -> Page[Prompt]:
        return self._client.send(registries.prompt_versions(key))

    def roll_back(self, key: str, version: int) -> Prompt:
        return self._client.send(registries.roll_back_prompt(key, version))

    def reset(self, key: str) -> Prompt:
        return self._client.send(registries.reset_prompt(key))


class Models(Noun):
    def get(self) -> ModelList:
        return self._client.send(registries.models())

    def set(self, role: str, chain: Sequence[Mapping[str, Any]]) -> Any:
        """The chain of a role: the first is asked first."""
        return self._client.send(registries.set_chain(role, chain))

    def test(self, role: str) -> ModelTest:
        return self._client.send(registries.test_model(role))

    def reset(self) -> Any:
        return self._client.send(registries.reset_models())

    def providers(self) -> Providers:
        return self._client.send(registries.providers())


class Keys(Noun):
    def create(self, tenant: str, name: str, scopes: Sequence[str], expires_at: str | None = None) -> NewKey:
        return self._client.send(rest.create_key(tenant, name, scopes, expires_at))

    def list(self, limit: int | None = None, cursor: str | None = None) -> Page[KeyInfo]:
        return self._client.send(rest.keys(limit, cursor))

    def revoke(self, id: str) -> None:
        self._client.send(rest.revoke_key(id))


class Conversations(Noun):
    def list(self, limit: int | None = None, cursor: str | None = None) -> Page[ConversationSummary]:
        return self._client.send(rest.conversations(limit, cursor))

    def get(self, id: str) -> Conversation:
        return self._client.send(rest.conversation(id))

    def delete(self, id: str) -> None:
        self._client.send(rest.delete_conversation(id))


class Collections(Noun):
    def create(self, name: str, tables: Mapping[str, Any], embedding: str | None = None) -> Collection:
        return self._client.send(rest.create_collection(name, tables, embedding))

    def list(self, limit: int | None = None, cursor: str | None = None) -> Page[Collection]:
        return self._client.send(rest.collections(limit, cursor))

    def get(self, name: str) -> Collection:
        return self._client.send(rest.collection(name))

    def delete(self, name: str) -> None:
        self._client.send(rest.delete_collection(name))


class Stacks(Noun):
    """The tenant's own definitions for ``detect``, and what is proposed for them."""

    def definitions(self, version: int | None = None) -> DefinitionSet:
        """Those in use, or an older version of them."""
        return self._client.send(stacks.definitions() if version is None else stacks.definition_version(version))

    def versions(self) -> Page[DefinitionsVersion]:
        return self._client.send(stacks.definition_versions())

    def set(self, definitions: stacks.Definitions, if_match: str | None = None) -> DefinitionSet:
        """The whole set: YAML, or a list."""
        return self._client.send(stacks.set_definitions(definitions, if_match))

    def check(self, definitions: stacks.Definitions) -> DefinitionsCheck:
        return self._client.send(stacks.check_definitions(definitions))

    def rollback(self, version: int) -> DefinitionSet:
        return self._client.send(stacks.roll_back_definitions(version))

    def clear(self, if_match: str | None = None) -> DefinitionSet:
        return self._client.send(stacks.delete_definitions(if_match))

    def proposals(self, at_least: int | None = None) -> Page[Proposal]:
        return self._client.send(stacks.proposals(at_least))

    def promote(
        self,
        axis: str,
        id: str,
        *,
        new_id: str | None = None,
        name: str | None = None,
        files: Sequence[str] | None = None,
    ) -> DefinitionSet:
        return self._client.send(stacks.promote(axis, id, new_id=new_id, name=name, files=files))

    def dismiss(self, axis: str, id: str) -> Proposal:
        return self._client.send(stacks.dismiss(axis, id))
