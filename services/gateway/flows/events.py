"""A flow's changes as server-sent events: the operations of the versions missed, then live ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from fastapi import Header, Query, Response
from sqlalchemy import RowMapping

from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.rules import Id
from services.gateway.routing import routes
from services.gateway.streams import event_stream
from services.gateway.streams.event_stream import News, frame
from shared.errors import NotFound
from shared.flows import statements
from shared.flows.document import Document
from shared.flows.encoding import decode_operations
from shared.flows.operations import Operation, difference, to_json

router = routes("/v1/flows/{id}", "Flows")

_PAGE = 50

_STREAM = event_stream.described(
    "`id:` is the version, `event:` create, change, undo or redo, `data:` a JSON object",
    'id: 2\nevent: change\ndata: {"version": 2, "operations": []}\n\n',
)


@router.get("/events", summary="Follow a flow", response_class=Response, responses=_STREAM)
async def stream_flow_events(
    id: Id,
    caller: CurrentCaller,
    deps: Deps,
    after: Annotated[int, Query(ge=0, le=2**62, description="The last version that was seen")] = 0,
    last_event_id: Annotated[int | None, Header(ge=0, le=2**62, description="The same, as browsers send it")] = None,
) -> Response:
    """Stream the operations of every version after the last one seen, then live ones. An event `reset` means that older
    versions are no longer kept: read the flow again.
    """
    seen = after if last_event_id is None else last_event_id

    async def look(seen: int) -> News:
        return await changes_after(deps, caller.tenant, id, seen)

    async def begin() -> News:
        first = await look(seen)
        if first.ended:
            raise NotFound("There is no such flow.")
        return first

    return await event_stream.stream(deps, caller, id, begin, look, of="flow")


async def changes_after(deps: Dependencies, tenant: str, flow_id: str, seen: int) -> News:
    """Return the next page of changes; a reset when older versions are not kept."""
    flow = statements.FlowKey(tenant, flow_id)
    async with deps.database.read(tenant) as db:
        current = (await db.execute(statements.version_of(tenant, flow_id))).scalar_one_or_none()
        if current is None or current <= seen:
            return News(seen=seen, ended=current is None)
        rows = (await db.execute(statements.tail(flow, seen, current, _PAGE))).mappings().all()
    reset = News([frame(current, "reset", {"version": current})], current, more=True)
    if not rows or rows[0]["version"] != seen + 1:
        return reset
    try:
        creation = [await _creation(deps, flow, rows[0])] if rows[0]["kind"] == "create" else []
    except NotFound:  # dropped since the rows were read
        return reset
    changes = (
        frame(row["version"], row["kind"], _data(flow_id, row, decode_operations(row["operations"])))
        for row in rows[len(creation) :]
    )
    return News([*creation, *changes], rows[-1]["version"], more=True)


async def _creation(deps: Dependencies, flow: statements.FlowKey, row: RowMapping) -> bytes:
    """Return the event of a flow's creation, with its first content. Raises: NotFound when that is not kept."""
    async with deps.database.read(flow.tenant) as db:
        document = await db.run_sync(lambda connection: deps.flows.document_at(connection, flow, 1))
    return frame(1, "create", _data(flow.id, row, difference(Document(), document)))


def _data(flow_id: str, row: RowMapping, operations: Iterable[Operation]) -> dict[str, object]:
    return {
        "type": row["kind"],
        "flow_id": flow_id,
        "version": row["version"],
        "actor": row["actor"],
        "origin": row["origin"],
        "at": row["at"],
        "operations": to_json(operations),
    }
