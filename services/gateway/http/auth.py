"""Authentication: the API key decides the tenant and what may be done."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, cast

from fastapi import Depends, Request

from services.gateway.database import Database
from shared import keys
from shared.contracts.keys import Scope
from shared.errors import MissingScope, NotAuthenticated

#: How long a key that another gateway revoked may still be accepted.
_CACHE_SECONDS = 1.0
_CACHE_SIZE = 10_000


@dataclass(frozen=True)
class Caller:
    tenant: str
    key_id: str
    scopes: frozenset[str]


class Authenticator:
    """Finds the caller of an API key, and caches it for a second."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cache: dict[bytes, tuple[Caller, float]] = {}

    async def admit(self, authorization: str | None, scope: Scope) -> Caller:
        """The caller behind an ``Authorization`` header. Raises: NotAuthenticated, MissingScope."""
        caller = await self._caller(_key(authorization))
        if scope not in caller.scopes:
            raise MissingScope(f"This needs a key with the scope {scope}.")
        return caller

    def forget(self, key_id: str) -> None:
        """Ask Postgres about this key again: it was revoked."""
        for digest in [digest for digest, (caller, _) in self._cache.items() if caller.key_id == key_id]:
            del self._cache[digest]

    async def _caller(self, key: str) -> Caller:
        id = keys.key_id(key)
        if id is None:
            raise NotAuthenticated("That is no API key; keys begin with ask_.")
        digest = keys.digest(key)
        now = time.monotonic()
        cached = self._cache.get(digest)
        if cached is not None and now < cached[1]:
            return cached[0]
        async with self._database.read() as connection:
            row = (await connection.execute(keys.valid(id))).mappings().one_or_none()
        if row is None or not keys.matches(key, row["hash"]):
            self._cache.pop(digest, None)
            raise NotAuthenticated("The API key is unknown, revoked or expired.")
        caller = Caller(row["tenant_id"], id, frozenset(row["scopes"]))
        if len(self._cache) >= _CACHE_SIZE:
            self._cache.clear()
        self._cache[digest] = (caller, now + _cache_seconds(row["expires_at"]))
        return caller


def _cache_seconds(expires_at: datetime | None) -> float:
    """Seconds: never longer than the key is valid."""
    left = (expires_at - datetime.now(UTC)).total_seconds() if expires_at is not None else _CACHE_SECONDS
    return min(_CACHE_SECONDS, left)


def _key(authorization: str | None) -> str:
    scheme, _, key = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise NotAuthenticated("Send the API key: Authorization: Bearer KEY.")
    return key.strip()


async def _caller(request: Request) -> Caller:
    return cast(Caller, request.state.caller)


#: The caller of the request; the route has checked the scope already.
CurrentCaller = Annotated[Caller, Depends(_caller)]
