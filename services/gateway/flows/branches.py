"""Branches: a flow that continues from a version of another, and its `branched_from`."""

from __future__ import annotations

from services.gateway.flows.service import Service, is_large_flow, whole
from services.gateway.flows.versions import Version, at
from services.gateway.http.responses import Prepared
from services.gateway.http.rules import Id
from services.gateway.routing import routes
from shared.contracts.flow_routes import BranchInput, FlowView
from shared.flows.store import origin_of_branch

router = routes("/v1/flows/{id}", "Flows", is_large_flow)

_NAME = 160  #: so much of the other's name; a name has at most 200 characters


@router.post(
    "/versions/{number}/branch", summary="Begin a new flow from a version", status_code=201, response_model=FlowView
)
async def branch_version(service: Service, id: Id, number: Version, body: BranchInput | None = None) -> Prepared:
    """Ids stay the same; the first of the new flow's `versions` names its origin (`branched_from`)."""
    flow, then = await at(service, id, number)
    author = service.author(origin_of_branch(flow.id, number))
    name = (body or BranchInput()).name or f"{flow.name[:_NAME]}, from version {number}"
    made = await service.run(
        lambda connection: service.store.create(connection, service.caller.tenant, name, then.document, author)
    )
    service.done(None, made)
    return whole(made, 201, {"Location": f"/v1/flows/{made.id}"})
