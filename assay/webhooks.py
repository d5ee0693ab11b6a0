"""Webhooks of Assay: check that a delivery is genuine, and read it.

The signatures are those of Standard Webhooks (https://www.standardwebhooks.com, specification of 2023): HMAC-SHA256
over ``id.timestamp.body`` with the bytes that the secret's base64 stands for.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

TOLERANCE_SECONDS = 300.0


class InvalidSignature(Exception):
    """The delivery is not signed by the secret, is too old, or lacks a header: do not act on it."""


def verify(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> dict[str, Any]:
    """The delivery, when it is genuine: ``{"type", "timestamp", "data": {"id", "kind", "state", "labels", "links"}}``.

    ``body`` is what was received, byte for byte; ``secret`` one or several (``whsec_...``), while they are rotated;
    ``now`` is the time in seconds since 1970. Raises: InvalidSignature; ValueError for a secret that is none.
    """
    content = body.encode() if isinstance(body, str) else body
    named = {name.lower(): value for name, value in headers.items()}
    try:
        identity, stamp, given = (named[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        sent = float(int(stamp))
    except (KeyError, ValueError):
        raise InvalidSignature("a webhook-id, webhook-timestamp or webhook-signature is missing") from None
    if abs((time.time() if now is None else now) - sent) > tolerance_seconds:
        raise InvalidSignature("the delivery is too old, or from the future: look at this machine's clock")
    secrets = [secret] if isinstance(secret, str) else secret
    expected = [sign(each, identity, int(stamp), content) for each in secrets]
    if not any(hmac.compare_digest(ours, theirs) for ours in expected for theirs in given.split(" ")):
        raise InvalidSignature("no signature fits the secret")
    value = json.loads(content)
    return value if isinstance(value, dict) else {}


def sign(secret: str, identity: str, timestamp: int, body: bytes) -> str:
    """The signature ``v1,...`` of a delivery. Raises: ValueError when the secret is not whsec_ and base64."""
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise ValueError("a webhook's secret is whsec_ and base64: `assay webhooks secrets` shows it") from None
    digest = hmac.new(key, f"{identity}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"
