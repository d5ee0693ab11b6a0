"""The registries of the language models: their prompts, the chains of roles, and the health of providers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated

from fastapi import Path, Response
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway import known_tenants
from services.gateway.database import Db
from services.gateway.dependencies import Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.registry_changes import Change
from services.gateway.http.responses import Cursor, Limit, encode, etag_of, has_tag, page_of_list
from services.gateway.http.rules import EndpointRules, Id, IfMatch, TenantName
from services.gateway.jobs.gates import passed
from services.gateway.routing import routes
from shared.bounded_process import BoundExceeded
from shared.contracts.common import Page
from shared.contracts.models import (
    AllowedModels,
    AllowedModelsInput,
    ChainInput,
    LabelInput,
    Link,
    Models,
    ModelTest,
    ModelTestInput,
    Prompt,
    PromptInput,
    PromptTest,
    PromptTestInput,
    Providers,
    ProviderState,
    PublishInput,
    RoleChain,
    RollbackInput,
)
from shared.errors import InvalidRequest, PreconditionFailed
from shared.llm.chat import ChainLink
from shared.llm.ledger import latest_text
from shared.llm.prompt_trial import template_of
from shared.llm.templates import TRIAL_BOUNDS, too_costly, try_template

prompts_router = routes("/v1/prompts", "Prompts")


@prompts_router.get("", summary="List prompts")
async def list_prompts(caller: CurrentCaller, deps: Deps, limit: Limit = 50, cursor: Cursor = None) -> Page[Prompt]:
    return page_of_list(await deps.llm.ask(lambda: _all(deps)), limit, cursor)


@prompts_router.get("/{id}", summary="Read a prompt", responses={304: {"description": "Not modified"}})
async def get_prompt(response: Response, id: Id, caller: CurrentCaller, deps: Deps) -> Prompt:
    """Return the version in use, with the variables that a text must and may have."""
    return _tagged(response, await deps.llm.ask(lambda: deps.llm.layer.prompts.latest(id)))


@prompts_router.put("/{id}", summary="Change a prompt")
@EndpointRules(scope="admin", audit="prompts.set")
async def set_prompt(
    response: Response,
    id: Id,
    body: PromptInput,
    caller: CurrentCaller,
    deps: Deps,
    change: Change,
    if_match: IfMatch = None,
) -> Prompt:
    """Save a new version, in use at once unless `use` is false. 422 when a variable is unknown or a required one is
    missing.
    """
    registry = deps.llm.layer.prompts
    if not body.use:
        draft = change.audited(lambda: registry.draft(id, body.text, caller.key_id, body.note))
        return _tagged(response, await deps.llm.ask(draft))
    expected = await _expected(deps, id, if_match)
    save = change.audited(lambda: registry.save(id, body.text, caller.key_id, expected, body.note))
    return _tagged(response, await deps.llm.ask(save))


@prompts_router.get("/{id}/versions", summary="List a prompt's versions, newest first")
async def list_prompt_versions(
    id: Id, caller: CurrentCaller, deps: Deps, limit: Limit = 50, cursor: Cursor = None
) -> Page[Prompt]:
    return page_of_list(await deps.llm.ask(lambda: deps.llm.layer.prompts.versions(id)), limit, cursor)


@prompts_router.post("/{id}/labels", summary="Name a version of a prompt", status_code=204, response_class=Response)
@EndpointRules(scope="admin", audit="prompts.label")
async def label_prompt(id: Id, body: LabelInput, caller: CurrentCaller, deps: Deps, change: Change) -> None:
    """Make the name mean this version, and no other; without a version, remove the name. The list of versions shows the
    names. Jobs use the version that is published, whatever its name.
    """
    await deps.llm.ask(change.audited(lambda: deps.llm.layer.prompts.label(id, body.label, body.version)))


@prompts_router.post("/{id}/test", summary="Try a prompt on a model")
async def test_prompt(id: Id, body: PromptTestInput, caller: CurrentCaller, db: Db, deps: Deps) -> PromptTest:
    """Make a real call, which counts for the caller's tenant. With `job_id` it has the messages, tools and variables of
    that job's latest call with this prompt, whose text must be kept (`ASSAY_LLM_TEXTS`), with the new text in the
    prompt's place. A provider's refusal is a response with `ok: false`.
    """
    kept: RowMapping | None = None
    if body.job_id is not None:
        kept = (await db.execute(latest_text(caller.tenant, body.job_id, id))).mappings().one_or_none()
        if kept is None:
            message = "of no call of this job with the prompt the words are kept"
            raise InvalidRequest(f"job_id: {message} (ASSAY_LLM_TEXTS).", [(["body", "job_id"], message)])
    template = await deps.llm.ask(lambda: template_of(deps.llm.layer, id, body, None if kept is None else {**kept}))
    try:
        answer = await deps.bounded.call(caller.tenant, try_template, template.argument(), TRIAL_BOUNDS)
    except BoundExceeded as exceeded:
        raise too_costly(exceeded) from None
    trial = template.filled(answer)
    return await deps.llm.call(caller.tenant, lambda: trial.run(deps.llm.layer, caller.tenant))


@prompts_router.post("/{id}/publish", summary="Use a version that is there")
@EndpointRules(scope="admin", audit="prompts.publish")
async def publish_prompt(
    response: Response,
    id: Id,
    body: PublishInput,
    caller: CurrentCaller,
    db: Db,
    deps: Deps,
    change: Change,
    if_match: IfMatch = None,
) -> Prompt:
    """Publish a version. With `evaluation` only if that has passed with this version (409); the list of versions
    shows it.
    """
    registry = deps.llm.layer.prompts
    expected = await _expected(deps, id, if_match)
    gate = None
    if body.evaluation is not None:
        gate = await passed(db, caller.tenant, body.evaluation, body.require, prompt=f"{id}@{body.version}")
    publish = change.audited(lambda: registry.publish(id, body.version, gate, caller.tenant, expected))
    return _tagged(response, await deps.llm.ask(publish))


@prompts_router.post("/{id}/rollback", summary="Use an old version's text again")
@EndpointRules(scope="admin", audit="prompts.rollback")
async def rollback_prompt(
    response: Response,
    id: Id,
    body: RollbackInput,
    caller: CurrentCaller,
    deps: Deps,
    change: Change,
    if_match: IfMatch = None,
) -> Prompt:
    """Roll back by a new version: version numbers only grow."""
    expected = await _expected(deps, id, if_match)
    registry = deps.llm.layer.prompts
    roll_back = change.audited(lambda: registry.rollback(id, body.version, caller.key_id, expected))
    return _tagged(response, await deps.llm.ask(roll_back))


@prompts_router.post("/{id}/reset", summary="Use the built-in text again")
@EndpointRules(scope="admin", audit="prompts.reset")
async def reset_prompt(
    response: Response, id: Id, caller: CurrentCaller, deps: Deps, change: Change, if_match: IfMatch = None
) -> Prompt:
    """Restore the default text as a new version."""
    expected = await _expected(deps, id, if_match)
    reset = change.audited(lambda: deps.llm.layer.prompts.reset(id, caller.key_id, expected))
    return _tagged(response, await deps.llm.ask(reset))


def _all(deps: Deps) -> list[Prompt]:
    registry = deps.llm.layer.prompts
    keys = registry.keys()
    return [registry.get(key) for key in keys]


async def _expected(deps: Deps, key: str, if_match: str | None) -> int | None:
    """Return the version that the client read. Raises: NotFound, PreconditionFailed for an invalid tag."""
    if if_match is None or if_match.strip() == "*":
        return None
    for tag in if_match.split(","):
        version = tag.strip().strip('"')
        if version.isascii() and version.isdecimal() and len(version) < 10:
            return int(version)
    await deps.llm.ask(lambda: deps.llm.layer.prompts.get(key))
    raise PreconditionFailed("If-Match has to be the ETag of a version of this prompt.")


def _tagged(response: Response, prompt: Prompt) -> Prompt:
    """Name the version as the response's ``ETag``."""
    response.headers["ETag"] = f'"{prompt.version}"'
    return prompt


models_router = routes("/v1/models", "Models")
providers_router = routes("/v1/providers", "Models")
tenant_models_router = routes("/v1/tenants/{tenant}/models", "Models")

Tenant = Annotated[TenantName, Path(description="The tenant")]


@models_router.get(
    "",
    summary="List models and the roles they play",
    responses={304: {"description": "Not modified"}},
)
async def list_models(response: Response, caller: CurrentCaller, deps: Deps) -> Models:
    """Also what each costs for a million tokens, and since when that is known."""
    chains = await _chains(deps)
    response.headers["ETag"] = _tag_of_roles(chains.roles)
    return chains


@models_router.put("/{id}", summary="Change who plays a role")
@EndpointRules(scope="admin", audit="models.set")
async def set_model_chain(
    id: Id, body: ChainInput, caller: CurrentCaller, db: Db, deps: Deps, change: Change, if_match: IfMatch = None
) -> RoleChain:
    """Set the chain: the first link is called first, the others when it fails; gateways and workers follow in 2
    seconds.

    With `evaluation` only if that has passed with the first model (409). `If-Match` is the tag of the list of models.
    """
    if body.evaluation is not None:
        first = f"{body.chain[0].provider}/{body.chain[0].model}"
        await passed(db, caller.tenant, body.evaluation, body.require, model=first)
    links = [ChainLink(link.provider, link.model, link.parameters, link.prompting) for link in body.chain]
    expected = None if if_match is None else partial(_are_those, if_match)
    layer = deps.llm.layer
    warnings = await deps.llm.ask(change.audited(lambda: layer.models.set_chain(id, links, caller.key_id, expected)))
    return RoleChain(
        role=id, chain=body.chain, warnings=[*warnings, *await deps.llm.ask(lambda: layer.unlisted(links))]
    )


@models_router.post("/reset", summary="Give every role its default again")
@EndpointRules(scope="admin", audit="models.reset")
async def reset_models(caller: CurrentCaller, deps: Deps, change: Change) -> Models:
    await deps.llm.ask(change.audited(deps.llm.layer.models.reset))
    return await _chains(deps)


@models_router.post("/{id}/reset", summary="Give a role its default again")
@EndpointRules(scope="admin", audit="models.reset")
async def reset_role(id: Id, caller: CurrentCaller, deps: Deps, change: Change) -> RoleChain:
    """Reset the role's chain to its default; other roles keep their models."""
    await deps.llm.ask(change.audited(lambda: deps.llm.layer.models.reset(id)))
    chains = await _chains(deps)
    return RoleChain(role=id, chain=list(chains.roles[id]), warnings=[])


@models_router.post("/{id}/test", summary="Test a role's model with a short call")
async def test_model(
    id: Id,
    caller: CurrentCaller,
    deps: Deps,
    body: ModelTestInput | None = None,  # noqa: PT028 - no test of ours
) -> ModelTest:
    """Make a real call to the first configured link, or to an unsaved `link`; a failure is a response with `ok: false`,
    not an error.
    """
    given = None if body is None or body.link is None else body.link
    link = None if given is None else ChainLink(given.provider, given.model, given.parameters, given.prompting)
    return await deps.llm.call(caller.tenant, lambda: deps.llm.layer.test(id, caller.tenant, link))


@providers_router.get("", summary="List providers and their health")
async def list_providers(caller: CurrentCaller, deps: Deps) -> Providers:
    return Providers(items=await deps.llm.ask(deps.llm.layer.providers))


@providers_router.post("/{id}/release", summary="Reset a provider's circuit breaker")
@EndpointRules(scope="admin", audit="providers.release")
async def release_provider(id: Id, caller: CurrentCaller, deps: Deps) -> ProviderState:
    """Reset the provider's failures and limits, whatever its breaker's state, so that the next request may call it."""
    return await deps.llm.ask(lambda: deps.llm.layer.release(id))


def _tag_of_roles(roles: Mapping[str, Sequence[Link]]) -> str:
    """Return the tag of what can be edited: the list of known models changes by itself."""
    return etag_of(encode({role: [link.model_dump() for link in links] for role, links in roles.items()}))


def _are_those(if_match: str, stored: Mapping[str, Sequence[ChainLink]]) -> bool:
    return has_tag(if_match, _tag_of_roles(_roles(stored)))


def _roles(chains: Mapping[str, Sequence[ChainLink]]) -> dict[str, list[Link]]:
    return {
        role: [
            Link(
                provider=link.provider,
                model=link.model,
                parameters=dict(link.parameters),
                prompting=link.prompting,
            )
            for link in links
        ]
        for role, links in chains.items()
    }


async def _chains(deps: Deps) -> Models:
    registry = deps.llm.layer.models
    chains, available, prices = await deps.llm.ask(lambda: (registry.stored(), registry.available(), registry.prices()))
    return Models(available=available, roles=_roles(chains), prices=prices)


@tenant_models_router.get("", summary="See which models a tenant may use")
@EndpointRules(scope="admin")
async def get_tenant_models(tenant: Tenant, db: Db, deps: Deps) -> AllowedModels:
    return await _allowed(tenant, db, deps)


@tenant_models_router.put("", summary="Choose the models that a tenant may use")
@EndpointRules(scope="admin", audit="tenant_models.set")
async def set_tenant_models(
    tenant: Tenant, body: AllowedModelsInput, caller: CurrentCaller, db: Db, deps: Deps, change: Change
) -> AllowedModels:
    """Patterns of `provider/model`, for example `groq/*`; every gateway and worker follows within 2 seconds."""
    await deps.llm.ask(change.audited(lambda: deps.llm.layer.allowed.put(tenant, body.models, caller.key_id)))
    return await _allowed(tenant, db, deps)


@tenant_models_router.delete(
    "", summary="Let the installation's models hold for a tenant", status_code=204, response_class=Response
)
@EndpointRules(scope="admin", audit="tenant_models.reset")
async def reset_tenant_models(tenant: Tenant, deps: Deps, change: Change) -> None:
    await deps.llm.ask(change.audited(lambda: deps.llm.layer.allowed.remove(tenant)))


async def _allowed(tenant: str, db: AsyncConnection, deps: Deps) -> AllowedModels:
    allowed = deps.llm.layer.allowed
    models, own = await deps.llm.ask(lambda: (allowed.of(tenant), allowed.is_own(tenant)))
    warnings = await known_tenants.warnings(db, tenant)
    return AllowedModels(tenant=tenant, models=list(models), own=own, warnings=warnings)
