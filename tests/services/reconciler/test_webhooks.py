"""A webhook is signed, tried again until it is taken, and never sent where a server must not be made to call."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from sqlalchemy import Engine, text
from standardwebhooks.webhooks import Webhook

from services.reconciler.webhooks import AddressRefused, Target, Webhooks
from shared.db import connect
from shared.jobs import statements, submission
from tests.support.rows import job_row

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()


class Receiver(ThreadingHTTPServer):
    """Answers with the statuses it was given, then 204, and keeps what it got."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses: list[int] = []
        self.got: list[tuple[dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?x=1"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 204)
        self.end_headers()

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


def finished_job(engine: Engine, url: str) -> str:
    row = job_row(tenant_id="a", webhook={"url": url, "events": ["job.finished"]})
    job_id = str(row["id"])
    with engine.begin() as connection:
        connection.execute(submission.submit(row))
        connection.execute(statements.cancel(job_id, "a"))
    return job_id


def test_the_notice_is_signed_and_sent_once(engine: Engine, receiver: Receiver) -> None:
    webhooks = Webhooks(engine, SECRET, allow_private=True)
    job_id = finished_job(engine, receiver.url)
    assert webhooks.deliver_due() == 1
    assert webhooks.deliver_due() == 0
    ((headers, body),) = receiver.got
    assert Webhook(SECRET).verify(body, headers)["data"]["id"] == job_id
    assert json.loads(body)["data"]["state"] == "cancelled"
    assert headers["webhook-id"] == f"msg_{job_id}"
    assert headers["host"].startswith("127.0.0.1")


def test_a_failing_receiver_gets_the_same_id_again_until_it_is_given_up(engine: Engine, receiver: Receiver) -> None:
    webhooks = Webhooks(engine, SECRET, allow_private=True, pauses=(0, 0))
    finished_job(engine, receiver.url)
    receiver.statuses = [500, 302, 503]
    assert [webhooks.deliver_due() for _ in range(4)] == [1, 1, 1, 0]
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1


def test_gone_is_not_tried_again(engine: Engine, receiver: Receiver) -> None:
    webhooks = Webhooks(engine, SECRET, allow_private=True, pauses=(0, 0))
    finished_job(engine, receiver.url)
    receiver.statuses = [410]
    assert [webhooks.deliver_due() for _ in range(2)] == [1, 0]


def test_private_addresses_are_refused_before_any_connection(engine: Engine, receiver: Receiver) -> None:
    webhooks = Webhooks(engine, SECRET, allow_private=False, pauses=(0, 0))
    finished_job(engine, receiver.url)
    assert [webhooks.deliver_due() for _ in range(2)] == [1, 0]
    assert receiver.got == []


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
