"""API keys: made, listed and revoked by an administrator of the installation."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from services.gateway.database import Db
from services.gateway.dependencies import Deps
from services.gateway.http.ids import Id
from services.gateway.http.responses import Cursor, Json, Limit, page, read_cursor
from services.gateway.http.rules import rules
from services.gateway.routing import routes
from shared import keys
from shared.contracts.common import Page
from shared.contracts.keys import KeyInfo, KeyInput, NewKey
from shared.errors import NotFound

router = routes("/v1/keys", "Keys")


@router.post("", summary="Create an API key", status_code=201, response_model=NewKey | KeyInfo)
@rules(scope="admin", secret=("key",))
async def create_key(body: KeyInput, db: Db) -> Response:
    """The key itself is in this answer only; repeated with the same `Idempotency-Key`, the answer comes without it."""
    issued = keys.issue(body.tenant, body.name, body.scopes, body.expires_at)
    row = (await db.execute(issued.statement)).mappings().one()
    made = NewKey(**keys.info(row).model_dump(), key=issued.key)
    return Json(made, 201, {"Location": f"/v1/keys/{made.id}"})


@router.get("", summary="List API keys, newest first", response_model=Page[KeyInfo])
@rules(scope="admin")
async def list_keys(
    db: Db,
    tenant: Annotated[str | None, Query(max_length=63, pattern=r"^[a-z0-9][a-z0-9_-]*$")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The keys of every tenant, or of one; revoked ones too, for the trail."""
    rows = (await db.execute(keys.page(limit + 1, read_cursor(cursor), tenant))).mappings().all()
    return Json(page(rows, limit, keys.info))


@router.delete("/{id}", summary="Revoke an API key", status_code=204, response_class=Response)
@rules(scope="admin")
async def revoke_key(id: Id, deps: Deps) -> Response:
    """It ends at once here, and within a second on every other gateway."""
    async with deps.database.write() as connection:
        if (await connection.execute(keys.revoke(id))).one_or_none() is None:
            raise NotFound(f"There is no valid key {id}.")
    deps.authenticator.forget(id)  # after the commit: until then a request may bring it back
    return Response(status_code=204)
