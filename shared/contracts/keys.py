"""API keys: who calls, for which tenant, and what they may do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from shared.contracts.common import Answer, Request, Time

Scope = Literal["read", "write", "admin"]


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
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3)]
    expires_at: Annotated[Time, BeforeValidator(_text), AfterValidator(_to_come)] | None = None


class KeyInfo(Answer):
    id: str
    tenant: str
    name: str
    scopes: list[Scope]
    created_at: Time
    expires_at: Time | None = None
    revoked_at: Time | None = None


class NewKey(KeyInfo):
    """The only answer that ever holds the key itself."""

    key: str
