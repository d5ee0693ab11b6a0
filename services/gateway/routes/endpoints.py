"""Servers of models that the operator has named: any number, each with its own limits."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import Path, Response

from services.gateway.dependencies import Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.registry_changes import Change
from services.gateway.http.responses import Cursor, Limit, page_of_list
from services.gateway.http.rules import EndpointRules
from services.gateway.routing import routes
from shared.contracts.common import Page
from shared.contracts.models import Endpoint, EndpointInput, EndpointName, EndpointTest
from shared.llm.faults import ProviderFault

router = routes("/v1/endpoints", "Models")
Name = Annotated[EndpointName, Path(description="The name")]


@router.get("", summary="List vendors and named endpoints")
@EndpointRules(scope="admin")
async def list_endpoints(deps: Deps, limit: Limit = 50, cursor: Cursor = None) -> Page[Endpoint]:
    registry = deps.llm.layer.endpoints
    listed = await deps.llm.ask(registry.views)
    return page_of_list(listed, limit, cursor)


@router.put("/{name}", summary="Name an endpoint, change it, or set the limits of a vendor")
@EndpointRules(scope="admin", audit="endpoints.set")
async def set_endpoint(name: Name, body: EndpointInput, caller: CurrentCaller, deps: Deps, change: Change) -> Endpoint:
    """Chains name its models as `name/model`. Its server is checked; `POST .../test` reports what was wrong.

    For a vendor, the body is its model and the limits of its calls, without `url` and `key_env`, which are fixed; what
    is left out has its default.
    """
    layer = deps.llm.layer

    def put() -> Endpoint:
        layer.endpoints.put(name, body, caller.key_id)
        if layer.endpoints[name].own_server:
            with suppress(ProviderFault):
                layer.discover(name)
        return layer.endpoints.view(name)

    return await deps.llm.call(caller.tenant, change.audited(put))


@router.delete(
    "/{name}", summary="Remove an endpoint, or what was set of a vendor", status_code=204, response_class=Response
)
@EndpointRules(scope="admin", audit="endpoints.remove")
async def remove_endpoint(name: Name, deps: Deps, change: Change) -> None:
    """Chains that name it skip it."""
    await deps.llm.ask(change.audited(lambda: deps.llm.layer.endpoints.remove(name)))


@router.post("/{name}/test", summary="Check an endpoint's server and call its model")
@EndpointRules(scope="admin")
async def test_endpoint(name: Name, caller: CurrentCaller, deps: Deps) -> EndpointTest:
    """Return the server's kind, its models and windows, and what its model accepts; stored for every replica."""
    return await deps.llm.call(caller.tenant, lambda: deps.llm.layer.test_endpoint(name))
