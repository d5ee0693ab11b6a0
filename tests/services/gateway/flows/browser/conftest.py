"""A page of another origin in a real browser, before a real gateway and a flows worker whose models are scripted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2 as httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console import conftest as console
from tests.services.gateway.conftest import Gateway, serving, settings_of, with_http
from tests.services.gateway.flows.conftest import flows_worker, wait_until_ready
from tests.support.scripted import ScriptedLlm

chromium, ready = console.chromium, console.ready
_PAGE = Path(__file__).parent / "page"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """Where the page comes from."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(_PAGE))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def api(gateway: Gateway, scripted_llm: ScriptedLlm, origin: str) -> Iterator[httpx.Client]:
    """The gateway for a page without a key, as its tenant's programs see it."""
    key = gateway.key("front-end")
    with (
        flows_worker(settings_of(gateway.settings.stores), scripted_llm) as settings,
        serving(with_http(replace(settings), compatibility_key=key, cors_origins=origin)) as url,
        httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client,
    ):
        wait_until_ready(client)
        yield client


Open = Callable[..., Page]


@pytest.fixture
def open_page(chromium: Browser, api: httpx.Client, origin: str) -> Iterator[Open]:
    """Opens pages of an empty flow, each in a window of its own; what one complains of fails the test."""
    for flow in api.get("/v1/flows").json()["items"]:
        api.delete(f"/v1/flows/{flow['id']}")
    contexts, complaints = [], []

    def open_one(*, deaf: bool = False) -> Page:
        context = chromium.new_context(viewport={"width": 1440, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{origin}/?api={str(api.base_url).rstrip('/')}{'&deaf' if deaf else ''}")
        if not deaf:
            expect(page.locator("body")).to_have_attribute("data-live", "yes")
        settled(page)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert [text for text in complaints if "412" not in text] == []


def settled(page: Page) -> None:
    """Until every request of the page is answered."""
    expect(page.locator("body")).to_have_attribute("data-waiting", "0")
