"""`assay listen`: brings webhooks to a server on a developer's machine, which Assay itself may not call."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from assay import webhooks
from assay.calls import jobs, rest
from assay.commands.run import pair
from assay.commands.session import UsageError, current
from assay.errors import APIConnectionError, NotFound, Unavailable

if TYPE_CHECKING:
    from assay import Client

_TERMINAL = frozenset({"succeeded", "failed", "cancelled", "dead"})
_LOOK_SECONDS = 0.5
_PAGE = 100
_DELIVERY_SECONDS = 10.0


def listen(
    *,
    forward_to: Annotated[str, Parameter(help="For example http://localhost:3000/hooks")],
    label: Annotated[Sequence[str], Parameter(help="KEY=VALUE: only jobs with this label", negative="")] = (),
) -> None:
    """Post a signed delivery to URL for every job that ends from now on, as a webhook would. For development."""
    if not forward_to.startswith(("http://", "https://")):
        raise UsageError("--forward-to needs an http address, for example http://localhost:3000/hooks")
    session = current()
    secret = _secret(session.client)
    ended = _Ended(session.client, dict(pair(each) for each in label))
    session.say(f"forwarding to {forward_to}; the secret is {secret} (it ends with an interrupt)")
    while True:
        for job in ended.since_last_look():
            outcome = _forward(forward_to, secret, job)
            session.show(
                {"job": job["id"], "outcome": outcome}, lambda delivery: f"{delivery['job']} {delivery['outcome']}"
            )
        time.sleep(_LOOK_SECONDS)


class _Ended:
    """The jobs that end, each once."""

    def __init__(self, client: Client, labels: dict[str, str]) -> None:
        self._client = client
        self._labels = labels
        first = client.fetch(jobs.page(None, None, labels, _PAGE, None))["items"]
        self._open = {str(job["id"]) for job in first if job["state"] not in _TERMINAL}
        self._newest = str(first[0]["id"]) if first else ""

    def since_last_look(self) -> Iterator[dict[str, Any]]:
        try:
            fresh = self._fresh()
            here = {job["id"]: job for job in fresh}
            for id in sorted(self._open | here.keys()):
                job = here.get(id) or self._read(id)
                if job is None:
                    self._open.discard(id)
                elif job["state"] in _TERMINAL:
                    self._open.discard(id)
                    yield job
                else:
                    self._open.add(id)
        except (APIConnectionError, Unavailable) as error:
            current().say(f"waiting for the server: {error}")

    def _fresh(self) -> list[dict[str, Any]]:
        """Return the jobs submitted since the last poll; ids contain the time, so newer ones are greater."""
        submitted: list[dict[str, Any]] = []
        cursor = None
        while True:
            page = self._client.fetch(jobs.page(None, None, self._labels, _PAGE, cursor))
            newer = [job for job in page["items"] if job["id"] > self._newest]
            submitted += newer
            cursor = page.get("next_cursor")
            if cursor is None or len(newer) < len(page["items"]):
                break
        self._newest = max([self._newest, *(str(job["id"]) for job in submitted)])
        return submitted

    def _read(self, id: str) -> dict[str, Any] | None:
        try:
            return dict(self._client.fetch(jobs.get(id)))
        except NotFound:
            return None


def _secret(client: Client) -> str:
    """Return the tenant's secret, created if missing, so that a receiver accepts these deliveries and real ones."""
    kept = client.fetch(rest.webhook_secrets())["items"]
    return str((kept[0] if kept else client.fetch(rest.add_webhook_secret()))["secret"])


def _forward(url: str, secret: str, job: dict[str, Any]) -> str:
    import httpx2  # noqa: PLC0415 - a tenth of a second

    data = {name: job.get(name) for name in ("id", "kind", "state", "labels")}
    notice = {
        "type": "job.finished",
        "timestamp": job["finished_at"],
        "data": {**data, "links": {"self": f"/v1/jobs/{job['id']}"}},
    }
    body = json.dumps(notice, ensure_ascii=False, separators=(",", ":")).encode()
    identity, stamp = f"msg_{job['id']}", int(time.time())
    headers = {
        "content-type": "application/json",
        "webhook-id": identity,
        "webhook-timestamp": str(stamp),
        "webhook-signature": webhooks.sign(secret, identity, stamp, body),
    }
    try:
        answer = httpx2.post(url, content=body, headers=headers, timeout=_DELIVERY_SECONDS)
    except httpx2.HTTPError as fault:
        return f"not delivered: {fault}"
    return f"{job['state']}: the receiver answered {answer.status_code}"
