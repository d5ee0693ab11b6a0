"""Webhooks: a signed notice that a job has ended, tried again until it is taken (standardwebhooks.com)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime

import httpx2
import orjson
import structlog
from sqlalchemy import Engine, Row
from standardwebhooks.webhooks import Webhook

from services.reconciler.addresses import AddressRefused, resolve
from shared.jobs import maintenance, metrics

log = structlog.get_logger(__name__)

#: Seconds until the next try after each failed one: about 5 s, 5 min, 30 min, then hours, then given up.
PAUSES: Sequence[float] = (5, 300, 1_800, 7_200, 18_000, 36_000, 36_000)
_AT_ONCE = 16
_TIMEOUT = httpx2.Timeout(10, connect=5)


class Webhooks:
    """Delivers what is due."""

    def __init__(self, engine: Engine, secret: str, *, allow_private: bool, pauses: Sequence[float] = PAUSES) -> None:
        self._engine = engine
        self._signer = Webhook(secret or base64.b64encode(b"unset").decode())
        self._signed = bool(secret)
        self._allow_private = allow_private
        self._pauses = pauses
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="webhook")

    def deliver_due(self) -> int:
        """Deliver every webhook that is due; the number of tries."""
        with self._engine.begin() as connection:
            due = connection.execute(maintenance.due_webhooks(self._pauses, _AT_ONCE)).all()
        for row, outcome in zip(due, self._threads.map(self._deliver, due), strict=True):
            metrics.webhook_deliveries.labels(outcome).inc()
            log.info("webhook", job_id=row.id, outcome=outcome, attempt=row.webhook_attempts)
            if outcome in ("delivered", "gone", "refused"):
                with self._engine.begin() as connection:
                    connection.execute(maintenance.end_webhook(row.id))
        return len(due)

    def _deliver(self, row: Row[tuple[object, ...]]) -> str:
        body = orjson.dumps(
            {
                "type": "job.finished",
                "timestamp": row.finished_at,
                "data": {
                    "id": row.id,
                    "kind": row.kind,
                    "state": row.state,
                    "labels": row.labels,
                    "links": {"self": f"/v1/jobs/{row.id}"},
                },
            }
        )
        try:
            target = resolve(row.url, allow_private=self._allow_private)
        except AddressRefused as refusal:
            log.warning("webhook_refused", job_id=row.id, reason=str(refusal))
            return "refused"
        headers = {"host": target.authority, "content-type": "application/json", **self._signature(row.id, body)}
        with suppress(httpx2.HTTPError), httpx2.Client(timeout=_TIMEOUT, follow_redirects=False) as client:
            answer = client.post(target.url, content=body, headers=headers, extensions={"sni_hostname": target.host})
            if answer.is_success:
                return "delivered"
            return "gone" if answer.status_code == httpx2.codes.GONE else "failed"
        return "unreachable"

    def _signature(self, job_id: str, body: bytes) -> dict[str, str]:
        """The headers of Standard Webhooks; ``webhook-id`` stays the same over all tries."""
        now = datetime.now(UTC)
        identity = f"msg_{job_id}"
        headers = {"webhook-id": identity, "webhook-timestamp": str(int(now.timestamp()))}
        if self._signed:
            headers["webhook-signature"] = self._signer.sign(identity, now, body.decode())
        return headers
