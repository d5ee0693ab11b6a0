"""API keys: made, listed, rotated and revoked by an administrator, of the installation or of the keys' tenant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Query, Response
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import Db, Unit
from services.gateway.dependencies import Deps
from services.gateway.http.auth import Caller, CurrentCaller
from services.gateway.http.responses import Cursor, Limit, page, read_cursor
from services.gateway.http.rules import EndpointRules, Id
from services.gateway.routing import routes
from shared import keys
from shared.contracts.common import Page
from shared.contracts.keys import KeyInfo, KeyInput, NewKey, RotationInput, Scope
from shared.errors import Conflict, MissingScope, NotFound
from shared.faults import NAME

router = routes("/v1/keys", "Keys")


@router.post("", summary="Create an API key", status_code=201, response_model=NewKey | KeyInfo)
@EndpointRules(scope="tenant_admin", secret=("key",), audit="keys.create")
async def create_key(response: Response, body: KeyInput, caller: CurrentCaller, db: Db, deps: Deps) -> NewKey:
    """Create a key. Only this response holds the key itself; repeated with the same `Idempotency-Key`, it comes
    without.
    """
    caller.administered(body.tenant)
    _check_scopes(caller, body.scopes)
    days = deps.settings.http.key_days
    expires_at = body.expires_at or (datetime.now(UTC) + timedelta(days=days) if days else None)
    return await _issued(response, db, body.tenant, body.name, body.scopes, expires_at)


@router.get("", summary="List API keys, newest first")
@EndpointRules(scope="tenant_admin")
async def list_keys(
    caller: CurrentCaller,
    db: Db,
    tenant: Annotated[str | None, Query(max_length=63, pattern=NAME, description="Only keys of this tenant")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[KeyInfo]:
    """List the keys of every tenant, or of one; revoked ones too, as a record."""
    of = caller.administered(tenant)
    rows = (await db.execute(keys.page(limit + 1, read_cursor(cursor), of))).mappings().all()
    return page(rows, limit, keys.info)


@router.post(
    "/{id}/rotate", summary="Replace an API key by a new one", status_code=201, response_model=NewKey | KeyInfo
)
@EndpointRules(scope="tenant_admin", secret=("key",), audit="keys.rotate")
async def rotate_key(
    response: Response,
    id: Id,
    caller: CurrentCaller,
    db: Db,
    unit: Unit,
    deps: Deps,
    body: RotationInput | None = None,
) -> NewKey:
    """Create a key with the same name, scopes and lifetime; the old one stays valid for `overlap_seconds` (default:
    a day).
    """
    old = (await db.execute(keys.valid(id, caller.administered(None)))).mappings().one_or_none()
    if old is None:
        raise _missing(id)
    if old["parent_id"] is not None:
        raise Conflict("This key is a session's, which ends by itself. Sign in again for another one.")
    _check_scopes(caller, old["scopes"])
    now = datetime.now(UTC)
    lifetime = None if old["expires_at"] is None else old["expires_at"] - old["created_at"]
    await db.execute(keys.end_at(id, now + timedelta(seconds=(body or RotationInput()).overlap_seconds)))
    unit.after_commit.append(lambda: deps.authenticator.forget(id))
    expires_at = None if lifetime is None else now + lifetime
    return await _issued(response, db, old["tenant_id"], old["name"], old["scopes"], expires_at)


@router.delete("/{id}", summary="Revoke an API key", status_code=204, response_class=Response)
@EndpointRules(scope="tenant_admin", audit="keys.revoke")
async def revoke_key(
    id: Id,
    caller: CurrentCaller,
    db: Db,
    unit: Unit,
    deps: Deps,
    force: Annotated[bool, Query(description="Also when it is the last key with the scope admin")] = False,
) -> None:
    """Revoke the key at once here, and within a second on every other gateway; its event streams end too."""
    old = (await db.execute(keys.unrevoked(id, caller.administered(None)))).mappings().one_or_none()
    if old is None:
        raise _missing(id)
    _check_scopes(caller, old["scopes"])
    if not force and (await db.execute(keys.is_last_admin(id))).scalar_one():
        raise Conflict(
            "This is the last key with the scope admin: without it no key can be created. Create another one first, "
            "or give force=true (`assay keys revoke --force`)."
        )
    await db.execute(keys.revoke(id, caller.administered(None)))
    unit.after_commit.append(lambda: deps.authenticator.forget(id))  # until then a request may bring it back


async def _issued(
    response: Response,
    db: AsyncConnection,
    tenant: str,
    name: str,
    scopes: list[Scope],
    expires_at: datetime | None,
) -> NewKey:
    issued = keys.issue(tenant, name, scopes, expires_at)
    row = (await db.execute(issued.statement)).mappings().one()
    made = NewKey(**keys.info(row).model_dump(), key=issued.key)
    response.headers["Location"] = f"/v1/keys/{made.id}"
    return made


def _check_scopes(caller: Caller, wanted: list[Scope]) -> None:
    """Raise MissingScope for a key with more scopes than the caller may give."""
    if "admin" in wanted and "admin" not in caller.scopes:
        raise MissingScope("A key with the scope admin is made, replaced and revoked with the scope admin only.")


def _missing(id: str) -> NotFound:
    return NotFound(f"There is no valid key {id}.")
