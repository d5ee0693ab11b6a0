"""What a page shows of a job: once, in words, within reach of the keyboard, and only to those who may read it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.accessibility import expect_accessible_as_it_is
from tests.console.conftest import Console, Visit
from tests.support.wait import until

pytestmark = [pytest.mark.slow(seconds=6), pytest.mark.timeout(240)]


def test_a_job_whose_code_failed_says_so_beside_its_state_and_shows_its_traceback_once(
    page: Page, console: Console
) -> None:
    job = console.run("execute", language="python", code="1 / 0")
    page.goto(f"/jobs/{job['id']}")
    expect(page.locator(".chips .state.bad")).to_have_text("Program error")
    expect(page.get_by_text("Traceback (most recent call last)")).to_have_count(1)
    expect(page.locator(".chips")).to_contain_text("Sandbox Linux namespaces")
    expect(page.locator(".chips")).not_to_contain_text("model call")


def test_what_a_document_warns_of_is_told_once(page: Page, console: Console) -> None:
    job = console.run("document", markdown="# Broken\n\n```python exec\n1 / 0\n```\n")
    for path in (f"/jobs/{job['id']}", f"/documents?job={job['id']}"):
        page.goto(path)
        expect(page.get_by_text("chunk-1: ZeroDivisionError: division by zero", exact=True)).to_have_count(1)


def test_a_job_is_handled_by_keys_alone(page: Page, console: Console) -> None:
    made = console.run("execute", language="python", code="print('by keys')")
    page.goto(f"/jobs/{made['id']}")
    expect(page.get_by_role("heading", name="print('by keys')")).to_be_visible()
    page.keyboard.press(".")
    expect(page.get_by_role("menuitem", name="View retries")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menuitem", name="View retries")).to_have_count(0)
    page.keyboard.press("r")
    expect(page.get_by_role("region", name="Replay")).to_be_visible()
    page.get_by_label("Replay").get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("Retry of")).to_be_visible()
    page.get_by_role("link", name="compare").click()
    expect(page.get_by_role("link", name="print('by keys')")).to_have_count(2)
    page.go_back()
    expect(page.get_by_text("Retry of")).to_be_visible()
    replay = console.job(page)
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("/jobs$"))
    page.get_by_role("row", name="by keys").first.get_by_role("link").click()
    expect(page).to_have_url(re.compile(replay["id"]))
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile(made["id"]))
    page.keyboard.press("k")
    expect(page).to_have_url(re.compile(replay["id"]))
    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(page).to_have_url(re.compile("/conversations$"))


def test_attempts_are_walked_by_keys(page: Page, console: Console) -> None:
    data = [{"name": "data", "csv": "a,b\n1,2\n"}]
    with console.api as api:
        input = {"task": "plot it", "data": data, "output": "plot", "max_iterations": 2}
        body = {"kind": "transform", "input": input}
        job = api.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
    page.goto(f"/jobs/{job['id']}?tab=attempts")
    attempts = page.locator("[data-attempt]")
    expect(attempts).to_have_count(2)
    for key, at in (("]", 0), ("]", 1), ("[", 0)):
        page.keyboard.press(key)
        expect(attempts.nth(at)).to_be_focused()
    page.keyboard.press("e")
    expect(page.locator(".callout.bad").first).to_be_focused()


def test_the_last_line_of_a_running_program_stays_in_sight_until_one_scrolls_away(page: Page, console: Console) -> None:
    code = "import time\nfor n in range(600):\n    print(f'line {n}', flush=True)\n    time.sleep(.05)\n"
    body = {"kind": "execute", "input": {"language": "python", "code": code, "limits": {"wall_seconds": 120}}}
    with console.api as api:
        job = api.post("/v1/jobs", json=body).json()
    page.goto(f"/jobs/{job['id']}?tab=output")
    output = page.locator("pre.code.wrap")
    expect(output).to_contain_text("line 60\n")
    assert output.evaluate("box => box.scrollHeight - box.scrollTop - box.clientHeight") < 40
    frames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(box.scrollTop === 0))))"
    until(lambda: output.evaluate(f"box => (box.scrollTo(0, 0), {frames})"), "the page noticed that one scrolled away")
    shown = output.inner_text()
    expect(output, "more has come").not_to_have_text(shown)
    assert output.evaluate("box => box.scrollTop") == 0, "and nothing moved"
    with console.api as api:
        api.post(f"/v1/jobs/{job['id']}/cancel")


WRITES = {
    "/transform": "Run", "/run": "Run", "/documents": "Run all", "/flows": "New flow",
    "/detect": "Detect",
}  # fmt: skip


def test_who_may_only_read_is_told_so_in_every_workbench(console: Console, visit: Visit) -> None:
    key = console.member("read").key
    tab = visit(key=key).tab()
    for path, name in WRITES.items():
        tab.goto(path)
        button = tab.get_by_role("button", name=name, exact=True).first
        expect(button).to_be_disabled()
        expect(button).to_have_attribute("title", "Needs the write scope")


def test_two_jobs_are_compared_turn_by_turn(page: Page, console: Console, repaired: str) -> None:
    data = [{"name": "data", "csv": "city,amount\nOslo,1\nRome,2\n"}]
    other = console.run("transform", task="Total amount by city", data=data)
    page.goto(f"/compare?a={repaired}&b={other['id']}")
    turns = page.get_by_role("region", name=re.compile(r"^Turn \d"))
    first = turns.first
    # The provider has asked for a pause: the next call skips it.
    asked = first.get_by_role("row", name=re.compile("^A groq.openai.gpt-oss-120b (rate limited|skipped) › cerebras"))
    expect(asked).to_contain_text("$")
    expect(first.get_by_label("Differences").first).to_contain_text("Adj Close")
    first.get_by_text("Messages").click()
    expect(first.get_by_label("Differences").last).to_contain_text("Total amount by city")
    effect = page.locator("section", has=page.get_by_role("heading", name="Changes to the data"))
    expect(effect.get_by_label("Differences")).to_contain_text("rows: 65 → 4")
    with console.api as api:
        calls = [api.get(f"/v1/jobs/{id}/llm-calls").json()["items"] for id in (repaired, other["id"])]
    taken = {call["turn"] for each in calls for call in each}
    expect(turns).to_have_count(len(taken))
    expect_accessible_as_it_is(page, "two jobs compared")
