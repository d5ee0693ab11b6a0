"""Quotas of a tenant: what it may have, and what it has."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shared.contracts.common import Answer, Request

_Most = Annotated[int, Field(ge=0, le=2**53)] | None


class LimitsInput(Request):
    """Quotas that an administrator sets for a tenant; null is the installation's default."""

    queued_jobs: _Most = None
    """Maximum number of queued jobs"""
    running_jobs: _Most = None
    """Maximum number of jobs of one kind that run at once; 0 disables the limit"""
    storage_bytes: _Most = None
    """Maximum size of all files in bytes"""
    streams: _Most = None
    """Maximum number of event streams that one key may have open at one gateway"""
    tokens_per_day: _Most = None
    """Maximum model tokens a day, from midnight UTC; 0 disables the limit"""
    requests_per_minute: _Most = None
    """Maximum number of requests a minute; 0 disables the limit"""
    weight: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Share of the workers relative to other tenants"""


class Quota(Answer):
    """A limit and its use."""

    limit: int | None
    """Maximum; null if there is no limit"""
    used: int | None
    """Current use; null if it is not counted here"""
    own: int | None = None
    """What an administrator set for this tenant, as `PUT` takes it; null if the installation's default applies"""
    default: int | None = None
    """The installation's default; null if there is no limit"""


class TenantLimits(Answer):
    """Quotas of a tenant and their use."""

    tenant: str
    """Tenant name"""
    quotas: dict[str, Quota]
    """Quotas, by name"""
    weight: int = 1
    """Number of the tenant's jobs started for each job of a tenant with weight 1, while both have queued jobs"""
    warnings: list[str] = []
    """Warnings, such as that no API key belongs to a tenant of this name"""
