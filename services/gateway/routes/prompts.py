"""Prompts: the words that models are asked with; every change is a new version."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Request, Response

from services.gateway.dependencies import Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.ids import Id
from services.gateway.http.responses import Cursor, Json, Limit, page_of_list, with_etag
from services.gateway.http.rules import rules
from services.gateway.routing import routes
from shared.contracts.common import Page
from shared.contracts.models import Prompt, PromptInput, RollbackInput
from shared.errors import PreconditionFailed

router = routes("/v1/prompts", "Prompts")

IfMatch = Annotated[str | None, Header(description="The `ETag` of the version that is to be replaced")]


@router.get("", summary="List prompts")
async def list_prompts(caller: CurrentCaller, deps: Deps, limit: Limit = 50, cursor: Cursor = None) -> Page[Prompt]:
    return page_of_list(await deps.llm.ask(lambda: _all(deps)), limit, cursor)


@router.get("/{id}", summary="Read a prompt", response_model=Prompt, responses={304: {"description": "Not modified"}})
async def get_prompt(request: Request, id: Id, caller: CurrentCaller, deps: Deps) -> Response:
    """The version in use, with the variables that a text must and may have."""
    prompt = await deps.llm.ask(lambda: deps.llm.layer.prompts.get(id))
    return with_etag(request, prompt, tag=_tag(prompt))


@router.put("/{id}", summary="Change a prompt", response_model=Prompt)
@rules(scope="admin")
async def set_prompt(
    id: Id, body: PromptInput, caller: CurrentCaller, deps: Deps, if_match: IfMatch = None
) -> Response:
    """A new version, in use at once. 422 when a variable is unknown or a required one is gone."""
    expected = await _expected(deps, id, if_match)
    return _changed(await deps.llm.ask(lambda: deps.llm.layer.prompts.save(id, body.text, caller.key_id, expected)))


@router.get("/{id}/versions", summary="List a prompt's versions, newest first")
async def list_prompt_versions(
    id: Id, caller: CurrentCaller, deps: Deps, limit: Limit = 50, cursor: Cursor = None
) -> Page[Prompt]:
    return page_of_list(await deps.llm.ask(lambda: deps.llm.layer.prompts.versions(id)), limit, cursor)


@router.post("/{id}/rollback", summary="Use an old version's text again", response_model=Prompt)
@rules(scope="admin")
async def rollback_prompt(
    id: Id, body: RollbackInput, caller: CurrentCaller, deps: Deps, if_match: IfMatch = None
) -> Response:
    """As a new version: version numbers only grow."""
    expected = await _expected(deps, id, if_match)
    registry = deps.llm.layer.prompts
    return _changed(await deps.llm.ask(lambda: registry.rollback(id, body.version, caller.key_id, expected)))


@router.post("/{id}/reset", summary="Use the built-in text again", response_model=Prompt)
@rules(scope="admin")
async def reset_prompt(id: Id, caller: CurrentCaller, deps: Deps, if_match: IfMatch = None) -> Response:
    """As a new version."""
    expected = await _expected(deps, id, if_match)
    return _changed(await deps.llm.ask(lambda: deps.llm.layer.prompts.reset(id, caller.key_id, expected)))


def _all(deps: Deps) -> list[Prompt]:
    registry = deps.llm.layer.prompts
    keys = registry.keys()
    return [registry.get(key) for key in keys]


async def _expected(deps: Deps, key: str, if_match: str | None) -> int | None:
    """The version that the client read. Raises: NotFound, PreconditionFailed for a tag that is no version."""
    if if_match is None or if_match.strip() == "*":
        return None
    for tag in if_match.split(","):
        version = tag.strip().strip('"')
        if version.isascii() and version.isdecimal() and len(version) < 10:
            return int(version)
    await deps.llm.ask(lambda: deps.llm.layer.prompts.get(key))
    raise PreconditionFailed("If-Match has to be the ETag of a version of this prompt.")


def _changed(prompt: Prompt) -> Response:
    return Json(prompt, headers={"ETag": _tag(prompt)})


def _tag(prompt: Prompt) -> str:
    return f'"{prompt.version}"'
