"""The routes on flows themselves: create, read, save, edit by tool calls, undo, lay out, import, export."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal, cast

from fastapi import Query, Request, Response
from pydantic import JsonValue

from services.gateway.flows.service import FlowService, Service, answer, etag, is_large_flow, whole
from services.gateway.http.responses import Cursor, Json, Limit, Prepared, has_tag, page, read_cursor
from services.gateway.http.rules import EndpointRules, Id
from services.gateway.routing import routes
from shared.contracts.common import Page
from shared.contracts.flow_document import FlowCreate, FlowSave
from shared.contracts.flow_routes import (
    ChartDirection,
    ExportFormat,
    FlowSummary,
    FlowView,
    ImportInput,
    LaidOut,
    LayoutInput,
    Operated,
    OperationsInput,
    ScopeInput,
    Walked,
)
from shared.flows import editing, history, statements
from shared.flows.batch import Batch
from shared.flows.calls import Call
from shared.flows.document import Document
from shared.flows.forms.dot import dot
from shared.flows.forms.mermaid import mermaid
from shared.flows.forms.svg import svg
from shared.flows.history import Edit
from shared.flows.incoming import import_document, read_document
from shared.flows.store import Flow
from shared.flows.tools.visuals import arrange

router = routes("/v1/flows", "Flows", is_large_flow)


@router.post("", summary="Create a flow", status_code=201, response_model=FlowView)
@EndpointRules(large=True)
async def create_flow(request: Request, service: Service, body: FlowCreate) -> Prepared:
    given = cast("dict[str, JsonValue]", await request.json())
    return await _created(service, body.name, await asyncio.to_thread(read_document, body, given, {}))


@router.get("", summary="List flows, newest first")
async def list_flows(service: Service, limit: Limit = 50, cursor: Cursor = None) -> Page[FlowSummary]:
    statement = statements.listing(service.caller.tenant, limit + 1, read_cursor(cursor))
    rows = (await service.db.execute(statement)).mappings().all()
    names = await service.key_names(rows)
    return page(rows, limit, lambda row: FlowSummary.model_validate({**row, "actor_name": names.get(row["actor"])}))


@router.post("/import", summary="Create a flow from Mermaid or JSON", status_code=201, response_model=FlowView)
@EndpointRules(large=True)
async def import_flow(service: Service, body: ImportInput) -> Prepared:
    """`warnings` name the lines that were not understood."""
    name, document, warnings = await asyncio.to_thread(import_document, body.format, body.text)
    listed = [warning.model_dump() for warning in warnings]
    return await _created(service, body.name or name or "Imported", document, warnings=listed)


@router.get("/{id}", summary="Read a flow", response_model=FlowView, responses={304: {"description": "Not modified"}})
async def get_flow(request: Request, service: Service, id: Id) -> Prepared | Response:
    flow = await service.read(id)
    if has_tag(request.headers.get("if-none-match"), etag(flow.version)):
        return Response(status_code=304, headers={"ETag": etag(flow.version)})
    return whole(flow)


@router.put("/{id}", summary="Replace a flow's document", response_model=FlowView)
@EndpointRules(large=True)
async def save_flow(request: Request, service: Service, id: Id, body: FlowSave) -> Prepared:
    """Save the document as one change set; `settings` and `name` are optional. 412 when `If-Match`, or else the
    `version` in the body, is not the flow's current version.
    """
    flow = await service.lock(id)
    await service.check_made_from(flow, body.version)
    given = cast("dict[str, JsonValue]", await request.json())

    def compared() -> Edit:
        document = read_document(body, given, flow.document.settings)
        return editing.replacement(flow.document, document, "Saved", name=body.name)

    edit = await asyncio.to_thread(compared)
    return whole(await _changed(service, flow, edit, "api.save"))


@router.delete("/{id}", summary="Delete a flow with its history", status_code=204, response_class=Response)
async def delete_flow(service: Service, id: Id) -> None:
    await service.lock(id)
    await service.db.execute(statements.remove(service.caller.tenant, id))


@router.post("/{id}/operations", summary="Run tool calls, without a model", response_model=Operated)
async def run_operations(service: Service, id: Id, body: OperationsInput) -> Prepared:
    """Run the calls as one change set; a failed call changes nothing, and with `atomic` neither do the others."""
    flow = await service.lock(id)
    calls = [Call(call.name, call.params, call.id or "") for call in body.tool_calls]
    edited = await service.edit(flow, calls, "api.operations", body.atomic)
    execution = [outcome.contract() for outcome in edited.outcomes]
    return answer(edited.flow, success=edited.success, execution=execution)


@router.post("/{id}/undo", summary="Take the last change back", response_model=Walked)
async def undo_flow(service: Service, id: Id, body: ScopeInput | None = None) -> Prepared:
    """`scope=mine` takes back the caller's own last change; 409 `undo_conflict` when others have built on it."""
    return await _undo_or_redo(service, id, body, "undo")


@router.post("/{id}/redo", summary="Apply the change that was undone last", response_model=Walked)
async def redo_flow(service: Service, id: Id, body: ScopeInput | None = None) -> Prepared:
    return await _undo_or_redo(service, id, body, "redo")


@router.post("/{id}/layout", summary="Arrange the visible nodes", response_model=LaidOut)
async def lay_out_flow(service: Service, id: Id, body: LayoutInput | None = None) -> Prepared:
    """`did_change` is false when nothing had to move."""
    flow = await service.lock(id)
    batch = Batch(flow.document)
    direction = (body or LayoutInput()).direction
    moved = await asyncio.to_thread(arrange, batch.draft, direction)
    forward, inverse = batch.draft.operations()
    after = await _changed(service, flow, Edit(forward, inverse, f"Layout {direction}"), "api.layout")
    return answer(after, success=True, did_change=moved)


_FORMS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The text of the requested form, with its media type",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}
#: An exported picture that is opened in a browser must not load or run anything.
_INERT = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}


@router.get("/{id}/export", summary="Write a flow in another form", response_class=Response, responses=_FORMS)
async def export_flow(
    service: Service,
    id: Id,
    format: Annotated[ExportFormat, Query(description="Format of the export")],
    direction: Annotated[
        ChartDirection | None, Query(description="Direction of a Mermaid chart or DOT graph; null keeps the drawn one")
    ] = None,
) -> Response:
    flow = await service.read(id)
    headers = {"ETag": etag(flow.version), **_INERT}
    if format == "json":
        return Json({"name": flow.name, **flow.content()}, headers=headers)
    writers = {
        "mermaid": ("text/plain", lambda: mermaid(flow.document, direction)),
        "dot": ("text/vnd.graphviz", lambda: dot(flow.document, direction)),
        "svg": ("image/svg+xml", lambda: svg(flow.document)),
    }
    media_type, write = writers[format]
    return Response(await asyncio.to_thread(write), headers=headers, media_type=media_type)


async def _created(service: FlowService, name: str, document: Document, **more: object) -> Prepared:
    author = service.author()
    flow = await service.run(
        lambda connection: service.store.create(connection, service.caller.tenant, name, document, author)
    )
    service.done(None, flow)
    return whole(flow, 201, {"Location": f"/v1/flows/{flow.id}"}, **more)


async def _changed(service: FlowService, flow: Flow, edit: Edit, origin: str) -> Flow:
    author = service.author(origin)
    after = await service.run(lambda connection: history.change(service.store, connection, flow, author, edit))
    service.done(flow, after)
    return after


async def _undo_or_redo(
    service: FlowService, id: str, body: ScopeInput | None, kind: Literal["undo", "redo"]
) -> Prepared:
    flow = await service.lock(id)
    scope, author = (body or ScopeInput()).scope, service.author("api")
    step = await service.run(lambda connection: history.walk(service.store, connection, flow, author, scope, kind))
    if step is None:
        return Prepared({"success": False, "message": f"Nothing to {kind}", "version": flow.version})
    service.done(flow, step.flow)
    return answer(step.flow, success=True, summary=step.summary)
