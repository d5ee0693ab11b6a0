"""The deliveries of a job's webhook: the outcome of each attempt, and manual redelivery."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.database import Db
from services.gateway.http.auth import CurrentCaller
from services.gateway.http.rules import Id
from services.gateway.routing import routes
from shared.addresses import without_user
from shared.contracts.webhooks import Deliveries, Delivery
from shared.errors import NotFound
from shared.jobs.record import webhooks

router = routes("/v1/jobs", "Webhooks")


@router.get("/{id}/deliveries", summary="List the deliveries of a job's webhook")
async def list_deliveries(id: Id, caller: CurrentCaller, db: Db) -> Deliveries:
    """List every attempt, the latest first, and when the next one is due."""
    return await _deliveries(db, id, caller.tenant)


@router.post(
    "/{id}/deliveries/{delivery_id}/redeliver",
    summary="Deliver a job's webhook again",
    status_code=202,
)
async def redeliver(id: Id, delivery_id: Id, caller: CurrentCaller, db: Db) -> Deliveries:
    """Send it within two seconds, with the same `webhook-id`, so that a receiver can recognize a duplicate."""
    if (await db.execute(webhooks.redeliver(id, caller.tenant, delivery_id))).one_or_none() is None:
        raise NotFound(f"The job {id} has no delivery {delivery_id}.")
    return await _deliveries(db, id, caller.tenant)


async def _deliveries(db: AsyncConnection, job_id: str, tenant: str) -> Deliveries:
    """Return the deliveries. Raises: NotFound."""
    job = (await db.execute(webhooks.webhook_of(job_id, tenant))).mappings().one_or_none()
    if job is None:
        raise NotFound(f"There is no job {job_id}.")
    rows = (await db.execute(webhooks.deliveries_of(job_id, tenant))).mappings()
    pending = job["url"] is not None and not job["webhook_done"]
    due: datetime | None = job["webhook_due_at"] or job["finished_at"]
    return Deliveries(
        url=job["url"] and without_user(job["url"]),
        pending=pending,
        next_at=due if pending else None,
        items=[Delivery.model_validate({name: row[name] for name in Delivery.model_fields}) for row in rows],
    )
