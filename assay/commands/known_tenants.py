"""Whether a tenant exists: a tenant is what API keys belong to, so a misspelled one would be accepted silently."""

from __future__ import annotations

from difflib import get_close_matches

from assay.calls import rest
from assay.commands.session import current

_MAX_NAMED = 6


def unknown_tenant(tenant: str) -> str | None:
    """Return that no API key belongs to the tenant, and which tenants there are; None when it has one."""
    client = current().client
    if client.fetch(rest.keys(limit=1, tenant=tenant))["items"]:
        return None
    names = sorted({str(key["tenant"]) for key in client.fetch(rest.keys(limit=200))["items"]})
    near = get_close_matches(tenant, names, 1)
    meant = f"did you mean {near[0]}?" if near else f"tenants with keys are {', '.join(names[:_MAX_NAMED])}"
    return f"no API key belongs to the tenant {tenant!r}: {meant}"


def warn_of_unknown(tenant: str) -> None:
    """Warn when a setting is of a tenant that has no key yet: it can be set before its first key is made."""
    if reason := unknown_tenant(tenant):
        current().warn(
            f"warning: {reason} (its first key: assay keys create --tenant {tenant} --name NAME --scope write)"
        )
