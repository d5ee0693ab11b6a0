"""Quotas of a tenant: what it may have, and what it has."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shared.contracts.common import Answer, Request

_Most = Annotated[int, Field(ge=0, le=2**53)] | None


class LimitsInput(Request):
    """What an administrator sets for a tenant; what is left out, or null, is the installation's default."""

    queued_jobs: _Most = None
    running_jobs: _Most = None  #: of one kind; 0 is no limit
    storage_bytes: _Most = None
    streams: _Most = None  #: event streams of one key at one gateway
    tokens_per_day: _Most = None  #: of models, from midnight UTC; 0 is no limit
    requests_per_minute: _Most = None  #: 0 is no limit
    weight: Annotated[int, Field(ge=1, le=1000)] | None = None  #: of the tenant's turns beside those of others


class Quota(Answer):
    limit: int | None  #: null: there is none
    used: int | None  #: null: it is counted elsewhere, or over another time


class TenantLimits(Answer):
    tenant: str
    quotas: dict[str, Quota]
    weight: int = 1  #: how many of its jobs are begun for one of a tenant of weight 1, while both have some queued
