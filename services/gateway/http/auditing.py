"""Entries of the audit log: written in the transaction of the change that they tell of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import orjson
from fastapi import Request, Response
from pydantic import JsonValue
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.http import large_bodies
from services.gateway.http.auth import Caller
from services.gateway.http.bodies import JsonRequest
from shared import audit

#: A longer value (the text of a prompt) is told by its hash.
_LONGEST_VALUE = 300


async def record(
    connection: AsyncConnection, action: str, caller: Caller, request: Request, response: Response
) -> None:
    """Tell what the request has changed."""
    content = request.content if isinstance(request, JsonRequest) else None
    given = content if isinstance(content, dict) else {}
    entry = audit.add(
        caller.tenant,
        caller.key_id,
        action,
        _object(request, response),
        {name: _brief(value) for name, value in given.items()},
        request.client.host if request.client else request.headers.get(large_bodies.ADDRESS_HEADER),
        request.state.request_id,
    )
    await connection.execute(audit.lock())
    await connection.execute(entry)


def _object(request: Request, response: Response) -> str | None:
    """What the path names, else the id of what was made."""
    if request.path_params:
        return "/".join(str(value) for value in request.path_params.values())
    made = orjson.loads(response.body) if response.body else None
    return str(made["id"]) if isinstance(made, Mapping) and "id" in made else None


def _brief(value: JsonValue) -> JsonValue:
    written = orjson.dumps(value)
    if len(written) <= _LONGEST_VALUE:
        return value
    return {"sha256": hashlib.sha256(written).hexdigest(), "bytes": len(written)}
