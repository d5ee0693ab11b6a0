"""Webhooks: a notice that a job has ended, signed by its tenant's secrets, tried again until it is taken.

Standard Webhooks (standardwebhooks.com).
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from threading import Lock, Thread
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2
import orjson
import structlog
from sqlalchemy import Engine, Row
from sqlalchemy.exc import SQLAlchemyError
from standardwebhooks.webhooks import Webhook

from shared.addresses import AddressPrivate, AddressUnknown, resolve
from shared.db import reason_of
from shared.jobs import metrics
from shared.jobs.record import webhooks
from shared.jobs.record.webhooks import Attempt

log = structlog.get_logger(__name__)

#: Seconds until the next try after each failed one: about 5 s, 5 min, 30 min, then hours, then given up.
PAUSES: Sequence[float] = (5, 300, 1_800, 7_200, 18_000, 36_000, 36_000)
_AT_ONCE, _AT_ONCE_OF_A_TENANT = 64, 4
#: The client's errors in words; their own texts may name the address of a machine.
_REASONS = {
    "ConnectError": "no connection could be made",
    "ConnectTimeout": "no connection could be made in time",
    "ReadTimeout": "no answer in time",
    "RemoteProtocolError": "the answer was not HTTP",
}
#: The causes of a connection that could not be made.
_CAUSES: Sequence[tuple[type[BaseException], str]] = (
    (ssl.SSLCertVerificationError, "its TLS certificate was not accepted"),
    (ssl.SSLError, "the TLS handshake failed"),
    (ConnectionRefusedError, "the connection was refused"),
    (ConnectionResetError, "the connection was reset"),
)
_ALLOW = "ASSAY_WEBHOOK_PRIVATE=true allows it"
#: From the look-up of the name to the status of the response.
_SECONDS = 10.0


class AddressRefused(Exception):
    """The URL points to somewhere that a server must not be made to call."""


class NameUnresolved(Exception):
    """The URL's host has no address at this moment."""


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
        """Host header: with the port unless it is the scheme's default."""
        usual = {"https": 443, "http": 80}[self.scheme]
        return self.host if self.port == usual else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL with the address in the host's place, so that nothing resolves the name a second time."""
        address = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.scheme}://{address}:{self.port}{self.path}"

    @classmethod
    def of(cls, url: str, *, allow_private: bool) -> Self:
        """Check a webhook's URL. Raises: AddressRefused, NameUnresolved."""
        parts = urlsplit(url)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise AddressRefused("not an http address")
        if parts.scheme == "http" and not allow_private:
            raise AddressRefused(f"not https ({_ALLOW})")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            address = resolve(parts.hostname, port, allow_private=allow_private)
        except AddressUnknown:
            raise NameUnresolved("its host name does not resolve (DNS)") from None
        except AddressPrivate:
            raise AddressRefused(f"not a public address ({_ALLOW})") from None
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.hostname, address, port, parts.scheme, path)


class Webhooks:
    """Delivers what is due. Deliveries do not wait for each other: each has its deadline, each tenant its places."""

    def __init__(
        self, engine: Engine, *, allow_private: bool, pauses: Sequence[float] = PAUSES, seconds: float = _SECONDS
    ) -> None:
        self._engine = engine
        self._allow_private = allow_private
        self._pauses = pauses
        self._seconds = seconds
        self._tls = httpx2.create_ssl_context()
        self._under_way: dict[str, str] = {}  #: the tenant of each job whose webhook is being sent
        self._lock = Lock()
        self._resolvers = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="resolver")
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="webhooks", daemon=True)
        self._thread.start()

    @property
    def under_way(self) -> int:
        with self._lock:
            return len(self._under_way)

    def deliver_due(self) -> int:
        """Start every delivery that is due and has a place; how many were started."""
        with self._lock:
            places = _AT_ONCE - len(self._under_way)
            if places <= 0:
                return 0
            with self._engine.begin() as connection:
                taken = connection.execute(
                    webhooks.due_webhooks(self._pauses, self._under_way, _AT_ONCE_OF_A_TENANT, places)
                ).all()
            self._under_way |= {row.id: row.tenant_id for row in taken}
        for row in taken:
            asyncio.run_coroutine_threadsafe(self._deliver(row), self._loop)
        return len(taken)

    def close(self) -> None:
        """Give up what is under way; it is due again after its pause."""
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._resolvers.shutdown(wait=False)

    async def _deliver(self, row: Row[Any]) -> None:
        try:
            began = time.monotonic()
            attempt = await self._attempt(row)
            await asyncio.to_thread(self._note, row, attempt, time.monotonic() - began)
        except SQLAlchemyError as fault:  # it is due again after its pause
            log.warning("webhook_postponed", job_id=row.id, reason=reason_of(fault))
        finally:
            with self._lock:
                del self._under_way[row.id]
        with suppress(SQLAlchemyError):  # the next round finds it
            await asyncio.to_thread(self.deliver_due)

    async def _attempt(self, row: Row[Any]) -> Attempt:
        body = _body(row)
        headers = await asyncio.to_thread(self._signed, row, body)
        resolving = self._loop.run_in_executor(
            self._resolvers, partial(Target.of, row.url, allow_private=self._allow_private)
        )
        try:
            async with asyncio.timeout(self._seconds):
                return await self._post(await asyncio.shield(resolving), body, headers)
        except AddressRefused as refusal:
            return Attempt("refused", detail=str(refusal))
        except NameUnresolved as unresolved:
            return Attempt("unreachable", detail=str(unresolved))
        except TimeoutError:
            return Attempt("unreachable", detail=f"no answer within {self._seconds:g} s")
        except httpx2.HTTPError as fault:
            return Attempt("unreachable", detail=_reason(fault))
        finally:
            # A resolver cannot be interrupted: until it returns, it takes its tenant's place and no other's.
            await asyncio.wait([resolving])

    async def _post(self, target: Target, body: bytes, headers: Mapping[str, str]) -> Attempt:
        """Send it, and check only the status: the body of the response is never read."""
        extensions = {"sni_hostname": target.host}
        async with (
            httpx2.AsyncClient(timeout=self._seconds, follow_redirects=False, verify=self._tls) as client,
            client.stream(
                "POST",
                target.url,
                content=body,
                headers={"host": target.authority, "content-type": "application/json", **headers},
                extensions=extensions,
            ) as response,
        ):
            if response.is_success:
                return Attempt("delivered", response.status_code)
            if response.status_code == httpx2.codes.GONE:
                return Attempt("gone", response.status_code, "410: the receiver wants no more of this job")
            return Attempt("failed", response.status_code, f"the receiver answered {response.status_code}")

    def _signed(self, row: Row[Any], body: bytes) -> dict[str, str]:
        """Return the headers of Standard Webhooks; ``webhook-id`` stays the same over all attempts."""
        now = datetime.now(UTC)
        identity = f"msg_{row.id}"
        signatures = [Webhook(secret).sign(identity, now, body.decode()) for secret in self._secrets(row.tenant_id)]
        return {
            "webhook-id": identity,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": " ".join(signatures),
        }

    def _secrets(self, tenant: str) -> Sequence[str]:
        """Return the tenant's secrets; the first one is created on first use."""
        with self._engine.begin() as connection:
            if not (kept := connection.execute(webhooks.secrets_of(tenant)).all()):
                connection.execute(webhooks.add_secret(tenant, webhooks.new_secret(), places=1))
                kept = connection.execute(webhooks.secrets_of(tenant)).all()
        return [row.secret for row in kept]

    def _note(self, row: Row[Any], attempt: Attempt, seconds: float) -> None:
        metrics.webhook_deliveries.labels(attempt.outcome).inc()
        log.info(
            "webhook", job_id=row.id, tenant=row.tenant_id, outcome=attempt.outcome, attempt=row.webhook_attempts,
            http_status=attempt.http_status, reason=attempt.detail, seconds=round(seconds, 3),
        )  # fmt: skip
        with self._engine.begin() as connection:
            if attempt.outcome in ("delivered", "gone", "refused"):
                connection.execute(webhooks.end_webhook(row.id, row.tenant_id))
            connection.execute(
                webhooks.log_attempt(row.id, row.tenant_id, row.webhook_attempts, attempt, round(seconds, 3))
            )


def _reason(fault: BaseException) -> str:
    """Return why no answer came, by the cause where that is known."""
    said = _REASONS.get(type(fault).__name__, "the connection broke")
    link: BaseException | None = fault
    while link is not None:
        if (cause := next((words for kind, words in _CAUSES if isinstance(link, kind)), None)) is not None:
            return cause
        link = link.__cause__ or link.__context__
    return said


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    # What runs in a thread cannot be cancelled, and may hold a connection.
    await asyncio.get_running_loop().shutdown_default_executor()


def _body(row: Row[Any]) -> bytes:
    return orjson.dumps(
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
