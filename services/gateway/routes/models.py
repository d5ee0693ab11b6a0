"""Models and providers: who is asked for what, and how they are."""

from __future__ import annotations

from fastapi import Response
from pydantic import JsonValue

from services.gateway.dependencies import Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.ids import Id
from services.gateway.http.responses import Json
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


@router.get("", summary="List models and the roles they play", response_model=Models)
async def list_models(caller: CurrentCaller, deps: Deps) -> Response:
    return Json(await _models(deps))


@router.put("/{id}", summary="Change who plays a role", response_model=RoleChain)
@rules(scope="admin")
async def set_model_chain(id: Id, body: ChainInput, caller: CurrentCaller, deps: Deps) -> Response:
    """The first link is asked first, the others when it fails; every gateway and worker follows within 2 seconds."""
    links = [ChainLink(link.provider, link.model, link.parameters) for link in body.chain]
    warnings = await deps.llm.ask(lambda: deps.llm.layer.models.set_chain(id, links, caller.key_id))
    return Json(RoleChain(role=id, chain=body.chain, warnings=warnings))


@router.post("/reset", summary="Give every role its default again", response_model=Models)
@rules(scope="admin")
async def reset_models(caller: CurrentCaller, deps: Deps) -> Response:
    await deps.llm.ask(deps.llm.layer.models.reset)
    return Json(await _models(deps))


@router.post("/{id}/test", summary="Ask a role's model one small question", response_model=ModelTest)
async def test_model(id: Id, caller: CurrentCaller, deps: Deps) -> Response:
    """A real call to the first configured link; a failure is an answer with `ok: false`, not an error."""
    return Json(await deps.llm.ask(lambda: deps.llm.layer.test(id, caller.tenant)))


@providers_router.get("", summary="List providers and their health", response_model=Providers)
async def list_providers(caller: CurrentCaller, deps: Deps) -> Response:
    return Json(Providers(items=await deps.llm.ask(deps.llm.layer.providers)))


async def _models(deps: Deps) -> dict[str, JsonValue]:
    registry = deps.llm.layer.models
    chains, available = await deps.llm.ask(lambda: (registry.chains(), registry.available()))
    roles: dict[str, JsonValue] = {
        role: [{"provider": link.provider, "model": link.model, "parameters": dict(link.parameters)} for link in links]
        for role, links in chains.items()
    }
    return {"available": [dict(model) for model in available], "roles": roles}
