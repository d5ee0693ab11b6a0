"""API keys: who calls, for which tenant, and what they may do."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from shared.contracts.common import Answer, Request, Time

Scope = Literal["read", "write", "admin"]


class KeyInput(Request):
    tenant: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
    name: Annotated[str, Field(min_length=1, max_length=100)]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3)]
    expires_at: Time | None = None


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
