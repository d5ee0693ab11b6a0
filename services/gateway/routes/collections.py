"""Collections: declared here, filled by ``ingest`` jobs, queried by ``search`` jobs."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import Response
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import Db
from services.gateway.dependencies import Dependencies, Deps
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import Cursor, Limit, page, read_cursor
from services.gateway.http.rules import Id
from services.gateway.routing import routes
from shared import collections
from shared.contracts.common import Page
from shared.contracts.search import DEFAULT_EMBEDDING, CollectionInput, CollectionView, PastAttempt
from shared.errors import Conflict, NotFound

router = routes("/v1/collections", "Collections")


_THERE: dict[int | str, dict[str, Any]] = {200: {"model": CollectionView, "description": "It is there already"}}


@router.post("", summary="Create a collection", status_code=201, responses=_THERE)
async def create_collection(
    response: Response, body: CollectionInput, caller: CurrentCaller, db: Db, deps: Deps
) -> CollectionView:
    """Tables with weighted facets and typed fields. The same declaration again answers 200 with what is there."""
    created = (await db.execute(collections.create(caller.tenant, body))).one_or_none()
    row = await _find(db, caller.tenant, body.name)
    if created is None and not collections.declares(row, body):
        raise Conflict(f"There is a collection {body.name!r} with other tables; delete it, or take another name.")
    response.headers["Location"] = f"/v1/collections/{body.name}"
    if created is None:
        response.status_code = 200
    return collections.view(row, await _default_embedding(deps))


@router.get("", summary="List collections, newest first")
async def list_collections(
    caller: CurrentCaller, db: Db, deps: Deps, limit: Limit = 50, cursor: Cursor = None
) -> Page[CollectionView]:
    rows = (await db.execute(collections.page(caller.tenant, limit + 1, read_cursor(cursor)))).mappings().all()
    view = partial(collections.view, default_embedding=await _default_embedding(deps))
    return page(rows, limit, view)


@router.get("/{name}", summary="Get a collection")
async def get_collection(name: Id, caller: CurrentCaller, db: Db, deps: Deps) -> CollectionView:
    """Return the collection's tables, their number of records, and the thresholds that the last ingest measured."""
    row = await _find(db, caller.tenant, name)
    return collections.view(row, await _default_embedding(deps))


@router.get("/{name}/attempts", summary="List what searches have tried")
async def list_search_attempts(
    name: Id, caller: CurrentCaller, db: Db, limit: Limit = 50, cursor: Cursor = None
) -> Page[PastAttempt]:
    """List attempts, newest first, each with its queries, their hits, and how many of them were new; kept as long as
    their jobs.
    """
    await _find(db, caller.tenant, name)
    statement = collections.attempts(caller.tenant, name, limit + 1, read_cursor(cursor))
    rows = (await db.execute(statement)).mappings().all()
    return page(rows, limit, lambda row: PastAttempt.model_validate(dict(row)))


@router.delete("/{name}", summary="Delete a collection", status_code=204, response_class=Response)
async def delete_collection(name: Id, caller: CurrentCaller, db: Db) -> None:
    """Delete the collection with its records; the search worker removes their vectors when it next ingests or
    starts.
    """
    if (await db.execute(collections.drop(caller.tenant, name))).one_or_none() is None:
        raise NotFound(f"There is no collection {name}.")


async def _default_embedding(deps: Dependencies) -> str:
    """Return the embedding of collections that name none, as the search workers report it."""
    reported = (worker.facts.get("embedding") for worker in await deps.workforce.serving("search"))
    return next((name for name in reported if isinstance(name, str)), DEFAULT_EMBEDDING)


async def _find(db: AsyncConnection, tenant: str, name: str) -> RowMapping:
    row: RowMapping | None = (await db.execute(collections.find(tenant, name))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"There is no collection {name}.")
    return row
