"""A webhook is signed, tried again until it is taken, and never sent where a server must not be made to call."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest
from sqlalchemy import Engine, text
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from services.reconciler.webhooks import PAUSES, AddressRefused, Target, Webhooks
from shared.db import connect
from shared.jobs.record import statements, submission
from shared.jobs.record import webhooks as records
from tests.support.rows import job_row
from tests.support.wait import until


class Receiver(ThreadingHTTPServer):
    """Answers with the statuses it was given, then 200, and keeps what it got."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses: list[int] = []
        self.endless = False
        self.got: list[tuple[dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?x=1"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        self.end_headers()
        with suppress(OSError):
            while self.server.endless:
                self.wfile.write(b"x" * 65536)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url)
    yield engine
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM jobs"))
    engine.dispose()


@pytest.fixture
def delivering(engine: Engine) -> Iterator[Callable[..., Webhooks]]:
    """Makes the deliveries of a reconciler that may call this machine."""
    made: list[Webhooks] = []

    def make(*, pauses: Sequence[float] = PAUSES, allow_private: bool = True, seconds: float = 10) -> Webhooks:
        made.append(Webhooks(engine, allow_private=allow_private, pauses=pauses, seconds=seconds))
        return made[-1]

    yield make
    for webhooks in made:
        webhooks.close()


def finished_job(engine: Engine, url: str, tenant: str = "a") -> str:
    row = job_row(tenant_id=tenant, webhook={"url": url, "events": ["job.finished"]})
    job_id = str(row["id"])
    with engine.begin() as connection:
        connection.execute(submission.submit(row))
        connection.execute(statements.cancel(job_id, tenant))
    return job_id


def pending(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM jobs WHERE NOT webhook_done")).scalar_one())


def ended(engine: Engine, webhooks: Webhooks) -> None:
    """Deliver until nothing is due any more and nothing is under way."""
    until(lambda: not webhooks.deliver_due() and not webhooks.under_way and not pending(engine), "the end of webhooks")


def secrets_of(engine: Engine, tenant: str) -> list[str]:
    with engine.connect() as connection:
        return [row.secret for row in connection.execute(records.secrets_of(tenant))]


def test_the_notice_is_signed_and_sent_once(
    engine: Engine, receiver: Receiver, delivering: Callable[..., Webhooks]
) -> None:
    webhooks = delivering()
    job_id = finished_job(engine, receiver.url)
    ended(engine, webhooks)
    ((headers, body),) = receiver.got
    (secret,) = secrets_of(engine, "a")  # made with the first delivery
    assert Webhook(secret).verify(body, headers)["data"]["id"] == job_id
    assert json.loads(body)["data"]["state"] == "cancelled"
    assert headers["webhook-id"] == f"msg_{job_id}"
    assert headers["host"].startswith("127.0.0.1")


def test_each_tenant_signs_with_its_own_secrets_and_both_of_them_count(
    engine: Engine, receiver: Receiver, delivering: Callable[..., Webhooks]
) -> None:
    with engine.begin() as connection:
        for tenant in ("c", "c", "c", "d"):
            connection.execute(records.add_secret(tenant, records.new_secret()))
    ours = secrets_of(engine, "c")
    assert len(ours) == 2  # no third one
    finished_job(engine, receiver.url, "c")
    ended(engine, delivering())
    ((headers, body),) = receiver.got
    for secret in ours:
        Webhook(secret).verify(body, headers)
    (theirs,) = secrets_of(engine, "d")
    with pytest.raises(WebhookVerificationError):
        Webhook(theirs).verify(body, headers)


def test_a_failing_receiver_gets_the_same_id_again_until_it_is_given_up(
    engine: Engine, receiver: Receiver, delivering: Callable[..., Webhooks]
) -> None:
    finished_job(engine, receiver.url)
    receiver.statuses = [500, 302, 503]
    ended(engine, delivering(pauses=(0, 0)))
    assert len(receiver.got) == 3
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1


def test_gone_is_not_tried_again(engine: Engine, receiver: Receiver, delivering: Callable[..., Webhooks]) -> None:
    finished_job(engine, receiver.url)
    receiver.statuses = [410]
    ended(engine, delivering(pauses=(0, 0)))
    assert len(receiver.got) == 1


def test_private_addresses_are_refused_before_any_connection(
    engine: Engine, receiver: Receiver, delivering: Callable[..., Webhooks]
) -> None:
    finished_job(engine, receiver.url)
    ended(engine, delivering(pauses=(0, 0), allow_private=False))
    assert receiver.got == []


@contextmanager
def dripping() -> Iterator[tuple[str, list[socket.socket]]]:
    """A receiver that never finishes a response: it sends a byte of a header now and then, so no read times out."""
    accepted: list[socket.socket] = []
    stop = Event()

    def serve() -> None:
        while not stop.wait(0.05):
            with suppress(BlockingIOError):
                accepted.append(listener.accept()[0])
            for connection in accepted:
                with suppress(OSError):
                    connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        thread = Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/", accepted
        finally:
            stop.set()
            thread.join()
            for connection in accepted:
                connection.close()


def test_a_receiver_that_drips_holds_up_nobody_else_and_only_its_tenants_places(
    engine: Engine, receiver: Receiver, delivering: Callable[..., Webhooks]
) -> None:
    webhooks = delivering(seconds=600)
    with dripping() as (slow, accepted):
        for _ in range(20):
            finished_job(engine, slow, "slow")
        assert webhooks.deliver_due() == 4
        until(lambda: len(accepted) == 4, "four deliveries to the slow receiver")
        finished_job(engine, receiver.url, "quick")
        until(lambda: webhooks.deliver_due() or receiver.got, "the delivery to the quick receiver")
        until(lambda: receiver.got, "the notice at the quick receiver")
        assert len(accepted) == 4


@pytest.mark.slow
def test_a_receiver_that_drips_is_given_up_at_the_deadline(engine: Engine, delivering: Callable[..., Webhooks]) -> None:
    webhooks = delivering(seconds=0.5, pauses=())
    with dripping() as (slow, _):
        finished_job(engine, slow)
        began = time.monotonic()
        ended(engine, webhooks)
    assert time.monotonic() - began < 10  # it would drip for minutes


def test_the_body_of_a_response_is_not_read(
    engine: Engine, receiver: Receiver, delivering: Callable[..., Webhooks]
) -> None:
    receiver.endless = True
    finished_job(engine, receiver.url)
    ended(engine, delivering())
    assert len(receiver.got) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://10.1.2.3/",
        "https://169.254.169.254/latest",
        "https://[::ffff:10.0.0.1]/",
        "https://[fd00::1]/",
        "https://0.0.0.0/",
        "https://224.0.0.1/",
        "ftp://1.1.1.1/",
        "https:///nothing",
    ],
)
def test_an_address_that_is_not_public_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        Target.of(url, allow_private=False)


def test_a_public_address_is_pinned() -> None:
    target = Target.of("https://1.1.1.1:8443/a?b=c", allow_private=False)
    assert target.url == "https://1.1.1.1:8443/a?b=c"
    assert (target.host, target.authority) == ("1.1.1.1", "1.1.1.1:8443")


def test_every_attempt_is_logged_and_a_delivery_is_made_again_by_hand(
    engine: Engine, receiver: Receiver, delivering: Callable[..., Webhooks]
) -> None:
    receiver.statuses = [500]
    webhooks = delivering(pauses=(0.0,))
    job_id = finished_job(engine, receiver.url)
    ended(engine, webhooks)

    def logged() -> list[tuple[int, str, int | None]]:
        with engine.connect() as connection:
            rows = connection.execute(records.deliveries_of(job_id, "a")).all()
            assert not connection.execute(records.deliveries_of(job_id, "b")).all()
        return [(row.attempt, row.outcome, row.http_status) for row in rows]

    until(lambda: len(logged()) == 2, "the log")
    assert logged() == [(2, "delivered", 200), (1, "failed", 500)]
    with engine.begin() as connection:
        [latest, _] = connection.execute(records.deliveries_of(job_id, "a")).all()
        assert connection.execute(records.redeliver(job_id, "b", latest.id)).one_or_none() is None
        assert connection.execute(records.redeliver(job_id, "a", latest.id)).one_or_none() is not None
    ended(engine, webhooks)
    until(lambda: len(logged()) == 3, "the log of the redelivery")
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1


def test_a_refused_address_names_the_setting_that_allows_it(
    engine: Engine, receiver: Receiver, delivering: Callable[..., Webhooks]
) -> None:
    job_id = finished_job(engine, receiver.url)
    ended(engine, delivering(allow_private=False))
    with engine.connect() as connection:
        [row] = connection.execute(records.deliveries_of(job_id, "a")).all()
    assert (row.outcome, row.http_status) == ("refused", None)
    assert "ASSAY_WEBHOOK_PRIVATE" in row.detail


def test_a_name_that_does_not_resolve_for_a_moment_is_tried_again(
    engine: Engine, receiver: Receiver, delivering: Callable[..., Webhooks], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = socket.getaddrinfo
    failures = [socket.gaierror(-3, "try again"), socket.gaierror(-2, "unknown"), OSError(5, "broken")]

    def resolving(host: str, *arguments: Any, **options: Any) -> Any:
        if host == "receiver.test" and failures:
            raise failures.pop()
        return found("127.0.0.1" if host == "receiver.test" else host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolving)
    job_id = finished_job(engine, receiver.url.replace("127.0.0.1", "receiver.test"))
    ended(engine, delivering(pauses=(0, 0, 0, 0)))
    assert len(receiver.got) == 1
    with engine.connect() as connection:
        rows = connection.execute(records.deliveries_of(job_id, "a")).all()
    assert [row.outcome for row in rows] == ["delivered", "unreachable", "unreachable", "unreachable"]
    assert {row.detail for row in rows[1:]} == {"its host name does not resolve (DNS)"}


def test_why_a_connection_was_not_made_is_said(engine: Engine, delivering: Callable[..., Webhooks]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    job_id = finished_job(engine, f"http://127.0.0.1:{port}/")
    ended(engine, delivering(pauses=()))
    with engine.connect() as connection:
        [row] = connection.execute(records.deliveries_of(job_id, "a")).all()
    assert (row.outcome, row.detail) == ("unreachable", "the connection was refused")
