"""Idempotency keys: the answer to a POST is kept in the transaction that did the work, and given again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from fastapi import Response
from pydantic import JsonValue
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.errors import IdempotencyKeyReused, InvalidRequest, RequestInFlight
from shared.jobs.record import submission

_KEPT_HEADERS = ("location", "retry-after", "etag", "content-type")


@dataclass(frozen=True)
class KeyedRequest:
    """A request that carries an idempotency key."""

    tenant: str
    key: str
    fingerprint: bytes

    async def begin(self, connection: AsyncConnection) -> Response | None:
        """Return the stored response of an earlier attempt, or None for the first one.

        Raises: IdempotencyKeyReused, RequestInFlight.
        """
        row = (await connection.execute(submission.hold_key(self.tenant, self.key))).mappings().one()
        if row["status"] is not None:
            if bytes(row["fingerprint"]) != self.fingerprint:
                message = "it was used for another request; use a new one"
                raise IdempotencyKeyReused(f"Idempotency-Key: {message}.", errors=_at_header(message))
            return Response(row["body"], row["status"], {**row["headers"], "Idempotency-Replayed": "true"})
        if not row["locked"]:
            raise _in_flight()
        return None

    async def keep(self, connection: AsyncConnection, response: Response, secret: tuple[str, ...] = ()) -> None:
        """Keep the answer, without its secret fields. Raises: RequestInFlight when another attempt was faster."""
        headers = {name: value for name, value in response.headers.items() if name in _KEPT_HEADERS}
        body = _without(bytes(response.body), secret)
        statement = submission.keep_response(
            self.tenant, self.key, self.fingerprint, response.status_code, headers, body
        )
        if (await connection.execute(statement)).rowcount != 1:
            raise _in_flight()


def read_key(header: str) -> str:
    """Return the key. Raises: InvalidRequest unless it is 1 to 255 visible ASCII characters."""
    key = header.strip()
    if not 1 <= len(key) <= 255 or not key.isascii() or not key.isprintable():
        message = "give 1 to 255 visible ASCII characters"
        raise InvalidRequest(f"Idempotency-Key: {message}", [(["header", "Idempotency-Key"], message)])
    return key


def fingerprint(method: str, target: str, content: object) -> bytes:
    """Return the identity of a request: method, path with query, and the body regardless of its fields' order."""
    payload = content if isinstance(content, bytes) else orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(b"\n".join([method.encode(), target.encode(), payload])).digest()


def _at_header(message: str) -> JsonValue:
    return [{"loc": ["header", "Idempotency-Key"], "msg": message}]


def _in_flight() -> RequestInFlight:
    return RequestInFlight("The first request with this Idempotency-Key has not been answered yet; try again shortly.")


def _without(body: bytes, secret: tuple[str, ...]) -> bytes:
    if not secret:
        return body
    content: Mapping[str, Any] = orjson.loads(body)
    return orjson.dumps({name: value for name, value in content.items() if name not in secret})
