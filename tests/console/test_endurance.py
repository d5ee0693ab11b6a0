"""A page that stays open: over a restart of the gateway, and next to six others."""

from __future__ import annotations

import json
import os
import re
import signal
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.console.conftest import Console, Visit
from tests.support.wait import until

pytestmark = [pytest.mark.slow(seconds=7), pytest.mark.timeout(240)]


def _counting(seconds: float) -> dict[str, object]:
    code = f"import time\nfor n in range(20):\n    print(f'line {{n}}', flush=True)\n    time.sleep({seconds / 20})\n"
    return {"kind": "execute", "input": {"language": "python", "code": code, "limits": {"wall_seconds": 120}}}


def _lines(page: Page) -> list[str]:
    return re.findall(r"line \d+", page.locator("pre.code.wrap").first.inner_text())


@pytest.mark.alone
def test_a_page_goes_on_after_the_gateway_was_restarted(console: Console, visit: Visit) -> None:
    tab = visit("Failed to load resource", "net::ERR").tab()
    with console.api as api:
        job = api.post("/v1/jobs", json=_counting(10)).json()
    tab.goto(f"/jobs/{job['id']}?tab=output")
    expect(tab.locator("pre.code.wrap")).to_contain_text("line 2")
    status = json.loads((console.shell.folder / "home" / "status.json").read_text())
    [pid] = [service["pid"] for service in status["services"] if service["name"] == "gateway-1"]
    os.kill(pid, signal.SIGKILL)
    expect(tab.locator(".state.good").first).to_be_visible(timeout=90_000)
    expect(tab.locator("pre.code.wrap")).to_contain_text("line 19")
    assert _lines(tab) == [f"line {number}" for number in range(20)], "nothing is lost and nothing comes twice"


def test_a_stream_that_is_cut_goes_on_where_it_was(console: Console, visit: Visit) -> None:
    tab = visit().tab()
    asked: list[str] = []
    with console.api as api:
        job = api.post("/v1/jobs", json=_counting(6)).json()

    def events() -> list[dict[str, Any]] | None:
        with console.api as api:
            page = api.get(f"/v1/jobs/{job['id']}/events", headers={"Accept": "application/json"})
        found: list[dict[str, Any]] = page.json()["items"]
        return found if len(found) > 6 else None

    begun = until(events, "the first lines are printed")

    def cut(route: Route) -> None:
        """The first stream ends within a frame."""
        asked.append(route.request.headers["last-event-id"])
        if len(asked) > 1:
            route.continue_()
            return
        frames = "".join(f"id: {each['seq']}\nevent: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in begun)
        route.fulfill(content_type="text/event-stream", body=frames[:-20])

    tab.route(re.compile(f"/v1/jobs/{job['id']}/events$"), cut)
    tab.goto(f"/jobs/{job['id']}?tab=output")
    output = tab.locator("pre.code.wrap")
    expect(tab.locator(".state.good").first).to_be_visible(timeout=90_000)
    expect(output).to_contain_text("line 19")
    assert _lines(tab) == [f"line {number}" for number in range(20)], "nothing is lost and nothing comes twice"
    assert asked == ["0", str(begun[-2]["seq"])], "it asks for what it has not read whole"


def test_seven_tabs_share_four_streams_and_the_others_poll(console: Console, visit: Visit) -> None:
    visitor = visit()
    tabs = [visitor.tab() for _ in range(7)]
    streaming: set[int] = set()
    for number, tab in enumerate(tabs):
        tab.on("request", partial(_note_stream, number, streaming))
    with console.api as api:
        long, short = (api.post("/v1/jobs", json=_counting(seconds)).json()["id"] for seconds in (100, 4))
    for number, tab in enumerate(tabs[:6]):
        tab.goto(f"/jobs/{long if number < 4 else short}?tab=output")
        expect(tab.locator("pre.code.wrap")).to_contain_text("line 0")
    tabs[6].goto("/jobs")
    console.run("execute", language="python", code="print('seen by polling')")
    expect(tabs[6].get_by_role("row", name="seen by polling").locator(".state.good")).to_be_visible()
    for tab in tabs[4:6]:
        expect(tab.locator(".state.good").first).to_be_visible()
        expect(tab.locator("pre.code.wrap")).to_contain_text("line 19")
        assert _lines(tab) == [f"line {number}" for number in range(20)], "nothing is lost and nothing comes twice"
    assert streaming == {0, 1, 2, 3}, "a browser has six connections, of which some are for requests"
    tabs[0].close()
    until(lambda: tabs[6].evaluate("1") and 6 in streaming, "one that polled has the stream that is free")
    with console.api as api:
        assert api.post(f"/v1/jobs/{long}/cancel").is_success
    for tab in tabs[1:4]:
        expect(tab.locator(".state", has_text="Canceled").first).to_be_visible()


def _note_stream(tab: int, streaming: set[int], request: Request) -> None:
    if request.headers.get("accept") == "text/event-stream":
        streaming.add(tab)


def test_new_jobs_wait_while_one_looks_at_old_ones(console: Console, visit: Visit) -> None:
    tab = visit().tab()
    console.run("execute", language="python", code="print('seen before')")
    tab.goto("/jobs")
    tab.get_by_role("row", name="seen before").get_by_role("checkbox").check()
    console.run("execute", language="python", code="print('comes later')")
    new = tab.get_by_role("button", name=re.compile(r"Show \d+ new"))
    expect(new).to_be_visible()
    expect(tab.get_by_role("row", name="comes later")).to_have_count(0)
    new.click()
    expect(tab.get_by_role("row", name="comes later")).to_be_visible()
