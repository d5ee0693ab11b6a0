"""A real browser before a real installation whose models are scripted. Any error in the page fails the test."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from services.gateway.console import DIST
from tests.assay.terminal import Shell
from tests.console.once import ROOT, Prepared, installation, locked, prepared
from tests.support.keeper import run_folder

#: Machines that test are busy.
expect.set_options(timeout=45_000)

#: On the prices of a share.
TASK = "One row per month: the mean adjusted close, the number of trading days, and the total volume"


@dataclass(frozen=True)
class Console:
    """A running installation, seen from outside."""

    url: str
    tenant: str
    key: str
    shell: Shell

    @property
    def api(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.key}"}, timeout=60)

    def member(self, *scopes: str, tenant: str = "") -> Console:
        """Return the same installation as a new key of that tenant, by default the same, sees it."""
        tenant = tenant or self.tenant
        with self.api as api:
            made = api.post("/v1/keys", json={"tenant": tenant, "name": "member", "scopes": scopes}).json()
        env = {**self.shell.env, "ASSAY_URL": self.url, "ASSAY_API_KEY": made["key"]}
        return replace(self, tenant=tenant, key=made["key"], shell=replace(self.shell, env=env))

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


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let a test that changes what every tenant sees run alone: others share a lock, which it has to itself."""
    run = run_folder()
    alone = item.get_closest_marker("alone") is not None
    with (run / "alone.lock").open("w") as lock:
        with locked(run / "alone.turn"):  # so that those who share it do not keep it from who waits for all of it
            fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        return (yield)


def require(missing: str) -> None:
    """Skip the test when something is missing; in CI fail."""
    if missing:
        (pytest.fail if "CI" in os.environ else pytest.skip)(missing)


@pytest.fixture(scope="session")
def ready() -> Prepared:
    return prepared()


@pytest.fixture(scope="session")
def dist(ready: Prepared) -> Path:
    """The built console that is served."""
    require(ready.unbuilt)
    return DIST


@pytest.fixture(scope="session")
def console(dist: Path) -> Console:
    """The run's installation with the console that was just built, as a tenant of the worker's own sees it."""
    assert dist == ROOT / "console" / "dist"
    shell = installation()
    lines = shell("status", "-o", "env").out.splitlines()
    variables = dict(line.removeprefix("export ").split("=", 1) for line in lines)
    running = Console(variables["ASSAY_URL"], "default", variables["ASSAY_API_KEY"], shell)
    _wait_for_connections(running)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    return running.member("read", "write", "admin", tenant=f"tests-{worker}")


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
def chromium(ready: Prepared) -> Iterator[Browser]:
    """Of this package only: while it is open the thread has a running loop, in which no other test can start one."""
    require(ready.no_browser)
    assert ready.browser is not None
    with sync_playwright() as driver:
        environment: dict[str, str | float | bool] = {**os.environ, **ready.browser.environment}
        browser = driver.chromium.launch(executable_path=ready.browser.path, env=environment)
        yield browser
        browser.close()


@dataclass(frozen=True)
class Visitor:
    """A user with a browser; what the page complains of is kept."""

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


_QUIET = """new Promise((resolve) => {
    const fetched = performance.getEntriesByType("resource").map((each) => each.responseEnd);
    let timer = setTimeout(resolve, 500 + Math.max(0, ...fetched) - performance.now());
    new PerformanceObserver(() => {
        clearTimeout(timer);
        timer = setTimeout(resolve, 500);
    }).observe({ type: "resource" });
})"""


def settled(tab: Page) -> None:
    """Wait until nothing was fetched for half a second: a page that follows the jobs is never without a connection."""
    tab.wait_for_load_state("load")
    tab.evaluate(_QUIET)


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
    """Return a tab of a signed-in user."""
    return visit().tab()
