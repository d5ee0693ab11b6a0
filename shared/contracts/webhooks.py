"""Webhooks: the secrets that they are signed with, and the log of their deliveries."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, Request, Time
from shared.faults import form


def _key(value: str) -> str:
    """Validate a secret. Raises: ValueError unless it is the base64 of 24 to 64 bytes (Standard Webhooks)."""
    try:
        key = base64.b64decode(value.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not 24 <= len(key) <= 64:
        raise ValueError("give whsec_ and the base64 of 24 to 64 random bytes")
    return value


DeliveryOutcome = TypeAliasType(
    "DeliveryOutcome",
    Annotated[
        Literal["delivered", "failed", "gone", "refused", "unreachable"],
        Field(description="Outcome of a delivery attempt"),
    ],
)
FinishedState = TypeAliasType(
    "FinishedState",
    Annotated[Literal["succeeded", "failed", "cancelled", "dead"], Field(description="State of a job that has ended")],
)


_SECRET = form("^whsec_", "must be whsec_ and the base64 of 24 to 64 random bytes")


class WebhookSecretInput(Request):
    """A signing secret to add."""

    secret: Annotated[str, Field(max_length=120, pattern=_SECRET), AfterValidator(_key)] | None = None
    """`whsec_` and the base64 of 24 to 64 random bytes; null generates one"""


class WebhookSecret(Answer):
    """A secret that webhooks are signed with."""

    id: str
    """Secret id"""
    secret: str
    """The secret: `whsec_` and base64"""
    created_at: Time
    """Time at which the secret was added"""


class Delivery(Answer):
    """One attempt to deliver a job's webhook."""

    id: Annotated[str, Field(examples=["0197a1c2"])]
    """Id of the attempt, for a redelivery"""
    attempt: Annotated[int, Field(examples=[1])]
    """Number of the attempt, from 1; redeliveries continue it"""
    outcome: Annotated[
        DeliveryOutcome,
        Field(examples=["delivered"]),
    ]
    """`delivered`: a 2xx response. `failed` (another status) and `unreachable` (no response) are retried. `gone` (410)
    and `refused` (a forbidden address) are not"""
    http_status: Annotated[int | None, Field(examples=[200])] = None
    """HTTP status of the receiver's response; null without a response"""
    detail: Annotated[str | None, Field(examples=["no answer in time"])] = None
    """Why it was not delivered; null if it was"""
    seconds: Annotated[float, Field(examples=[0.21])]
    """Seconds from the name lookup to the response"""
    at: Time
    """Time at which the attempt ended"""


class Deliveries(Answer):
    """Webhook of a job and the attempts to deliver it."""

    url: Annotated[str | None, Field(examples=["https://example.com/hook"])]
    """URL of the webhook; null if the job has none"""
    pending: Annotated[bool, Field(examples=[False])]
    """Whether another attempt follows"""
    next_at: Time | None
    """Time of the next attempt; null before the job has ended, and after the last attempt"""
    items: list[Delivery]
    """Attempts, latest first"""


class FinishedJob(Answer):
    """The job that ended, without its result."""

    id: str
    """Job id"""
    kind: Annotated[str, Field(examples=["execute"])]
    """Job kind"""
    state: FinishedState
    """How the job ended; `dead`: it crashed its workers"""
    labels: Annotated[dict[str, str], Field(examples=[{"run": "42"}])]
    """Names and values that the client set"""
    links: dict[str, str]
    """URL paths, by name; `self` is the job, to be read with an API key"""


class JobFinished(Answer):
    """The body of a webhook; its headers are those of Standard Webhooks."""

    type: Literal["job.finished"]
    """Type of the notification"""
    timestamp: Time
    """Time at which the job ended"""
    data: FinishedJob
    """The job"""
