"""A real browser before a real installation whose models are scripted. Any error in the page fails the test."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
import yaml
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from services.gateway.console import DIST
from services.host.installation import DEMO_SCRIPT
from tests.assay.terminal import Shell, plain, written
from tests.console import browser as browsers

#: Machines that test are busy.
expect.set_options(timeout=45_000)

ROOT = Path(__file__).resolve().parents[2]
_PRIVATE = {"ASSAY_WEBHOOK_PRIVATE": "true"}  #: webhooks go to this machine only
#: Beside what the demonstration's models say: two that are down, each in its own way.
DOWN = [
    {"when": {"model": "^limited$"}, "fault": {"kind": "rate_limit", "headers": {"retry-after": "900"}}},
    {"when": {"model": "^broken$"}, "fault": "server_error"},
]


#: On the prices of a share.
TASK = "One row per month: the mean adjusted close, the number of trading days, and the total volume"


@dataclass(frozen=True)
class Console:
    """A running installation, seen from outside."""

    url: str
    key: str
    shell: Shell

    @property
    def api(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.key}"}, timeout=60)

    def somebody(self, tenant: str, *scopes: str) -> Console:
        """The same installation, as somebody of that tenant with these scopes sees it."""
        with self.api as api:
            made = api.post("/v1/keys", json={"tenant": tenant, "name": "somebody", "scopes": scopes}).json()
        return replace(self, key=made["key"])

    def run(self, kind: str, **input: Any) -> dict[str, Any]:
        """A job of that kind, at its end."""
        with self.api as api:
            job = api.post("/v1/jobs", json={"kind": kind, "input": input}, headers={"Prefer": "wait=60"}).json()
            assert job.get("state") == "succeeded", job
            return dict(job)

    def job(self, page: Page) -> dict[str, Any]:
        """The job that the page shows, as the API has it."""
        ids = re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}", page.url)
        with self.api as api:
            return dict(api.get(f"/v1/jobs/{ids[0]}").json())


def build(console: Path) -> Path:
    """The built console of a folder with its sources. Skips when there is no registry to get the packages from."""
    command = [sys.executable, str(console / "build.py"), "--strict"]
    built = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if built.returncode != 0 and "could not get" in built.stderr:
        pytest.skip(f"the console cannot be built here: {built.stderr[-300:]}")
    assert built.returncode == 0, built.stderr
    return console / "dist"


@pytest.fixture(scope="session")
def dist() -> Path:
    """The built console that is served."""
    return build(ROOT / "console")


@pytest.fixture(scope="session")
def console(servers_folder: Path, dist: Path) -> Iterator[Console]:
    """A new installation with the console that was just built."""
    assert dist == DIST
    folder = servers_folder / "console"
    folder.mkdir()
    shell = Shell(folder, {**plain(), "ASSAY_HOME": str(folder / "home"), "ASSAY_PORT": "0", **_PRIVATE})
    script = yaml.safe_load(DEMO_SCRIPT.read_text())
    script["rules"] = [*DOWN, *script["rules"]]
    try:
        ran = shell("up", "--demo", "--script", written(shell, "script.json", json.dumps(script)), "-d")
        assert ran.status == 0, ran.talk
        lines = shell("status", "-o", "env").out.splitlines()
        told = dict(line.removeprefix("export ").split("=", 1) for line in lines)
        running = Console(told["ASSAY_URL"], told["ASSAY_API_KEY"], shell)
        _wait_for_connections(running)
        yield running
    finally:
        assert shell("down").status == 0


def _wait_for_connections(console: Console) -> None:
    """On a busy machine the first requests open connections for longer than the gateway waits, and it answers 503."""

    def ask(path: str) -> int:
        with console.api as api:
            return api.get(path).status_code

    deadline = time.monotonic() + 60
    paths = ["/v1/session", "/v1/capabilities", "/v1/jobs", "/v1/jobs?state=failed"] * 2
    with ThreadPoolExecutor(len(paths)) as threads:
        while set(threads.map(ask, paths)) != {200}:
            assert time.monotonic() < deadline


@pytest.fixture(scope="session")
def prices() -> str:
    """64 days of a share's prices, which ship with matplotlib."""
    import matplotlib  # noqa: PLC0415 - only its data is wanted, and only here

    return (Path(matplotlib.__file__).parent / "mpl-data" / "sample_data" / "msft.csv").read_text()


@pytest.fixture(scope="session")
def repaired(console: Console, prices: str) -> str:
    """The id of a transform whose first attempt failed."""
    return str(console.run("transform", task=TASK, data=[{"name": "data", "csv": prices}])["id"])


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Of this package only: while it is open the thread has a running loop, in which no other test can start one."""
    try:
        found = browsers.find()
    except browsers.NoBrowser as reason:
        if "CI" in os.environ:
            raise
        pytest.skip(str(reason))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found.path, env={**os.environ, **found.environment})
        yield browser
        browser.close()


@dataclass(frozen=True)
class Visitor:
    """Somebody with a browser; what the page complains of is kept."""

    context: BrowserContext
    url: str
    complaints: list[str]
    allowed: list[str]

    def tab(self) -> Page:
        page = self.context.new_page()
        page.set_default_timeout(45_000)

        def complain(text: str) -> None:
            if not any(part in text for part in self.allowed):
                self.complaints.append(text)

        page.on("console", lambda message: complain(_said(message)) if message.type == "error" else None)
        page.on("pageerror", lambda error: complain(str(error)))
        page.on("request", lambda request: None if self._is_ours(request.url) else complain(f"leaves: {request.url}"))
        return page

    def _is_ours(self, url: str) -> bool:
        return url.startswith((self.url, "data:", "blob:", "about:"))


def settled(tab: Page) -> None:
    """Until nothing was fetched for half a second: a page that follows the jobs is never without a connection."""
    tab.wait_for_load_state("load")
    fetched = "Math.max(0, ...performance.getEntriesByType('resource').map(each => each.responseEnd))"
    while (left := tab.evaluate(f"500 + {fetched} - performance.now()")) > 0:  # the policy forbids wait_for_function
        tab.wait_for_timeout(left)


def _said(message: ConsoleMessage) -> str:
    """With the address that it is about: of a refused request the text alone names none."""
    return f"{message.text} ({message.location.get('url', '')})"


Visit = Callable[..., Visitor]


@pytest.fixture
def visit(chromium: Browser, console: Console) -> Iterator[Visit]:
    """Makes visitors; ``allowed`` are parts of messages that the test provokes."""
    visitors: list[Visitor] = []

    def make(*allowed: str, key: str | None = console.key, width: int = 1440, scheme: Any = "light") -> Visitor:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce",
            locale="en-GB", timezone_id="UTC", base_url=console.url,
        )  # fmt: skip
        if key is not None:
            # A sandboxed frame has no storage, and needs none.
            keep = f"sessionStorage.getItem('assay.key') || sessionStorage.setItem('assay.key', '{key}')"
            context.add_init_script(f"try {{ {keep} }} catch {{}}")
        visitors.append(Visitor(context, console.url, [], list(allowed)))
        return visitors[-1]

    with _closing(visitors):
        yield make


@contextmanager
def _closing(visitors: list[Visitor]) -> Iterator[None]:
    try:
        yield
        complaints = [text for visitor in visitors for text in visitor.complaints]
        assert complaints == []
    finally:
        for visitor in visitors:
            visitor.context.close()


@pytest.fixture
def page(visit: Visit) -> Page:
    """A tab of somebody who is signed in."""
    return visit().tab()
