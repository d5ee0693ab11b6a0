"""The console with much data: 10,000 jobs, a job with 10,000 events, a diagram of 5,000 nodes, in a real browser.

``python -m benchmarks.console``: an installation of its own, Chromium without a window. An interaction is what the
browser's own clock calls one (Event Timing: from the key or button to the next frame that is painted); a frame is the
time between two paintings while something moves. Memory is what the page holds after its rubbish was collected.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2 as httpx
from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.table import Table
from uuid_utils import uuid7

from benchmarks.installation import ROOT, Installation, installation
from shared.db import connect
from shared.jobs.record.tables import job_events, jobs
from tests.console import browser as browsers
from tests.support.rows import job_row

JOBS, EVENTS, NODES = 10_000, 10_000, 5_000
_ACROSS = 70  # nodes in a row of the diagram
#: Collects what the browser measures by itself.
_WATCH = """
window.interactions = [];
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) if (each.interactionId) interactions.push(each.duration);
}).observe({type: 'event', durationThreshold: 16});
"""
_FRAMES = """
() => { window.frames_ = []; let last = performance.now(); window.moving = true;
  const step = (now) => { frames_.push(now - last); last = now; if (moving) requestAnimationFrame(step); };
  requestAnimationFrame(step); }
"""


@dataclass(frozen=True)
class Measured:
    what: str
    opened: float  #: seconds until it is there
    interaction: float  #: milliseconds, the longest
    frame: float  #: milliseconds, the median while it is scrolled or moved
    worst_frame: float  #: milliseconds, of 95 %
    elements: int
    megabytes: float


def main() -> int:
    subprocess.run([sys.executable, str(ROOT / "console" / "build.py"), "--strict"], check=True)
    with installation() as place, place.gateway() as port, _browser() as browser:
        url = f"http://127.0.0.1:{port}"
        job = _fill(place)
        flow = _diagram(url, place)
        results = [
            _measured(browser, url, place.key, "10,000 jobs", "/jobs", _jobs),
            _measured(browser, url, place.key, "10,000 events", f"/jobs/{job}?tab=events", _events),
            _measured(browser, url, place.key, "5,000 nodes", f"/flows/{flow}", _flow),
        ]
    _print(results)
    return 0


@contextmanager
def _browser() -> Iterator[Browser]:
    there = browsers.find()
    with sync_playwright() as driver:
        environment: dict[str, Any] = {**os.environ, **there.environment}
        browser = driver.chromium.launch(executable_path=there.path, env=environment)
        yield browser
        browser.close()


def _fill(place: Installation) -> str:
    """Jobs that have ended, one of them with many events; its id."""
    began = datetime.now(UTC) - timedelta(hours=10)
    rows = [
        job_row(
            id=str(uuid7()), tenant_id="bench", kind=("transform", "execute", "search")[number % 3],
            state="failed" if number % 10 == 0 else "succeeded", input={"task": f"Task {number}", "data": []},
            created_at=began + timedelta(seconds=number), started_at=began + timedelta(seconds=number),
            finished_at=began + timedelta(seconds=number + 2), last_seq=EVENTS if number == 0 else 0,
        )
        for number in range(JOBS)
    ]  # fmt: skip
    of = str(rows[0]["id"])
    engine = connect(place.stores.database_url)
    with engine.begin() as connection:
        connection.execute(jobs.insert(), rows)
        connection.execute(job_events.insert(), list(_history(of, began)))
    engine.dispose()
    return of


def _history(job: str, began: datetime) -> Iterator[dict[str, object]]:
    for seq in range(1, EVENTS + 1):
        name = {1: "job_queued", 2: "job_started", EVENTS: "job_succeeded"}.get(seq, "llm_call")
        data = {"outcome": "ok", "provider": "groq", "seconds": 0.5, "turn": seq} if name == "llm_call" else {}
        at = began + timedelta(seconds=seq)
        event = {"tenant_id": "bench", "job_id": job, "seq": seq, "type": name}
        yield {**event, "fence": 1, "at": at, "data": data}


def _diagram(url: str, place: Installation) -> str:
    def position(number: int) -> dict[str, float]:
        return {"x": 220.0 * (number % _ACROSS), "y": 120.0 * (number // _ACROSS)}

    nodes = [{"id": f"n{i}", "position": position(i), "data": {"label": f"Step {i}"}} for i in range(NODES)]
    edges = [
        {"id": f"e{i}", "source": f"n{i - 1}", "target": f"n{i}", "data": {"label": f"then {i}"}}
        for i in range(1, NODES)
    ]
    made = httpx.post(
        f"{url}/v1/flows",
        json={"name": "Large", "nodes": nodes, "edges": edges},
        headers=place.authorization,
        timeout=60,
    )
    return str(made.raise_for_status().json()["id"])


def _measured(
    browser: Browser, url: str, key: str, what: str, path: str, act: Callable[[Page], tuple[float, list[float]]]
) -> Measured:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=url, reduced_motion="reduce")
    context.add_init_script(f"try {{ sessionStorage.setItem('assay.key', '{key}') }} catch {{}}")
    context.add_init_script(_WATCH)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(path)
    opened, frames = act(page)
    page.wait_for_timeout(500)
    interactions = page.evaluate("interactions")
    elements = page.evaluate("document.querySelectorAll('*').length")
    session = context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    memory = session.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    context.close()
    ordered = sorted(frames)
    return Measured(
        what, opened, max(interactions, default=0.0), statistics.median(ordered),
        ordered[int(len(ordered) * 0.95)], elements, memory,
    )  # fmt: skip


@contextmanager
def _frames(page: Page) -> Iterator[list[float]]:
    """How long each frame took meanwhile."""
    frames: list[float] = []
    page.evaluate(_FRAMES)
    yield frames
    page.evaluate("moving = false")
    frames += page.evaluate("frames_.slice(1)")


def _jobs(page: Page) -> tuple[float, list[float]]:
    began = time.monotonic()
    page.locator("[data-row]").first.wait_for()
    opened = time.monotonic() - began
    rows = page.get_by_role("table", name="Jobs")
    rows.hover()
    while int(rows.get_attribute("aria-rowcount") or 0) < JOBS:  # the list fetches page after page
        page.mouse.wheel(0, 100_000)
        page.wait_for_timeout(10)
    with _frames(page) as frames:
        for _ in range(60):
            page.mouse.wheel(0, -2500)
            page.wait_for_timeout(16)
    for key in ("j", "j", "k", "x", "x"):
        page.keyboard.press(key)
    page.locator("[data-pick]").nth(3).click()
    page.get_by_role("textbox", name="What it was about").press_sequentially("Task 77")
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    return opened, frames


def _events(page: Page) -> tuple[float, list[float]]:
    began = time.monotonic()
    page.get_by_role("tab", name=f"Events {EVENTS}").wait_for()
    opened = time.monotonic() - began
    page.get_by_role("list", name="Events").hover()
    with _frames(page) as frames:
        for _ in range(60):
            page.mouse.wheel(0, 3000)
            page.wait_for_timeout(16)
    page.locator("[data-seq]").nth(5).click()
    timeline = page.locator("figure.timeline")
    timeline.focus()
    for key in ("+", "+", "ArrowRight", "-", "0"):
        timeline.press(key)
    page.get_by_role("tab", name="Input").click()
    page.get_by_role("tab", name=f"Events {EVENTS}").click()
    return opened, frames


def _flow(page: Page) -> tuple[float, list[float]]:
    began = time.monotonic()
    page.locator(".react-flow__node").first.wait_for()
    opened = time.monotonic() - began
    pane = page.locator(".react-flow__pane")
    box = pane.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    for _ in range(25):  # to where a node can be read, as one works
        page.mouse.wheel(0, -120)
        page.wait_for_timeout(30)
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    with _frames(page) as frames:
        for step in range(90):
            page.mouse.move(box["x"] + 5 + step * 4, box["y"] + 5 + step * 2)
            page.wait_for_timeout(8)
    page.mouse.up()
    page.mouse.click(*_middle_of_a_node(page))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    return opened, frames


def _middle_of_a_node(page: Page) -> tuple[float, float]:
    """Of one that is in sight as it is: choosing it must not move the diagram first."""
    pane = page.locator(".react-flow__pane").bounding_box()
    boxes = [node.bounding_box() for node in page.locator(".react-flow__node").all()]
    assert pane is not None
    for box in boxes:
        if box is not None and pane["x"] + 50 < box["x"] < pane["x"] + pane["width"] / 2:
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            if pane["y"] + 20 < y < pane["y"] + pane["height"] - 20:
                return x, y
    raise AssertionError("no node is in sight")


def _print(results: list[Measured]) -> None:
    table = Table("", "opens s", "interaction ms", "frame p50", "frame p95", "elements", "memory MB")
    for each in results:
        numbers = (each.interaction, each.frame, each.worst_frame, each.elements, each.megabytes)
        table.add_row(each.what, f"{each.opened:.2f}", *(f"{number:,.0f}" for number in numbers))
    Console(width=100).print(table)


if __name__ == "__main__":
    sys.exit(main())
