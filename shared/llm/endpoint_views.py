"""Endpoints as people see them: where they are, what was set and found, whether there is a key, and never the key."""

from __future__ import annotations

from shared.contracts import models as contract
from shared.llm.endpoint_address import shown
from shared.llm.endpoint_store import Kept
from shared.llm.vendors.table import VENDORS
from shared.llm.wires.endpoint import Endpoint


def named_view(endpoint: Endpoint, kept: Kept, *, of_file: bool) -> contract.Endpoint:
    given = kept.given
    return contract.Endpoint(
        name=endpoint.name,
        url=given.url or "",
        key_env=given.key_env,
        has_key=endpoint.api_key is not None,
        model=endpoint.model,
        concurrency=given.concurrency,
        window=given.window,
        first_token=given.first_token,
        idle=given.idle,
        total=given.total,
        source="file" if of_file else "api",
        facts=kept.facts,
        settings=given.model_dump(exclude_none=True),
    )


def vendor_view(endpoint: Endpoint, kept: Kept | None, facts: contract.EndpointFacts | None) -> contract.Endpoint:
    """Return the vendor with its effective limits; ``settings`` holds those set by API or file."""
    vendor, limits = VENDORS[endpoint.vendor or endpoint.name], endpoint.timeouts
    return contract.Endpoint(
        name=endpoint.name,
        url=vendor.address if endpoint.base_url is None else shown(endpoint.base_url),
        key_env=vendor.variables.api_key.name,
        has_key=endpoint.api_key is not None,
        model=endpoint.model or vendor.defaults.model,
        concurrency=endpoint.concurrency,
        window=endpoint.window,
        first_token=limits.first_token,
        idle=limits.idle,
        total=limits.total,
        source="built_in" if endpoint.base_url is None else "environment",
        facts=facts,
        settings=kept.given.model_dump(exclude_none=True) if kept else {},
    )
