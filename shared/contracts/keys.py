"""API keys: who calls, for which tenant, and what they may do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from shared.contracts.common import Answer, Request, Time

#: ``admin`` is the operator's, for all tenants; ``tenant_admin`` looks after the keys of its own tenant.
Scope = Literal["read", "write", "admin", "tenant_admin"]


def _text(value: object) -> object:
    """A number could be seconds as well as milliseconds. Raises: ValueError."""
    if isinstance(value, (str, datetime)):
        return value
    raise ValueError("give a time as text, like 2030-01-31T12:00:00Z")


def _to_come(value: datetime) -> datetime:
    if value <= datetime.now(UTC):
        raise ValueError("that time has passed already")
    return value


class KeyInput(Request):
    tenant: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
    name: Annotated[str, Field(min_length=1, max_length=100)]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=4)]
    expires_at: Annotated[Time, BeforeValidator(_text), AfterValidator(_to_come)] | None = None


class RotationInput(Request):
    #: how long the old key is still good
    overlap_seconds: Annotated[int, Field(ge=0, le=30 * 86_400)] = 86_400


class KeyInfo(Answer):
    id: str
    tenant: str
    name: str
    scopes: list[Scope]
    created_at: Time
    expires_at: Time | None = None
    revoked_at: Time | None = None
    parent_id: str | None = None  #: of a session: the key that it was made with, and ends with
    last_used_at: Time | None = None  #: within a minute


class NewKey(KeyInfo):
    """The only answer that ever holds the key itself."""

    key: str


class Session(Answer):
    """Who calls: what the key of the request is and may do."""

    tenant: str
    key_id: str
    name: str
    scopes: list[Scope]
    expires_at: Time | None = None
    parent_id: str | None = None


class SessionInput(Request):
    """A one-time code; without one the request's own API key is what the session is made with."""

    code: Annotated[str, Field(min_length=1, max_length=100)] | None = None


class NewSession(Session):
    """The only answer that ever holds the session's key."""

    key: str


class SessionCode(Answer):
    """A code that signs in once; ``path`` is the page of this server that takes it."""

    code: str
    path: str
    expires_at: Time
