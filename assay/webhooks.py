"""Webhooks of Assay: check that a delivery is genuine, and read it.

Signatures are those of Standard Webhooks (https://www.standardwebhooks.com), computed by its library.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook, WebhookVerificationError


class InvalidSignature(Exception):
    """The delivery is not signed by the secret, is older than five minutes, or lacks a header: do not act on it."""


def verify(body: bytes | str, headers: Mapping[str, str], secret: str | Sequence[str]) -> dict[str, Any]:
    """Return the delivery if it is genuine: ``{"type", "timestamp", "data": {"id", "kind", "state", ...}}``.

    ``body`` is what was received, byte for byte; ``secret`` one or several (``whsec_...``), while they are rotated.
    Raises: InvalidSignature; ValueError for a secret that is not one.
    """
    reason = "no secret was given"
    for webhook in [_webhook(each) for each in ([secret] if isinstance(secret, str) else secret)]:
        try:
            delivery = webhook.verify(body, dict(headers))
        except (WebhookVerificationError, ValueError) as error:
            reason = str(error)
        else:
            return delivery if isinstance(delivery, dict) else {}
    raise InvalidSignature(reason)


def sign(secret: str, identity: str, timestamp: int, body: bytes) -> str:
    """Return the signature ``v1,...`` of a delivery. Raises: ValueError when the secret is not whsec_ and base64."""
    return str(_webhook(secret).sign(identity, datetime.fromtimestamp(timestamp, UTC), body.decode()))


def _webhook(secret: str) -> Webhook:
    """Return the secret's signer; the library itself also takes what is not base64."""
    try:
        return Webhook(base64.b64decode(secret.removeprefix("whsec_"), validate=True))
    except (ValueError, EmptyWebhookSecretError):  # binascii.Error is a ValueError
        raise ValueError("a webhook's secret is whsec_ and base64: `assay webhooks secrets` shows it") from None
