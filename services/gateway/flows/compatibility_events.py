"""The changes of the flow named ``main`` as server-sent events: what two pages on one flow need to see each other."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import Header, Query, Response

from services.gateway.dependencies import Dependencies, Deps
from services.gateway.flows.compatibility import MAIN, add_route, compatibility_routes
from services.gateway.flows.events import changes_after
from services.gateway.http.auth import CurrentCaller
from services.gateway.streams import event_stream
from services.gateway.streams.event_stream import News
from shared.flows import statements

router = compatibility_routes(read_flow=False)
compatible = partial(add_route, router)

_POLL_SECONDS = 0.5


@compatible("GET", "/events", "Failed to follow the flow")
async def follow(
    caller: CurrentCaller,
    deps: Deps,
    after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    last_event_id: Annotated[int | None, Header(ge=0, le=2**62)] = None,
) -> Response:
    """Stream the events of ``/v1/flows/{id}/events`` from the version ``after`` on; by default from now on."""
    seen = after if last_event_id is None else last_event_id
    flow_id, version = await _main(deps, caller.tenant)

    async def look(seen: int) -> News:
        flow_id, _ = await _main(deps, caller.tenant)
        if flow_id is None:
            return News(seen=seen)
        news = await changes_after(deps, caller.tenant, flow_id, seen)
        return News(seen=0) if news.ended else news  # deleted: another one may be made

    async def begin() -> News:
        return News(seen=version) if seen is None else await look(seen)

    return await event_stream.stream(deps, caller, flow_id or f"{MAIN} of {caller.tenant}", begin, look, _POLL_SECONDS)


async def _main(deps: Dependencies, tenant: str) -> tuple[str | None, int]:
    """Return the flow's id and version; None and 0 before it exists."""
    async with deps.database.read(tenant) as db:
        row = (await db.execute(statements.named(tenant, MAIN))).mappings().one_or_none()
    return (None, 0) if row is None else (row["id"], row["version"])
