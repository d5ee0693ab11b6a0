"""Entries of the audit log: changes, written in their transaction, and reads of all tenants, written before them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Set

import orjson
from fastapi import Request, Response
from pydantic import JsonValue
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import Database
from services.gateway.http import large_bodies
from services.gateway.http.auth import Caller
from services.gateway.http.bodies import JsonRequest
from shared import audit

CROSS_TENANT_READ = "tenants.read"
#: A console that polls adds one entry in this time, for each key and operation.
_READ_SECONDS = 3600.0
_MAX_READS = 10_000
#: A longer value (the text of a prompt) is told by its hash.
_LONGEST_VALUE = 300


class CrossTenantReads:
    """Record which keys read rows of all tenants, once an hour for each key and operation."""

    def __init__(self) -> None:
        self._recorded: dict[tuple[str, str], float] = {}

    async def record(self, database: Database, caller: Caller, request: Request) -> None:
        """Add the entry before the rows are read. Raises: DatabaseUnavailable; then they are not read."""
        read, now = (caller.key_id, request.url.path), time.monotonic()
        if now - self._recorded.get(read, -_READ_SECONDS) < _READ_SECONDS:
            return
        detail = {name: _brief(value) for name, value in request.query_params.items()}
        entry = audit.add(
            caller.tenant,
            caller.key_id,
            CROSS_TENANT_READ,
            request.url.path.removeprefix("/v1/"),
            detail,
            _address(request),
            request.state.request_id,
        )
        async with database.write(caller.tenant) as connection:
            await connection.execute(audit.lock())
            await connection.execute(entry)
        if len(self._recorded) >= _MAX_READS:
            self._recorded.clear()
        self._recorded[read] = now


def _address(request: Request) -> str | None:
    return request.client.host if request.client else request.headers.get(large_bodies.ADDRESS_HEADER)


async def record_change(
    connection: AsyncConnection, action: str, caller: Caller, request: Request, response: Response, secret: Set[str]
) -> None:
    """Record what the request has changed; of the fields ``secret`` only that they were given."""
    content = request.content if isinstance(request, JsonRequest) else None
    given = content if isinstance(content, dict) else {}
    detail = {name: "***" if name in secret else _brief(value) for name, value in given.items()}
    await record(connection, action, caller, request, _object(request, response), detail)


async def record(
    connection: AsyncConnection,
    action: str,
    caller: Caller,
    request: Request,
    object: str | None,
    detail: Mapping[str, JsonValue],
) -> None:
    """Add an entry; ``object`` is the id of what was changed."""
    entry = audit.add(
        caller.tenant,
        caller.key_id,
        action,
        object,
        dict(detail),
        _address(request),
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
