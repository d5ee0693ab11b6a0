"""Sessions: who calls, and short-lived keys for a browser that must not hold the key itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import Request, Response
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import Db
from services.gateway.dependencies import Deps
from services.gateway.http import auditing
from services.gateway.http.auth import Authenticator, Caller, CurrentCaller
from services.gateway.http.rules import EndpointRules
from services.gateway.routing import routes
from shared import keys
from shared.contracts.keys import NewSession, Session, SessionCode, SessionInput
from shared.errors import Conflict, NotAuthenticated

router = routes("/v1", "Sessions")

_SESSION = timedelta(hours=12)
_CODE = timedelta(seconds=60)
_PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_NO_SESSION: dict[int | str, dict[str, Any]] = {
    409: {"description": "This key is not a session's", "content": _PROBLEM}
}


@router.get("/session", summary="See whose key this is")
async def get_session(caller: CurrentCaller, db: Db) -> Session:
    return Session.model_validate(_described(await _key(db, caller.key_id)))


@router.post("/sessions", summary="Sign in", status_code=201)
@EndpointRules(public=True, optional_key=True)
async def create_session(
    request: Request, response: Response, db: Db, deps: Deps, body: SessionInput | None = None
) -> NewSession:
    """Create a session key, valid for 12 hours, from the request's API key or from a one-time code.

    It belongs to the same tenant, has the same scopes, is listed among the keys, and ends with its parent key.
    """
    address = request.client.host if request.client else None
    if body is not None and body.code is not None:
        key_id = await _redeemed(db, deps.authenticator, body.code, address)
    else:
        key_id = (await deps.authenticator.admit(request.headers.get("authorization"), "read", address)).key_id
    parent = await _key(db, key_id)
    ends = datetime.now(UTC) + _SESSION
    expires_at = min(ends, parent["expires_at"] or ends)
    root = parent["parent_id"] or key_id  # a session of a session is one of the key behind both
    name = f"session of {parent['name']}"[:100] if parent["parent_id"] is None else parent["name"]
    issued = keys.issue(parent["tenant_id"], name, parent["scopes"], expires_at, root)
    row = (await db.execute(issued.statement)).mappings().one()
    described = {**dict(row), "key_id": row["id"]}
    signed_in = Caller(parent["tenant_id"], key_id, frozenset(parent["scopes"]))
    await auditing.record(db, "sessions.create", signed_in, request, str(row["id"]), {})
    response.headers["Location"] = "/v1/session"
    return NewSession(**_fields(described), key=issued.key)


@router.delete("/session", summary="Sign out", status_code=204, response_class=Response, responses=_NO_SESSION)
@EndpointRules(scope="read")
async def end_session(caller: CurrentCaller, db: Db, deps: Deps) -> None:
    """End the session of this request's key; revoke any other key under `/v1/keys`."""
    if (await _key(db, caller.key_id))["parent_id"] is None:
        raise Conflict("This key is not a session's: revoke it with DELETE /v1/keys/{id}.")
    await db.execute(keys.revoke(caller.key_id))
    deps.authenticator.forget(caller.key_id)


@router.post("/session-codes", summary="Get a code that signs a browser in", status_code=201)
@EndpointRules(scope="read", secret=("code", "path"))
async def create_session_code(caller: CurrentCaller, db: Db) -> SessionCode:
    """Create a code that is valid once, for a minute. It belongs after the # of the page's address, which servers
    never log.
    """
    await db.execute(keys.forget_codes())
    expires_at = datetime.now(UTC) + _CODE
    code, keep = keys.issue_code(caller.key_id, expires_at)
    await db.execute(keep)
    return SessionCode(code=code, path=f"/#code={code}", expires_at=expires_at)


async def _redeemed(db: AsyncConnection, authenticator: Authenticator, code: str, address: str | None) -> str:
    """Return the id of the key that the code was created with. Raises: NotAuthenticated, TooManyRequests."""
    authenticator.check_guesses(address)
    row = (await db.execute(keys.redeem(code))).mappings().one_or_none()
    if row is None or not row["good"]:
        authenticator.count_guess(address)
        raise NotAuthenticated("The code has been used or is older than a minute; `assay login` prints a new one.")
    return str(row["key_id"])


async def _key(db: AsyncConnection, id: str) -> RowMapping:
    """Return the row of a valid key. Raises: NotAuthenticated."""
    row: RowMapping | None = (await db.execute(keys.valid(id))).mappings().one_or_none()
    if row is None:
        raise NotAuthenticated("The API key is unknown, revoked or expired.")
    return row


def _described(row: RowMapping) -> dict[str, Any]:
    return _fields({**dict(row), "tenant": row["tenant_id"], "key_id": row["id"]})


def _fields(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in Session.model_fields}
