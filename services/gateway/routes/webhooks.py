"""The secrets that a tenant's webhooks are signed with: two are valid at once, so that one can replace the other."""

from __future__ import annotations

from fastapi import Response
from sqlalchemy import RowMapping

from services.gateway.database import Db
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.responses import page
from services.gateway.http.rules import EndpointRules, Id
from services.gateway.routing import routes
from shared.contracts.common import Page
from shared.contracts.webhooks import WebhookSecret, WebhookSecretInput
from shared.errors import Conflict, NotFound
from shared.jobs.record import webhooks

router = routes("/v1/webhooks/secrets", "Webhooks")


@router.get("", summary="The secrets of webhooks")
@EndpointRules(scope="write")
async def list_webhook_secrets(caller: CurrentCaller, db: Db) -> Page[WebhookSecret]:
    """List the secrets. Every delivery carries a signature by each of them; the first is created with the first
    delivery.
    """
    rows = (await db.execute(webhooks.secrets_of(caller.tenant))).mappings().all()
    return page(rows, 2, _view)


@router.post("", summary="Add a second secret", status_code=201)
@EndpointRules(secret=("secret",), audit="webhook_secrets.add")
async def add_webhook_secret(caller: CurrentCaller, db: Db, body: WebhookSecretInput | None = None) -> WebhookSecret:
    """Add a secret; the default is a generated one. To rotate: add the new one, let the receiver accept both, delete
    the old.
    """
    secret = (body.secret if body else None) or webhooks.new_secret()
    row = (await db.execute(webhooks.add_secret(caller.tenant, secret))).mappings().one_or_none()
    if row is None:
        raise Conflict("There are two secrets already. Delete the one that the receiver no longer needs first.")
    return _view(row)


@router.delete("/{id}", summary="Delete a secret", status_code=204, response_class=Response)
@EndpointRules(audit="webhook_secrets.delete")
async def delete_webhook_secret(id: Id, caller: CurrentCaller, db: Db) -> None:
    """Deliveries from now on are not signed by it; when it was the last one, the next delivery makes another."""
    if (await db.execute(webhooks.remove_secret(id, caller.tenant))).rowcount != 1:
        raise NotFound(f"There is no secret {id}.")


def _view(row: RowMapping) -> WebhookSecret:
    return WebhookSecret(**{name: row[name] for name in ("id", "secret", "created_at")})
