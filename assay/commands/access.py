"""`assay keys`, `assay limits`, `assay audit`: who may do what, how much of it, and who has changed that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from assay.calls import rest
from assay.commands import show
from assay.commands.run import given
from assay.commands.session import answer, current

keys = App(name="keys", help="API keys of tenants (needs the scope admin).")
limits = App(name="limits", help="Quotas: what a tenant may have, and has.")
webhooks = App(name="webhooks", help="The secrets that a tenant's webhooks are signed with; two are good at once.")


@keys.command(name="create")
def create_key(
    *,
    tenant: Annotated[str, Parameter(help="Tenant that the key belongs to")] = "default",
    name: Annotated[str, Parameter(help="Name that distinguishes the key from others")],
    scope: Annotated[
        Sequence[Literal["read", "write", "admin", "tenant_admin"]],
        Parameter(negative="", help="What the key may do; may be repeated"),
    ],
    expires_at: Annotated[str | None, Parameter(help="RFC 3339")] = None,
) -> None:
    """Make a key and print it; it is never shown again."""
    answer(rest.create_key(tenant, name, scope, expires_at), lambda made: str(made["key"]))


@keys.command(name="ls")
def list_keys() -> None:
    """List keys, without the keys themselves."""
    columns = ["id", "tenant", "name", "scopes", "created", "used", "expires", "revoked"]
    answer(rest.keys(limit=200), show.listing(columns, _key))


@keys.command(name="rotate")
def rotate_key(
    id: Annotated[str, Parameter(help="API key id")],
    *,
    overlap_seconds: Annotated[int | None, Parameter(help="How long the old one stays good (a day)")] = None,
) -> None:
    """Make a new key like an old one, which ends soon, and print it; it is never shown again."""
    answer(rest.rotate_key(id, overlap_seconds), lambda made: str(made["key"]))


@keys.command(name="revoke")
def revoke_key(
    id: Annotated[str, Parameter(help="API key id")],
    *,
    force: Annotated[bool, Parameter(help="Also the last key with the scope admin", negative="")] = False,
) -> None:
    """End a key."""
    current().client.keys.revoke(id, force)


@limits.command(name="show")
def show_limits(
    *, tenant: Annotated[str | None, Parameter(help="Another tenant (needs the scope admin)")] = None
) -> None:
    """Show quotas and what is used of them."""
    answer(rest.limits() if tenant is None else rest.tenant_limits(tenant), _quotas)


@limits.command(name="set")
def set_limits(
    tenant: Annotated[str, Parameter(help="Tenant id")],
    *,
    queued_jobs: Annotated[int | None, Parameter(help="Maximum number of queued jobs")] = None,
    running_jobs: Annotated[int | None, Parameter(help="Of one kind; 0: no limit")] = None,
    storage_bytes: Annotated[int | None, Parameter(help="Maximum storage, in bytes")] = None,
    streams: Annotated[int | None, Parameter(help="Event streams of one key")] = None,
    tokens_per_day: Annotated[int | None, Parameter(help="Of models; 0: no limit")] = None,
    requests_per_minute: Annotated[int | None, Parameter(help="0: no limit")] = None,
    weight: Annotated[int | None, Parameter(help="Share of the queue relative to a tenant of weight 1")] = None,
) -> None:
    """Set a tenant's quotas and weight; those that are left out are the installation's defaults again."""
    changed = given(
        queued_jobs=queued_jobs, running_jobs=running_jobs, storage_bytes=storage_bytes, streams=streams,
        tokens_per_day=tokens_per_day, requests_per_minute=requests_per_minute, weight=weight,
    )  # fmt: skip
    answer(rest.set_tenant_limits(tenant, changed), _quotas)


@webhooks.command(name="add-secret")
def add_webhook_secret(
    *, secret: Annotated[str | None, Parameter(help="whsec_ and base64; drawn when left out")] = None
) -> None:
    """Sign deliveries with this one too, and print it: receivers learn it before the old one goes."""
    answer(rest.add_webhook_secret(secret), lambda made: str(made["secret"]))


@webhooks.command(name="secrets")
def list_webhook_secrets() -> None:
    """List the secrets."""
    columns = ["id", "secret", "created"]
    answer(rest.webhook_secrets(), show.listing(columns, _webhook_secret))


@webhooks.command(name="remove-secret")
def remove_webhook_secret(id: Annotated[str, Parameter(help="Webhook secret id")]) -> None:
    """Sign no longer with this one."""
    current().client.webhook_secrets.delete(id)


def audit(
    *,
    tenant: Annotated[str | None, Parameter(help="Changes by keys of this tenant")] = None,
    action: Annotated[str | None, Parameter(help="For example keys.create")] = None,
    limit: Annotated[int, Parameter(help="1 to 200")] = 50,
    cursor: Annotated[str | None, Parameter(help="next_cursor of the page before")] = None,
    verify: Annotated[bool, Parameter(help="Check that the log is unchanged", negative="")] = False,
) -> int:
    """Show who changed keys, prompts, models, limits and definitions."""
    if not verify:
        columns = ["seq", "at", "tenant", "actor", "action", "object", "address"]
        answer(rest.audit(tenant, action, limit, cursor), show.listing(columns, _audited))
        return 0
    checked = current().client.fetch(rest.audit_verification())
    current().show(checked, _verified)
    return 0 if checked["intact"] else 1


def _key(key: dict[str, Any]) -> list[object]:
    return [
        key["id"], key["tenant"], key["name"], ",".join(key["scopes"]), show.clock(key["created_at"]),
        key.get("last_used_at"), key.get("expires_at"), key.get("revoked_at"),
    ]  # fmt: skip


def _webhook_secret(secret: dict[str, Any]) -> list[object]:
    return [secret["id"], secret["secret"], show.clock(secret["created_at"])]


def _audited(entry: dict[str, Any]) -> list[object]:
    return [
        entry["seq"], show.clock(entry["at"]), entry["tenant"], entry["actor"], entry["action"], entry["object"],
        entry["address"],
    ]  # fmt: skip


def _verified(checked: Any) -> str:
    if checked["intact"]:
        return f"{checked['entries']} entries, as they were written; the newest hash is {checked['newest_hash'] or '-'}"
    return f"entry {checked['broken_at']} is not as it was written"


def _quotas(limits: Any) -> str:
    quotas = limits["quotas"].items()
    rows = [[name, quota["used"], quota["limit"], quota.get("default")] for name, quota in quotas]
    rows.append(["weight", "", limits["weight"], 1])
    return show.table(["quota", "used", "limit", "default"], rows)
