"""The secrets that a tenant's webhooks are signed with."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

from pydantic import AfterValidator, Field

from shared.contracts.common import Answer, Request, Time


def _key(value: str) -> str:
    """Raises: ValueError when it is not the base64 of 24 to 64 bytes (Standard Webhooks)."""
    try:
        key = base64.b64decode(value.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not 24 <= len(key) <= 64:
        raise ValueError("give whsec_ and the base64 of 24 to 64 random bytes")
    return value


class WebhookSecretInput(Request):
    secret: Annotated[str, Field(max_length=120, pattern="^whsec_"), AfterValidator(_key)] | None = None


class WebhookSecret(Answer):
    id: str
    secret: str
    created_at: Time
