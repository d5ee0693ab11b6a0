"""Webhooks: the secrets that they are signed with, and the log of their deliveries."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Literal

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


class Delivery(Answer):
    """One attempt to deliver a job's webhook."""

    id: Annotated[str, Field(description="Names the attempt, for a redelivery", examples=["0197a1c2"])]
    attempt: Annotated[int, Field(description="Counts from 1 and goes on with redeliveries", examples=[1])]
    outcome: Annotated[
        Literal["delivered", "failed", "gone", "refused", "unreachable"],
        Field(
            description="`delivered`: a 2xx answer. `failed`: another status, `unreachable`: no answer; both are tried "
            "again. `gone`: 410, and `refused`: an address that may not be called; both end it",
            examples=["delivered"],
        ),
    ]
    http_status: Annotated[int | None, Field(description="Of the receiver's answer", examples=[200])] = None
    detail: Annotated[str | None, Field(description="Why it was not delivered", examples=["no answer in time"])] = None
    seconds: Annotated[float, Field(description="From the look-up of the name to the answer", examples=[0.21])]
    at: Annotated[Time, Field(description="When the attempt ended")]


class Deliveries(Answer):
    """Where a job's webhook goes, what came of it so far, and when it is tried again."""

    url: Annotated[str | None, Field(description="Null: the job has no webhook", examples=["https://example.com/hook"])]
    pending: Annotated[bool, Field(description="Whether another attempt follows", examples=[False])]
    next_at: Annotated[Time | None, Field(description="When; null before the job has ended, and after the last")]
    items: Annotated[list[Delivery], Field(description="The latest attempt first")]


class FinishedJob(Answer):
    """What a webhook says of a job: what ended, not what came of it."""

    id: Annotated[str, Field(description="The id of the job")]
    kind: Annotated[str, Field(description="The kind of the job", examples=["execute"])]
    state: Annotated[
        Literal["succeeded", "failed", "cancelled", "dead"],
        Field(description="How it ended; `dead`: it crashed its workers"),
    ]
    labels: Annotated[dict[str, str], Field(description="Those of the submit", examples=[{"run": "42"}])]
    links: Annotated[dict[str, str], Field(description="`self`: where the job is read, with an API key")]


class JobFinished(Answer):
    """The body of a webhook; its headers are those of Standard Webhooks."""

    type: Annotated[Literal["job.finished"], Field(description="The only type there is")]
    timestamp: Annotated[Time, Field(description="When the job ended")]
    data: Annotated[FinishedJob, Field(description="The job")]
