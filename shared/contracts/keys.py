"""API keys: who calls, for which tenant, and what they may do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, Request, Time
from shared.faults import NAME

#: ``admin`` is the operator's, for all tenants; ``tenant_admin`` manages its own tenant's keys.
Scope = TypeAliasType(
    "Scope",
    Annotated[
        Literal["read", "write", "admin", "tenant_admin"],
        Field(description="What a key may do; `admin` holds for all tenants, `tenant_admin` for its own tenant's keys"),
    ],
)


def _text(value: object) -> object:
    """Require a time as text, because a number could be seconds or milliseconds. Raises: ValueError."""
    if isinstance(value, (str, datetime)):
        return value
    raise ValueError("give a time as text, like 2030-01-31T12:00:00Z")


def _to_come(value: datetime) -> datetime:
    if value <= datetime.now(UTC):
        raise ValueError("that time has passed already")
    return value


class KeyInput(Request):
    """An API key to create."""

    tenant: Annotated[str, Field(pattern=NAME)]
    """Tenant that the key belongs to"""
    name: Annotated[str, Field(min_length=1, max_length=100)]
    """Display name of the key"""
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=4)]
    """What the key may do"""
    expires_at: Annotated[Time, BeforeValidator(_text), AfterValidator(_to_come)] | None = None
    """Time at which the key expires; null uses the installation's default"""


class RotationInput(Request):
    """How to replace a key."""

    overlap_seconds: Annotated[int, Field(ge=0, le=30 * 86_400)] = 86_400
    """Seconds for which the old key stays valid"""


class KeyInfo(Answer):
    """An API key without its secret."""

    id: str
    """Key id, which is not secret"""
    tenant: str
    """Tenant that the key belongs to"""
    name: str
    """Display name of the key"""
    scopes: list[Scope]
    """What the key may do"""
    created_at: Time
    """Time at which the key was created"""
    expires_at: Time | None = None
    """Time at which the key expires; null if it does not expire"""
    revoked_at: Time | None = None
    """Time at which the key was revoked; null if it was not"""
    parent_id: str | None = None
    """Of a session: id of the key that it was created with and ends with; null for other keys"""
    last_used_at: Time | None = None
    """Time of the latest use, accurate to a minute; null if it was not used"""


class NewKey(KeyInfo):
    """A new API key; no other answer contains its secret."""

    key: str
    """The API key itself, shown only once"""


class Session(Answer):
    """The caller: the request's key and what it may do."""

    tenant: str
    """Tenant of the caller"""
    key_id: str
    """Id of the request's API key"""
    name: str
    """Display name of the key"""
    scopes: list[Scope]
    """What the key may do"""
    expires_at: Time | None = None
    """Time at which the key expires; null if it does not expire"""
    parent_id: str | None = None
    """Of a session: id of the key that it was created with; null for other keys"""


class SessionInput(Request):
    """How to sign in: with a one-time code, or without one with the request's API key."""

    code: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """One-time sign-in code; null signs in with the request's API key"""


class NewSession(Session):
    """A new session; no other answer contains its key."""

    key: str
    """Session key, valid for 12 hours, shown only once"""


class SessionCode(Answer):
    """A one-time sign-in code."""

    code: str
    """One-time sign-in code"""
    path: str
    """URL path of the page that redeems the code"""
    expires_at: Time
    """Time at which the code expires, one minute after its creation"""
