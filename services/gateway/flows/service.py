"""What the routes on flows share: the store on the request's connection, the author, the responses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from sqlalchemy import Connection, RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway import notifications
from services.gateway.database import Db, Unit
from services.gateway.dependencies import Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Prepared, has_tag
from services.gateway.http.rules import is_sane
from shared import keys
from shared.flows import editing, statements
from shared.flows.calls import Call
from shared.flows.changes import stale_edit, version_in
from shared.flows.editing import Edited
from shared.flows.store import Author, Flow, FlowStore

Answer = TypeVar("Answer")

MAX_SMALL = 1_000  #: elements, or calls: more than this is not computed on the event loop


@dataclass(frozen=True)
class FlowService:
    """Reads and edits flows in one request's transaction."""

    request: Request
    caller: CurrentCaller
    db: Db
    unit: Unit
    deps: Deps

    @property
    def store(self) -> FlowStore:
        return self.deps.flows

    def author(self, origin: str = "api", job: str | None = None) -> Author:
        return Author(self.caller.key_id, origin, job)

    async def run(self, work: Callable[[Connection], Answer]) -> Answer:
        """Execute statements on the request's connection."""
        return await self.db.run_sync(work)

    async def read(self, flow_id: str) -> Flow:
        """Return a flow. Raises: NotFound."""
        return await self.run(lambda connection: self.store.read(connection, self.caller.tenant, flow_id))

    async def lock(self, flow_id: str) -> Flow:
        """Return the flow, locked until the request ends; it must have the version that ``If-Match`` names.

        Raises: NotFound, PreconditionFailed.
        """
        flow = await self.run(lambda connection: self.store.lock(connection, self.caller.tenant, flow_id))
        await self.check_tag(flow)
        return flow

    async def check_tag(self, flow: Flow) -> None:
        """Raise PreconditionFailed, with the changes, unless ``If-Match`` names the flow's version."""
        wanted = self.request.headers.get("if-match")
        if wanted is not None and not has_tag(wanted, etag(flow.version)):
            since = version_in(wanted)
            raise await self.run(lambda connection: stale_edit(connection, flow.key, since, flow.version))

    async def check_made_from(self, flow: Flow, version: int | None) -> None:
        """Refuse a document that names another version than the flow's as its own, unless ``If-Match`` decides.

        Raises: PreconditionFailed, with what has changed.
        """
        if version is not None and version != flow.version and "if-match" not in self.request.headers:
            raise await self.run(lambda connection: stale_edit(connection, flow.key, version, flow.version))

    async def edit(self, flow: Flow, calls: Sequence[Call], origin: str, atomic: bool = False) -> Edited:
        """Run calls on a locked flow and write what they did as one change set."""
        batch = await self.run(lambda connection: editing.batch_on(self.store, connection, flow, calls))
        heavy = len(flow.document.nodes) + len(flow.document.edges) + len(calls) > MAX_SMALL
        outcomes = await asyncio.to_thread(batch.run, calls, atomic) if heavy else batch.run(calls, atomic)
        author, summary, drag = self.author(origin), editing.summary_of(calls), editing.is_drag(calls)
        after = await self.run(
            lambda connection: editing.write_batch(self.store, connection, flow, batch, author, summary, drag=drag)
        )
        self.done(flow, after)
        return Edited(after, outcomes)

    async def key_names(self, rows: Sequence[RowMapping]) -> dict[str, str]:
        """Return the names of the keys that the rows name as actors, by id; without those that are deleted."""
        named = await self.db.execute(keys.names(self.caller.tenant, {row["actor"] for row in rows}))
        return {row.id: row.name for row in named}

    def done(self, before: Flow | None, after: Flow) -> None:
        """Cache the new version and notify the flow's followers, after the commit."""
        if before is None or after.version != before.version:
            self.unit.after_commit.append(lambda: self.store.committed(after))
            self.unit.after_commit.append(
                lambda: self.deps.in_background(notifications.notify_watchers(self.deps.redis, {after.id: False}))
            )


Service = Annotated[FlowService, Depends(FlowService)]


async def is_large_flow(request: Request, db: AsyncConnection) -> bool:
    """Return whether the flow of the path has too many elements to be computed on the event loop."""
    flow_id = request.path_params.get("id", "")
    if not is_sane(flow_id):
        return False
    counted = await db.execute(statements.elements(request.state.caller.tenant, flow_id))
    return (counted.scalar_one_or_none() or 0) > MAX_SMALL


def etag(version: int) -> str:
    return f'"v{version}"'


def answer(flow: Flow, status: int = 200, headers: Mapping[str, str] | None = None, **more: object) -> Prepared:
    """``{"flow", "version", ...}`` with the flow's entity tag."""
    content = {**more, "flow": flow.view(), "version": flow.version}
    return Prepared(content, status, {"ETag": etag(flow.version), **(headers or {})})


def whole(flow: Flow, status: int = 200, headers: Mapping[str, str] | None = None, **more: object) -> Prepared:
    """Return the flow itself, flat."""
    return Prepared({**flow.view(), **more}, status, {"ETag": etag(flow.version), **(headers or {})})
