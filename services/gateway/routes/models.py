"""Models and providers: who is asked for what, and how they are."""

from __future__ import annotations

from services.gateway.dependencies import Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.ids import Id
from services.gateway.http.rules import rules
from services.gateway.routing import routes
from shared.contracts.common import Answer
from shared.contracts.models import ChainInput, Link, Models, ModelTest, Providers
from shared.llm.chat import ChainLink

router = routes("/v1/models", "Models")
providers_router = routes("/v1/providers", "Models")


class RoleChain(Answer):
    role: str
    chain: list[Link]
    warnings: list[str]


@router.get("", summary="List models and the roles they play")
async def list_models(caller: CurrentCaller, deps: Deps) -> Models:
    return await _models(deps)


@router.put("/{id}", summary="Change who plays a role")
@rules(scope="admin")
async def set_model_chain(id: Id, body: ChainInput, caller: CurrentCaller, deps: Deps) -> RoleChain:
    """The first link is asked first, the others when it fails; every gateway and worker follows within 2 seconds."""
    links = [ChainLink(link.provider, link.model, link.parameters) for link in body.chain]
    warnings = await deps.llm.ask(lambda: deps.llm.layer.models.set_chain(id, links, caller.key_id))
    return RoleChain(role=id, chain=body.chain, warnings=warnings)


@router.post("/reset", summary="Give every role its default again")
@rules(scope="admin")
async def reset_models(caller: CurrentCaller, deps: Deps) -> Models:
    await deps.llm.ask(deps.llm.layer.models.reset)
    return await _models(deps)


@router.post("/{id}/test", summary="Ask a role's model one small question")
async def test_model(id: Id, caller: CurrentCaller, deps: Deps) -> ModelTest:
    """A real call to the first configured link; a failure is an answer with `ok: false`, not an error."""
    return await deps.llm.ask(lambda: deps.llm.layer.test(id, caller.tenant))


@providers_router.get("", summary="List providers and their health")
async def list_providers(caller: CurrentCaller, deps: Deps) -> Providers:
    return Providers(items=await deps.llm.ask(deps.llm.layer.providers))


async def _models(deps: Deps) -> Models:
    registry = deps.llm.layer.models
    chains, available = await deps.llm.ask(lambda: (registry.chains(), registry.available()))
    roles = {
        role: [Link(provider=link.provider, model=link.model, parameters=dict(link.parameters)) for link in links]
        for role, links in chains.items()
    }
    return Models(available=available, roles=roles)
