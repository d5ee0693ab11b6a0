"""Webhooks: a signed notice that a job has ended, tried again until it is taken (standardwebhooks.com)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self
from urllib.parse import urlsplit

import httpx2
import orjson
import structlog
from sqlalchemy import Engine, Row
from standardwebhooks.webhooks import Webhook

from shared.addresses import AddressPrivate, AddressUnknown, resolve
from shared.jobs import maintenance, metrics

log = structlog.get_logger(__name__)

#: Seconds until the next try after each failed one: about 5 s, 5 min, 30 min, then hours, then given up.
PAUSES: Sequence[float] = (5, 300, 1_800, 7_200, 18_000, 36_000, 36_000)
_AT_ONCE = 16
_TIMEOUT = httpx2.Timeout(10, connect=5)


class AddressRefused(Exception):
    """The URL points to somewhere that a server must not be made to call."""


@dataclass(frozen=True)
class Target:
    """Where a webhook goes: the URL, with the host resolved once and used as it was checked."""

    host: str  #: as the URL spells it, for the Host header and TLS
    address: str  #: the checked IP address
    port: int
    scheme: str
    path: str

    @property
    def authority(self) -> str:
        """The Host header: the port stands there when it is not the scheme's own."""
        usual = {"https": 443, "http": 80}[self.scheme]
        return self.host if self.port == usual else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL with the address in the host's place, so that nothing resolves the name a second time."""
        address = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.scheme}://{address}:{self.port}{self.path}"

    @classmethod
    def of(cls, url: str, *, allow_private: bool) -> Self:
        """Check a webhook's URL. Raises: AddressRefused."""
        parts = urlsplit(url)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise AddressRefused("not an http address")
        if parts.scheme == "http" and not allow_private:
            raise AddressRefused("not https")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            address = resolve(parts.hostname, port, allow_private=allow_private)
        except AddressUnknown:
            raise AddressRefused("the name does not resolve") from None
        except AddressPrivate:
            raise AddressRefused("not a public address") from None
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.hostname, address, port, parts.scheme, path)


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
            target = Target.of(row.url, allow_private=self._allow_private)
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
