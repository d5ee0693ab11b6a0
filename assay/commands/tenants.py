"""`assay tenants`: which models a tenant may use, and the end of a tenant."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import App, Parameter

from assay.calls import rest
from assay.commands import show
from assay.commands.session import NOT_FOUND, UsageError, answer, confirmed, current

app = App(name="tenants", help="Tenants: which models they may use, and their end (needs the scope admin).")
_Tenant = Annotated[str, Parameter(help="Tenant id")]


@app.command
def models(tenant: _Tenant) -> None:
    """Show which models a tenant may use."""
    answer(rest.tenant_models(tenant), _models)


@app.command(name="set-models")
def set_models(
    tenant: _Tenant,
    *model: Annotated[str, Parameter(help="Pattern of PROVIDER/MODEL, such as groq/*")],
    none: Annotated[bool, Parameter(help="The tenant may use no model", negative="")] = False,
) -> None:
    """Choose the models that a tenant may use."""
    if none == bool(model):
        raise UsageError("Name patterns of models, or --none.")
    answer(rest.set_tenant_models(tenant, model), _models)


@app.command(name="reset-models")
def reset_models(tenant: _Tenant) -> None:
    """Let the installation's models apply to a tenant again."""
    current().client.fetch(rest.reset_tenant_models(tenant))


@app.command
def delete(
    tenant: _Tenant,
    *,
    yes: Annotated[bool, Parameter(name=["-y", "--yes"], help="Skip the confirmation", negative="")] = False,
) -> int:
    """End a tenant's keys at once, and delete all that it has; this cannot be undone."""
    session = current()
    if unknown := session.client.fetch(rest.tenant_limits(tenant)).get("warnings"):
        session.warn(f"assay: {unknown[0]}")
        return NOT_FOUND
    if not confirmed(f"Delete tenant {tenant} with its keys, jobs, files, flows and collections?", yes=yes):
        session.warn("Nothing was changed.")
        return 1
    session.client.fetch(rest.delete_tenant(tenant))
    session.say(f"the keys of {tenant} have ended; its data is deleted in the background")
    return 0


def _models(allowed: Any) -> str:
    rows = [[pattern, "the tenant" if allowed["own"] else "the installation"] for pattern in allowed["models"]]
    return show.table(["models", "set for"], rows)
