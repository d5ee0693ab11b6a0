"""Entries of the audit log: changes, written in their transaction, and reads of all tenants, written before them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Set

import orjson
from fastapi import Request, Response
from pydantic import JsonValue
from sqlalchemy import Executable
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
#: A longer value (the text of a prompt) is logged by its hash.
_LONGEST_VALUE = 300


def entry(
    action: str, caller: Caller, request: Request, object: str | None, detail: Mapping[str, JsonValue]
) -> list[Executable]:
    """Return the statements that add an entry; ``object`` is the id of what was changed."""
    added = audit.add(
        caller.tenant,
        caller.key_id,
        action,
        object,
        dict(detail),
        request.client.host if request.client else request.headers.get(large_bodies.ADDRESS_HEADER),
        request.state.request_id,
    )
    return [audit.lock(), added]


def given(request: Request, secret: Set[str] = frozenset()) -> dict[str, JsonValue]:
    """Return the request's body as the detail of an entry; of the fields ``secret`` only that they were given."""
    content = request.content if isinstance(request, JsonRequest) else None
    fields = content if isinstance(content, dict) else {}
    return {name: "***" if name in secret else _brief(value) for name, value in fields.items()}


def named_in(request: Request) -> str | None:
    """Return what the path of the request names."""
    return "/".join(str(value) for value in request.path_params.values()) or None


async def record_change(
    connection: AsyncConnection, action: str, caller: Caller, request: Request, response: Response, secret: Set[str]
) -> None:
    """Record what the request has changed."""
    object = named_in(request) or _made(response)
    await record(connection, action, caller, request, object, given(request, secret))


async def record(
    connection: AsyncConnection,
    action: str,
    caller: Caller,
    request: Request,
    object: str | None,
    detail: Mapping[str, JsonValue],
) -> None:
    for statement in entry(action, caller, request, object, detail):
        await connection.execute(statement)


def _made(response: Response) -> str | None:
    """Return the id of what was made."""
    made = orjson.loads(response.body) if response.body else None
    return str(made["id"]) if isinstance(made, Mapping) and "id" in made else None


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
        async with database.write(caller.tenant) as connection:
            await record(connection, CROSS_TENANT_READ, caller, request, request.url.path.removeprefix("/v1/"), detail)
        if len(self._recorded) >= _MAX_READS:
            self._recorded.clear()
        self._recorded[read] = now


def _brief(value: JsonValue) -> JsonValue:
    written = orjson.dumps(value)
    if len(written) <= _LONGEST_VALUE:
        return value
    return {"sha256": hashlib.sha256(written).hexdigest(), "bytes": len(written)}
