"""Authentication: the API key decides the tenant and what may be done."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, cast

from fastapi import Depends, Request
from sqlalchemy import text

from services.gateway.database import Database
from shared import keys
from shared.contracts.keys import Scope
from shared.errors import AssayError, DatabaseUnavailable, MissingScope, NotAuthenticated, TooManyRequests

#: How long a key that another gateway revoked may still be accepted.
_CACHE_SECONDS = 1.0
_CACHE_SIZE = 10_000
_LOOKUP_SECONDS = 0.2
_LOOKUP_PATIENCE = 1.0  #: seconds, with those that all wait
_MAX_LOOKED_UP = 500  #: ids that one query looks up
_NOTE_SOON = text("SET LOCAL lock_timeout = '50ms'")  #: do not wait for a transaction that changes the key


@dataclass(frozen=True)
class Caller:
    tenant: str
    key_id: str
    scopes: frozenset[str]

    def has(self, scope: Scope) -> bool:
        """Scopes do not include each other, but the operator may what the administrator of a tenant may."""
        return scope in self.scopes or (scope == "tenant_admin" and "admin" in self.scopes)

    def administered(self, tenant: str | None) -> str | None:
        """Return the tenant whose keys the caller may see and change; None for those of all. Raises: MissingScope."""
        if "admin" in self.scopes:
            return tenant
        if tenant not in (None, self.tenant):
            raise MissingScope("Other tenants are looked after with the scope admin.")
        return self.tenant


class Guesses:
    """Counts unknown keys by their source address: one with too many is answered without a query."""

    def __init__(self, most_per_minute: int) -> None:
        self._most = most_per_minute
        self._counts: dict[str, tuple[int, float]] = {}  #: the count, and when it expires

    def check(self, address: str | None) -> None:
        """Raise TooManyRequests for an address with too many unknown keys."""
        count, until = self._counts.get(_network(address), (0, 0.0))
        left = until - time.monotonic()
        if count >= self._most and left > 0:
            detail = "Too many unknown API keys or codes came from this address. Try again later."
            raise TooManyRequests(detail, retry_after=round(left) + 1)

    def count(self, address: str | None) -> None:
        now, network = time.monotonic(), _network(address)
        count, until = self._counts.get(network, (0, 0.0))
        if len(self._counts) >= _CACHE_SIZE:
            self._counts.clear()
        self._counts[network] = (count + 1, until) if now < until else (1, now + 60)


def _network(address: str | None) -> str:
    """Return the address; for IPv6 the /64, which is what one customer has."""
    try:
        parsed = ipaddress.ip_address(address or "")
    except ValueError:
        return address or ""
    return str(parsed if parsed.version == 4 else ipaddress.ip_network((parsed, 64), strict=False))


class Authenticator:
    """Finds the caller of an API key, and caches it for a second."""

    def __init__(self, database: Database, guesses: Guesses) -> None:
        self._database = database
        self._guesses = guesses
        self._cache: dict[bytes, tuple[Caller, float]] = {}
        self._looked_up: set[str] = set()
        self._lookup: asyncio.Task[set[str]] | None = None
        self._once_valid: dict[bytes, str] = {}  #: tenants of once valid keys, which are not guesses

    async def admit(self, authorization: str | None, scope: Scope, address: str | None = None) -> Caller:
        """Return the caller behind an ``Authorization`` header. Raises: NotAuthenticated, MissingScope,
        TooManyRequests.
        """
        caller = await self._caller(_key(authorization), address)
        if not caller.has(scope):
            raise MissingScope(f"This needs a key with the scope {scope}.")
        return caller

    def check_guesses(self, address: str | None) -> None:
        """Check the address before a secret other than a key is compared. Raises: TooManyRequests."""
        self._guesses.check(address)

    def count_guess(self, address: str | None) -> None:
        """Count a wrong guess from the address."""
        self._guesses.count(address)

    def last_known(self, authorization: str) -> str | None:
        """Return the tenant of a header that was admitted before, whether or not its key is still valid."""
        return self._once_valid.get(keys.digest(authorization.partition(" ")[2].strip()))

    def forget(self, key_id: str) -> None:
        """Drop a revoked key from the cache."""
        self._drop(lambda caller: caller.key_id == key_id)

    def forget_tenant(self, tenant: str) -> None:
        """Drop all keys of a tenant from the cache."""
        self._drop(lambda caller: caller.tenant == tenant)

    def _drop(self, is_revoked: Callable[[Caller], bool]) -> None:
        for digest in [digest for digest, (caller, _) in self._cache.items() if is_revoked(caller)]:
            del self._cache[digest]

    async def _caller(self, key: str, address: str | None) -> Caller:
        id = keys.key_id(key)
        if id is None:
            raise NotAuthenticated("That is not an API key; keys begin with ask_.")
        digest = keys.digest(key)
        now = time.monotonic()
        cached = self._cache.get(digest)
        if cached is not None and now < cached[1]:
            return cached[0]
        if digest not in self._once_valid:
            await self._check_guesses(id, address)
        async with self._database.read() as connection:
            row = (await connection.execute(keys.valid(id))).mappings().one_or_none()
        if row is None or not keys.matches(key, row["hash"]):
            self._cache.pop(digest, None)
            if digest not in self._once_valid:
                self._guesses.count(address)
                self._guesses.count(_of_key(id, address))
            raise NotAuthenticated("The API key is unknown, revoked or expired.")
        caller = Caller(row["tenant_id"], id, frozenset(row["scopes"]))
        if len(self._cache) >= _CACHE_SIZE:
            self._cache.clear()
            self._once_valid.clear()
        self._once_valid[digest] = caller.tenant
        self._cache[digest] = (caller, now + _cache_seconds(row["expires_at"]))
        await self._note_use(caller, row["last_used_at"])
        return caller

    async def _check_guesses(self, id: str, address: str | None) -> None:
        """Let no guess of an address with too many cost a query, nor keep a valid key of the same address out.

        Raises: TooManyRequests.
        """
        try:
            self._guesses.check(address)
        except TooManyRequests:
            self._guesses.check(_of_key(id, address))
            if not await self._exists(id):
                raise

    async def _exists(self, id: str) -> bool:
        """Return whether a valid key has the id; all that are looked up within a moment share one query."""
        if len(self._looked_up) >= _MAX_LOOKED_UP:
            return False
        self._looked_up.add(id)
        if self._lookup is None:
            self._lookup = asyncio.create_task(self._look_up())
        try:
            async with asyncio.timeout(_LOOKUP_PATIENCE):
                return id in await asyncio.shield(self._lookup)
        except (TimeoutError, DatabaseUnavailable):
            return False

    async def _look_up(self) -> set[str]:
        await asyncio.sleep(_LOOKUP_SECONDS)
        ids, self._looked_up, self._lookup = list(self._looked_up), set(), None
        async with self._database.read() as connection:
            return set((await connection.execute(keys.still_valid(ids))).scalars())

    async def _note_use(self, caller: Caller, noted_at: datetime | None) -> None:
        """Store the time of use, at most once a minute; a failure does not fail the request."""
        if noted_at is not None and datetime.now(UTC) - noted_at < keys.USE_NOTED:
            return
        with suppress(AssayError):
            async with self._database.write(caller.tenant) as connection:
                await connection.execute(_NOTE_SOON)
                await connection.execute(keys.used(caller.key_id, caller.tenant))


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


def _of_key(id: str, address: str | None) -> str:
    """Return the name under which guesses of one key's secret from one address are counted."""
    return f"{_network(address)} {id}"


#: The caller of the request; the route has checked the scope already.
CurrentCaller = Annotated[Caller, Depends(_caller)]
