"""The routes of the original front end: its paths, bodies and statuses, on the flow named ``main``."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Annotated, Any, cast

from fastapi import APIRouter, Body, Query, Request, Response
from pydantic import JsonValue
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.dependencies import Dependencies
from services.gateway.flows.service import MAX_SMALL, FlowService, Service, etag
from services.gateway.http.responses import Json, has_tag
from services.gateway.http.rules import EndpointRules
from services.gateway.routing import Route, referring, routes
from shared.errors import AssayError, OriginNotAllowed, UnsupportedMediaType
from shared.flows import editing, history, statements
from shared.flows.calls import Call
from shared.flows.document import Document, document_of
from shared.flows.store import Flow
from shared.flows.visuals import merged

Sent = Annotated[JsonValue, Body()]

MAIN = "main"


class CompatibilityRoute(Route):
    """Faults of ours are ``{"error": ...}`` with 500; a browser without a key gets the configured one."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        handle = super().get_route_handler()
        failure = getattr(self.endpoint, "failure", "Internal server error")

        async def answer(request: Request) -> Response:
            key = request.app.state.dependencies.settings.http.compatibility_key
            if key and not any(name == b"authorization" for name, _ in request.scope["headers"]):
                _check_browser(request)
                headers = [*request.scope["headers"], (b"authorization", f"Bearer {key}".encode())]
                request = Request({**request.scope, "headers": headers}, request.receive)
            try:
                return await handle(request)
            except AssayError as fault:
                if fault.status < 500:
                    raise
                return Json({"error": failure}, 500)

        return answer


def _check_browser(request: Request) -> None:
    """Check that the caller is a page of this gateway or of a named origin, by a Host of ours; it acts by the
    configured key.

    Raises: OriginNotAllowed, UnsupportedMediaType for a body that a form of any page could send.
    """
    http = cast(Dependencies, request.app.state.dependencies).settings.http
    host = request.headers.get("host", "").lower()
    if re.sub(r":\d+$", "", host) not in {*http.browser_hosts, http.host}:
        raise OriginNotAllowed("This Host is not one of ASSAY_COMPATIBILITY_HOSTS.")
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2].lower() != host and origin not in http.origins:
        raise OriginNotAllowed("This Origin is neither this gateway nor one of ASSAY_CORS_ORIGINS.")
    has_body = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    if has_body and "content-type" not in request.headers:
        raise UnsupportedMediaType("Send JSON, with Content-Type: application/json.")


async def _is_large_main(request: Request, db: AsyncConnection) -> bool:
    row = (await db.execute(statements.named(request.state.caller.tenant, MAIN))).mappings().one_or_none()
    return row is not None and row["nodes_count"] + row["edges_count"] > MAX_SMALL


def compatibility_routes(*, read_flow: bool = True) -> APIRouter:
    """``read_flow``: whether its endpoints read the flow, which another process does when it is large."""
    router = routes(tag="Compatibility")
    router.route_class = referring(CompatibilityRoute, _is_large_main) if read_flow else CompatibilityRoute
    return router


def add_route(
    router: APIRouter, method: str, path: str, failure: str, *, flow: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Serve the endpoint under ``/api/flow`` and under ``/api``; paths without a flow only under ``/api``.

    ``failure`` is the error that the original server answered there for its own faults.
    """

    def add(endpoint: Callable[..., Any]) -> Callable[..., Any]:
        endpoint.failure = failure  # type: ignore[attr-defined]
        prefixes = ["/api/flow", "/api"] if flow else ["/api"]
        for prefix in prefixes:
            for ending in [path] if path else (["", "/"]):
                router.add_api_route(prefix + ending, endpoint, methods=[method], include_in_schema=False)
        return endpoint

    return add


router = compatibility_routes()
compatible = partial(add_route, router)


@compatible("GET", "", "Failed to load flow data")
async def load(service: Service) -> Response:
    flow = await find_main(service)
    tag = tag_of(flow)
    if has_tag(service.request.headers.get("if-none-match"), tag["ETag"]):
        return Response(status_code=304, headers=tag)
    return Json(content(flow), headers=tag)


@compatible("POST", "", "Failed to save flow data")
@EndpointRules(large=True)
async def save(
    service: Service, body: Sent = None, skip: Annotated[str, Query(alias="skipSnapshot", max_length=10)] = ""
) -> Response:
    given = body if isinstance(body, dict) else {}
    nodes, edges = given.get("nodes"), given.get("edges")
    if not isinstance(nodes, list) or not isinstance(edges, list):
        return Json({"error": "Invalid flow data structure"}, 400)
    flow = await main_flow(service)
    document = document_of(nodes, edges, flow.document.settings)
    join = skip.lower() == "true"
    edit = await asyncio.to_thread(editing.replacement, flow.document, document, "Saved", join=join, page=True)
    author = service.author("ui.save")
    after = await service.run(lambda connection: history.change(service.store, connection, flow, author, edit))
    service.done(flow, after)
    return Json({"success": True}, headers=tag_of(after))


@compatible("POST", "/undo", "Failed to undo")
async def undo(service: Service) -> Response:
    return await _undo_or_redo(service, "undo")


@compatible("POST", "/redo", "Failed to redo")
async def redo(service: Service) -> Response:
    return await _undo_or_redo(service, "redo")


@compatible("GET", "/history-status", "Failed to get history status")
async def history_status(service: Service) -> Response:
    flow = await find_main(service)
    if flow is None:
        entries, applied, newest = 0, 0, None
    else:
        row = (await service.db.execute(statements.extent(flow.key))).one()
        entries, applied, newest = row.entries, row.in_effect, row.newest_at
    return Json(
        {
            "canUndo": applied > 0,
            "canRedo": entries > applied,
            "snapshotCount": entries,
            "currentTimestamp": newest,
            "currentIndex": applied or -1,
        }
    )


@compatible("POST", "/node", "Failed to creating node")
async def create_node(service: Service, body: Sent = None) -> Response:
    names = ("id", "label", "description", "parentNodeId", "edgeLabel")
    return await _run(service, Call("addNode", _only(body, *names)), "ui.node.create", nodeId="node_id")


@compatible("PUT", "/node/{id:path}", "Failed to updating node")
async def update_node(service: Service, id: str, body: Sent = None) -> Response:
    params = {**_only(body, "label", "description", "position"), "nodeId": id}
    return await _run(service, Call("updateNode", params), "ui.node.update")


@compatible("DELETE", "/node/{id:path}", "Failed to deleting node")
async def delete_node(service: Service, id: str) -> Response:
    return await _run(service, Call("deleteNode", {"nodeId": id}), "ui.node.delete")


@compatible("POST", "/edge", "Failed to creating edge")
async def create_edge(service: Service, body: Sent = None) -> Response:
    params = _only(body, "sourceNodeId", "targetNodeId", "label")
    return await _run(service, Call("addEdge", params), "ui.edge.create", edgeId="edge_id")


@compatible("PUT", "/edge/{id:path}", "Failed to updating edge")
async def update_edge(service: Service, id: str, body: Sent = None) -> Response:
    return await _run(service, Call("updateEdge", {**_only(body, "label"), "edgeId": id}), "ui.edge.update")


@compatible("DELETE", "/edge/{id:path}", "Failed to deleting edge")
async def delete_edge(service: Service, id: str) -> Response:
    return await _run(service, Call("deleteEdge", {"edgeId": id}), "ui.edge.delete")


@compatible("POST", "/group", "Failed to creating group")
async def create_group(service: Service, body: Sent = None) -> Response:
    params = _only(body, "memberIds", "label", "position")
    return await _run(service, Call("createGroup", params), "ui.group.create", groupId="group_id")


@compatible("PUT", "/group/{id:path}/expand", "Failed to updating group")
async def expand_group(service: Service, id: str, body: Sent = None) -> Response:
    expand = _only(body, "expand").get("expand", False)
    return await _run(service, Call("toggleGroupExpansion", {"groupId": id, "expand": expand}), "ui.group.update")


@compatible("DELETE", "/group/{id:path}", "Failed to deleting group")
async def delete_group(service: Service, id: str) -> Response:
    return await _run(service, Call("ungroup", {"groupId": id}), "ui.group.delete")


@compatible("PUT", "/subtree/{id:path}/collapse", "Failed to updating subtree")
async def collapse_subtree(service: Service, id: str, body: Sent = None) -> Response:
    params = {**_only(body, "collapsed"), "nodeId": id}
    return await _run(service, Call("toggleSubtreeCollapse", params), "ui.subtree")


@compatible("POST", "/auto-layout", "Failed to auto-layout")
async def auto_layout(service: Service, body: Sent = None) -> Response:
    flow = await main_flow(service)
    edited = await service.edit(flow, [Call("autoLayout")], "ui.auto-layout")
    outcome = edited.outcomes[0]
    if outcome.error is not None:
        return Json({"success": False, "error": outcome.error}, 400)
    still: dict[str, object] = {"didChange": False} if outcome.did_change is False else {}
    reply = {"success": True, "flow": content(edited.flow), "tool": "autoLayout", **still}
    return Json(reply, headers=tag_of(edited.flow))


async def find_main(service: FlowService) -> Flow | None:
    """Return the tenant's flow named ``main``, if it exists."""

    def find(connection: Connection) -> Flow | None:
        row = connection.execute(statements.named(service.caller.tenant, MAIN)).mappings().one_or_none()
        if row is None:
            return None
        return service.store.read(connection, service.caller.tenant, row["id"])

    return await service.run(find)


async def main_flow(service: FlowService) -> Flow:
    """Return the flow ``main``, locked and created if missing. Raises: PreconditionFailed for another ``If-Match``."""

    def find(connection: Connection) -> tuple[Flow, bool]:
        tenant = service.caller.tenant
        row = connection.execute(statements.named(tenant, MAIN)).mappings().one_or_none()
        if row is None:
            connection.execute(statements.name_lock(tenant, MAIN))
            row = connection.execute(statements.named(tenant, MAIN)).mappings().one_or_none()
        if row is None:
            return service.store.create(connection, tenant, MAIN, Document(), service.author("ui")), True
        return service.store.lock(connection, tenant, row["id"]), False

    flow, made = await service.run(find)
    if made:
        service.done(None, flow)
    else:
        await service.check_tag(flow)
    return flow


def tag_of(flow: Flow | None) -> dict[str, str]:
    """Return the header with the version that an answer shows; 0 before the first edit."""
    return {"ETag": etag(flow.version if flow else 0)}


def content(flow: Flow | None) -> Mapping[str, object]:
    """``{nodes, edges, settings}``."""
    return {"nodes": [], "edges": [], "settings": merged({})} if flow is None else flow.content()


async def _undo_or_redo(service: FlowService, kind: str) -> Response:
    flow = await main_flow(service)
    step, author = history.undo if kind == "undo" else history.redo, service.author("ui")
    after = await service.run(lambda connection: step(service.store, connection, flow, author))
    if after is None:
        return Json({"success": False, "message": f"Nothing to {kind}"})
    service.done(flow, after)
    return Json({"success": True, "flow": content(after)}, headers=tag_of(after))


async def _run(service: FlowService, call: Call, origin: str, **ids: str) -> Response:
    """Run one call as one change set; ``ids`` maps the outcome's ids to the names in the answer."""
    edited = await service.edit(await main_flow(service), [call], origin)
    outcome = edited.outcomes[0]
    if outcome.error is not None:
        return Json({"success": False, "error": outcome.error}, 400)
    made = {name: getattr(outcome, attribute) for name, attribute in ids.items()}
    return Json({"success": True, "flow": content(edited.flow), **made}, headers=tag_of(edited.flow))


def _only(body: JsonValue, *names: str) -> dict[str, JsonValue]:
    """Return the named members of a body; a front end may send more."""
    return {name: body[name] for name in names if name in body} if isinstance(body, dict) else {}
