"""What people do with the console, in a real browser, on real jobs."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import httpx2 as httpx
import pytest
from playwright.sync_api import Page, expect

from tests.console.accessibility import expect_accessible_as_it_is
from tests.console.conftest import TASK, Console, Visit

pytestmark = [pytest.mark.slow(seconds=4), pytest.mark.timeout(240)]

_EXAMPLES = ("Run Python in the sandbox", "Have a model transform a table", "Run the code of a document")


def test_a_wrong_key_is_refused_and_a_right_one_signs_in(console: Console, visit: Visit) -> None:
    tab = visit("401", key=None).tab()
    tab.goto("/jobs?kind=execute")
    key = tab.get_by_role("textbox", name="API key")
    key.fill("ask_wrong")
    key.press("Enter")
    expect(tab.get_by_role("alert")).to_contain_text("This API key isn’t valid. It may be revoked")
    key.fill("ask_\N{CYRILLIC SMALL LETTER A}bc")
    key.press("Enter")
    expect(tab.get_by_role("alert")).to_contain_text("This API key isn’t valid. Keys start with ask_")
    tab.evaluate("delete Crypto.prototype.randomUUID")  # as where a page comes by HTTP from another machine
    key.fill(console.key)
    key.press("Enter")
    expect(tab.get_by_role("heading", name="Jobs")).to_be_visible()
    kept = tab.evaluate("sessionStorage.getItem('assay.key')")
    assert kept.startswith("ask_")
    assert kept != console.key, "the browser keeps a session's key and not the key itself"


def test_a_session_that_ends_in_the_middle_of_work_loses_nothing(console: Console, visit: Visit) -> None:
    with console.api as api:
        session = api.post("/v1/sessions").json()
    tab = visit("401", key=session["key"]).tab()
    tab.goto("/transform")
    tab.get_by_label("Task").fill("a task that took a while to write")
    with console.api as api:
        assert api.delete(f"/v1/keys/{session['key_id']}").status_code == 204
    expect(tab.get_by_role("heading", name="Your session has ended")).to_be_visible(timeout=30_000)
    tab.get_by_role("textbox", name="API key").fill(console.key)
    tab.get_by_role("button", name="Sign in").click()
    expect(tab.get_by_role("heading", name="Your session has ended")).to_have_count(0)
    expect(tab.get_by_label("Task")).to_have_value("a task that took a while to write")
    assert tab.evaluate("sessionStorage.getItem('assay.key')") != session["key"], "the ended key is kept no longer"


def test_what_was_typed_for_one_tenant_is_not_shown_to_another(console: Console, visit: Visit) -> None:
    other = console.member("read", "write", tenant="elsewhere")
    with console.api as api:
        session = api.post("/v1/sessions").json()
    tab = visit("401", key=session["key"]).tab()
    tab.goto("/transform")
    expect(tab.get_by_role("button", name=f"{console.tenant}, account menu")).to_be_visible()
    tab.get_by_label("Task").fill("a secret of the first tenant")
    with console.api as api:
        assert api.delete(f"/v1/keys/{session['key_id']}").status_code == 204
    tab.get_by_role("textbox", name="API key").fill(other.key)
    tab.get_by_role("button", name="Sign in").click()
    expect(tab.get_by_role("heading", name="Overview")).to_be_visible()
    expect(tab.get_by_role("button", name="elsewhere, account menu")).to_be_visible()
    tab.get_by_role("link", name="Transform", exact=True).click()
    expect(tab.get_by_label("Task")).to_have_value("")
    assert "secret of the first" not in tab.evaluate("JSON.stringify(sessionStorage)")


def test_each_example_runs_by_one_click_from_nothing(console: Console, visit: Visit) -> None:
    nobody = console.member("read", "write", tenant="empty")
    tab = visit(key=nobody.key).tab()
    for number, kind in enumerate(("execute", "transform", "document")):
        tab.goto("/")
        steps = tab.get_by_role("region", name="Get started with Assay")
        expect(steps).to_contain_text("Server is running")
        expect(steps).to_contain_text(f"curl -s {console.url}/v1/jobs")
        expect(tab.get_by_text("No jobs yet. Try an example.")).to_have_count(0 if number else 1)
        steps.get_by_role("button", name=_EXAMPLES[number]).click()
        expect(tab).to_have_url(re.compile("/jobs/"))
        expect(tab).to_have_title(re.compile("^(Succeeded|Done) · "))
        job = nobody.job(tab)
        assert (job["kind"], job["state"]) == (kind, "succeeded")
        if kind == "execute":
            expect(tab.get_by_text("It ran to its end.")).to_be_visible()
            assert job["result"]["verdict"] == "ok"


def test_a_transform_shows_what_failed_what_was_changed_and_what_it_did(
    page: Page, console: Console, repaired: str
) -> None:
    page.goto(f"/jobs/{repaired}?tab=attempts")
    second = page.get_by_label("Attempt 2", exact=True)
    expect(second).to_contain_text("Attempt 1 failed with")
    expect(second).to_contain_text("Label(s) ['Adj Close'] do not exist")
    expect(second.locator(".ln.del")).to_contain_text('("Adj Close", "mean")')
    expect(second.locator(".ln.add").first).to_contain_text('("Adj. Close*", "mean")')
    expect(page.get_by_label("Attempt 1", exact=True).locator(".ln.mark")).to_contain_text("Adj Close")
    page.get_by_role("tab", name="Result").click()
    with page.expect_download() as table:
        page.get_by_role("group", name="Download the table").get_by_role("button", name="CSV").click()
    lines = table.value.path().read_text().splitlines()
    assert (lines[0], len(lines), table.value.suggested_filename) == ("month,mean_close,days,volume", 5, "result.csv")
    page.get_by_text("Column lineage").click()
    origins = page.get_by_role("region", name="Column lineage")
    for column, source in (
        ("month", "from data.Date"),
        ("mean_close", "from data.Adj. Close*"),
        ("volume", "from data.Volume"),
    ):
        expect(origins.get_by_role("row", name=re.compile(f"^{column} "))).to_contain_text(source)
    expect(origins).not_to_contain_text("made by the code")
    expect(page.get_by_text("All of the values depend on the data.")).to_be_visible()
    expect(page.get_by_role("region", name="The result").get_by_role("columnheader").first).to_have_attribute(
        "title", re.compile(r"^from data\.Date")
    )
    page.get_by_role("tab", name="Input").click()
    request = page.get_by_role("region", name="Request", exact=True)
    expect(request.get_by_role("heading", name="task")).to_be_visible()
    expect(request).to_contain_text(TASK)
    page.get_by_role("tab", name="Models").click()
    expect(page.locator(".trail").first).to_contain_text("cerebras ok")
    expect(page.get_by_label("Every model call")).to_contain_text("execution.transform v1")
    with console.api as api:
        calls = api.get(f"/v1/jobs/{repaired}/llm-calls").json()["items"]
    rows = page.get_by_label("Every model call").locator("tbody tr")
    assert rows.count() == len(calls) > 1, "every call of the ledger has its row"


def test_a_column_is_told_as_copied_or_as_made_by_the_code(page: Page, console: Console) -> None:
    code = "result = data.assign(twice=data.n * 2, source='shop')"
    job = console.run("transform", task="as told", data=[{"name": "data", "csv": "id,n\n1,5\n2,6\n3,7\n"}], code=code)
    page.goto(f"/jobs/{job['id']}?tab=result")
    page.get_by_text("Column lineage").click()
    rows = page.get_by_role("region", name="Column lineage").get_by_role("row")
    expect(rows).to_contain_text(
        [
            "copied from data.id",
            "copied from data.n",
            "from data.n",
            "made by the code (a literal)",
        ]
    )
    expect(page.get_by_text("75% of the values depend on the data.")).to_be_visible()


def test_an_unverified_result_is_shown_with_its_reasons_and_as_no_success(page: Page, console: Console) -> None:
    job = console.run("transform", task="invent some", data=[{"name": "data", "csv": "city,n\nRome,1\nOslo,2\n"}])
    assert job["result"]["status"] == "unverified"
    page.goto(f"/jobs/{job['id']}?tab=result")
    expect(page.locator(".state.warn", has_text="Unverified").first).to_be_visible()
    reason = page.locator(".callout.warn", has_text="nothing proves this result")
    expect(reason).to_contain_text("The code never reads the data set data")
    page.get_by_text("Column lineage").click()
    rows = page.get_by_role("region", name="Column lineage").get_by_role("row")
    expect(rows).to_contain_text(["made by the code (a literal)"] * 2)
    page.get_by_role("tab", name="Attempts").click()
    attempt = page.get_by_label("Attempt 1", exact=True)
    expect(attempt.locator(".state")).to_have_class("state warn")
    expect(attempt.locator(".callout.warn")).to_contain_text("The code never reads the data set data")
    page.goto(f"/transform?job={job['id']}")
    expect(page.get_by_role("tab", name="○ Attempt 1")).to_be_visible()
    page.goto("/jobs")
    expect(page.get_by_role("row", name=re.compile("Unverified")).first).to_be_visible()


def test_a_turn_is_chosen_in_the_timeline_and_shown_in_every_part(page: Page, repaired: str) -> None:
    page.goto(f"/jobs/{repaired}")
    page.get_by_role("button", name="Timeline").click()
    turns = page.get_by_role("group", name="Turns of the timeline")
    expect(turns.get_by_role("button")).to_have_text(["turn 1", "turn 2", "turn 3"])
    turns.get_by_role("button", name="turn 2").press("Enter")
    expect(page).to_have_url(re.compile("turn=2"))
    expect(page.get_by_role("tab", name="Attempts")).to_have_attribute("aria-selected", "true")
    expect(page.locator("[data-attempt][data-chosen=true]")).to_have_attribute("aria-label", "Attempt 2")
    page.keyboard.press("[")
    expect(page).to_have_url(re.compile("turn=1"))
    page.get_by_role("tab", name="Models").click()
    expect(page.locator(".trail[data-chosen=true]")).to_contain_text("turn 1")
    lanes = page.locator("svg.lanes")
    paths = lanes.locator("path[data-tone]").evaluate_all("all => all.map(each => each.getAttribute('d')).join('')")
    widths = [float(width) for width in re.findall(r"h([\d.]+)v", paths)]
    assert len(widths) > 6
    assert min(widths) >= 3
    lanes.hover(position={"x": 1, "y": 12})  # a wait is never thinner than 3 px
    expect(lanes.locator("title").first).to_have_text(re.compile("^queued: "))
    lanes.click(position={"x": 9, "y": 3 * 24 + 12})
    expect(page).to_have_url(re.compile("turn=3"))
    expect(turns.get_by_role("button", name="turn 3")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Every model call").locator("tr[aria-current=true]").first).to_contain_text("3")
    box = lanes.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 20, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    page.mouse.up()
    expect(page.get_by_role("button", name="Show all")).to_be_visible()
    expect(page).to_have_url(re.compile(r"turn=3.*zoom=[\d.]+-[\d.]+"))
    lanes.hover()
    page.locator("figure.timeline").press("0")
    expect(page.get_by_role("button", name="Show all")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("zoom="))
    page.get_by_text("Timeline as a table").click()
    table = page.get_by_role("region", name="Timeline as a table")
    expect(table.get_by_role("row", name=re.compile("^turn 1"))).to_contain_text("run: error")
    page.get_by_role("tab", name="Prompt").click()
    expect(page.get_by_role("combobox", name="Call")).to_have_value(re.compile("^turn 3 .* ok$"))
    expect(page.locator("mark.sent", has_text='"2003-06"').first).to_be_visible()
    page.get_by_role("navigation").get_by_role("link", name="Jobs", exact=True).click()
    page.locator(f"[data-row] a[href*='{repaired}']").first.click()
    expect(page.get_by_role("tab", name="Prompt")).to_have_attribute("aria-selected", "true")


def test_another_way_goes_on_from_an_attempt(page: Page, console: Console, repaired: str) -> None:
    page.goto(f"/jobs/{repaired}?tab=attempts")
    first, second = (page.get_by_label(f"Attempt {number}", exact=True) for number in (1, 2))
    first.get_by_role("button", name="Branch from here").click()
    expect(first.get_by_label("Next task")).to_be_disabled()
    second.get_by_role("button", name="Branch from here").click()
    expect(page).to_have_url(re.compile("branch=2"))
    expect(first.get_by_label("Next task")).to_have_count(0)
    second.get_by_label("Next task").fill("The volume of each day")
    second.get_by_role("button", name="Run task").click()
    expect(page).to_have_url(re.compile("/transform\\?job="))
    expect(page.locator(".state.good, .state.bad").first).to_be_visible()
    branched = console.job(page)["input"]
    assert branched["branch"] == {"job_id": repaired, "iteration": 2}
    page.go_back()
    code = second.get_by_label("Code of this attempt")
    code.fill(f"{code.input_value()}\nresult = result.head(1)")
    expect(second.get_by_label("Differences").last.locator(".add")).to_contain_text("result.head(1)")
    second.get_by_role("button", name="Run code").click()
    expect(page.get_by_role("region", name="The result").get_by_role("row")).to_have_count(2)
    ran = console.job(page)
    assert (ran["state"], ran["result"]["table"]["row_count"], ran["usage"]["llm_calls"]) == ("succeeded", 1, 0)


def test_a_line_of_the_effect_becomes_an_assertion_that_is_tried_without_a_model(
    page: Page, console: Console, repaired: str
) -> None:
    page.goto(f"/transform?job={repaired}")
    expect(page.get_by_role("tab", name="Attempt 2", selected=True)).to_be_visible()
    came = page.get_by_role("region", name="What attempt 2 came to")
    expect(came.get_by_role("columnheader", name="+ month")).to_be_visible()
    page.get_by_role("tab", name="Attempt 1").click()
    expect(page).to_have_url(re.compile("attempt=1"))
    expect(page.get_by_label("Attempt 1", exact=True)).to_contain_text("KeyError")
    expect(came).to_have_count(0)
    page.get_by_role("button", name="assert rows == 4").click()
    listed = page.get_by_label("Assertions").first
    expect(listed).to_contain_text("rows == 4")
    page.get_by_role("button", name="Run checks on this result").click()
    expect(page).not_to_have_url(re.compile(repaired))
    expect(page.get_by_label("holds", exact=True).first).to_be_visible()
    expect(page.get_by_text("$0")).to_have_count(0)
    tried = console.job(page)
    assert tried["input"]["assertions"] == ["rows == 4"]
    with console.api as api:
        assert api.get(f"/v1/jobs/{tried['id']}/llm-calls").json()["items"] == []


def test_an_answer_that_checked_itself_shows_what_its_checks_would_have_noticed(
    page: Page, console: Console, prices: str
) -> None:
    job = console.run("transform", task="The volume of each day", data=[{"name": "data", "csv": prices}])
    page.goto(f"/jobs/{job['id']}")
    checks = page.get_by_label("Checks", exact=True)
    for stated in ("rows unchanged", "sum(Volume) unchanged", "the result has rows"):
        expect(checks.locator(".check.good", has_text=stated)).to_be_visible()
    checks.locator("summary").click()
    spoilt = page.get_by_role("region", name="Spoilt results")
    expect(spoilt.get_by_role("row", name="the first half")).to_contain_text("✓ noticedrows unchanged")
    expect(spoilt.get_by_role("row", name="other numbers")).to_contain_text("sum(Volume) unchanged")
    expect(spoilt.get_by_role("row", name="in reverse")).to_contain_text("not noticed")
    assert job["usage"]["llm_calls"] == 1


def test_a_transform_is_made_from_nothing(page: Page, console: Console, prices: str) -> None:
    page.goto("/transform")
    page.get_by_role("button", name="Paste CSV").click()
    page.get_by_label("CSV with a line of names").fill(prices)
    page.get_by_role("button", name="Use it").click()
    page.get_by_role("button", name="Volume", exact=True).click()
    expect(page.get_by_label("What the model sees of data")).to_contain_text("••••")
    page.get_by_label("Task").fill(TASK)
    page.get_by_label("Model", exact=True).first.fill("cerebras")
    page.get_by_role("option", name="cerebras").first.click()
    page.get_by_label("Timeout (s)").fill("120")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("region", name="The result")).to_contain_text("2003-09")
    expect(page.get_by_label("What left this machine")).to_contain_text("Volume")
    job = console.job(page)
    assert job["state"] == "succeeded"
    assert job["input"]["preview"]["mask"] == ["Volume"]
    assert job["budget"] == {"seconds": 120}
    assert job["overrides"]["model"].startswith("cerebras/")
    volumes = {line["Volume"] for line in csv.DictReader(io.StringIO(prices))}
    with console.api as api:
        calls = api.get(f"/v1/jobs/{job['id']}/llm-calls").json()["items"]
        assert {call["requested"]["provider"] for call in calls} == {"cerebras"}
        ids = [call["id"] for call in calls if call["outcome"] != "skipped"]
        sent = [api.get(f"/v1/jobs/{job['id']}/llm-calls/{each}").json()["messages"] for each in ids]
    words = " ".join(message["content"] for messages in sent for message in messages)
    assert "19-Sep-03" in words or "2003" in words, "the words of the other columns are there"
    assert not [volume for volume in volumes if volume in words], "and of the masked one none"
    page.get_by_role("link", name="Open full job").click()
    page.get_by_role("tab", name="Prompt").click()
    shown = page.get_by_role("region", name=re.compile("Messages of call"))
    expect(shown).to_contain_text("values of the data that left this machine, and hidden where")
    shown.locator("summary", has_text="user").first.click()
    expect(shown.locator("mark.sent.masked", has_text="(hidden)").first).to_be_visible()
    expect(shown.locator("mark.sent", has_text="29.96").first).to_be_visible()


def test_a_table_marks_what_an_attempt_did_and_one_goes_on_from_it(page: Page, console: Console) -> None:
    code = (
        "import pandas as pd\nresult = data[data.id != 3].assign(double=data.n * 2)\n"
        "result.loc[result.id == 2, 'n'] = 9\nresult = pd.concat([result, pd.DataFrame([{'id': 4, 'n': 1}])])"
    )
    data = [{"name": "data", "csv": "id,n\n1,5\n2,6\n3,7\n"}]
    job = console.run("transform", task="as told", data=data, code=code)
    page.goto(f"/transform?job={job['id']}")
    attempt = page.get_by_label("Attempt 1", exact=True)
    expect(attempt).to_contain_text(
        "~ 1 cell changed, + 1 row added, - 1 row removed, + 1 column added. Compared with data, rows by id"
    )
    rows = attempt.get_by_role("region", name="What attempt 1 came to").get_by_role("row")
    expect(rows.nth(2).locator(".changed")).to_have_text("~ 6 → 9")
    expect(rows.nth(3).locator(".new").first).to_have_text("4")
    expect(rows.nth(4)).to_contain_text(re.compile("^-"))
    expect(rows.nth(4).locator(".dropped").first).to_have_css("text-decoration-line", "line-through")
    attempt.get_by_text("Branch from this attempt").click()
    attempt.get_by_label("What to do with what attempt 1 gave").fill("describe it")
    attempt.get_by_role("button", name="Branch").click()
    expect(page).not_to_have_url(re.compile(job["id"]))
    branched = console.job(page)
    assert branched["input"]["branch"] == {"job_id": job["id"], "iteration": 1}
    assert branched["conversation_id"] == job["conversation_id"]


def test_a_job_is_replayed_with_a_changed_input(page: Page, console: Console) -> None:
    job = console.run("execute", language="python", code="print('before')")
    page.goto(f"/jobs/{job['id']}")
    page.get_by_role("button", name="Retry with changes…").click()
    field = page.get_by_role("textbox", name="Input")
    field.fill(field.input_value().replace("before", "after"))
    expect(page.get_by_label("Differences").locator(".add")).to_contain_text("after")
    page.get_by_label("Replay").get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("pre", has_text="after")).to_be_visible()
    expect(page.get_by_role("link", name=job["id"][:13])).to_be_visible()
    expect(page.locator(".chips .state.good")).to_be_visible()
    replay = console.job(page)
    assert (replay["replayed_from"], replay["result"]["stdout"]) == (job["id"], "after\n")


def test_a_running_job_is_watched_and_cancelled(page: Page, console: Console) -> None:
    code = "import time\nfor n in range(600):\n    print(n, flush=True)\n    time.sleep(.1)\n"
    body = {"kind": "execute", "input": {"language": "python", "code": code, "limits": {"wall_seconds": 120}}}
    with console.api as api:
        job = api.post("/v1/jobs", json=body).json()
    page.goto(f"/jobs/{job['id']}")
    expect(page.get_by_role("tab", name="Output")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".state", has_text="Canceled").first).to_be_visible()
    expect(page).to_have_title(re.compile("^Canceled · "))
    assert console.job(page)["state"] == "cancelled"


def test_a_job_shows_its_terms_and_whom_it_told(page: Page, console: Console) -> None:
    with console.api as api:
        body = {"kind": "execute", "input": {"language": "python", "code": "1"}, "priority": 7}
        webhook = {"url": "http://127.0.0.1:9/hook"}
        job = api.post("/v1/jobs", json={**body, "webhook": webhook}, headers={"Prefer": "wait=60"}).json()
    page.goto(f"/jobs/{job['id']}?tab=input")
    expect(page.get_by_role("definition").filter(has_text=re.compile("^7$"))).to_be_visible()
    told = page.get_by_role("region", name="Webhook")
    expect(told).to_contain_text("http://127.0.0.1:9/hook")
    expect(told.get_by_role("button", name="Deliver again").first).to_be_visible()


def test_jobs_are_filtered_and_the_filter_survives_going_back(page: Page, console: Console) -> None:
    console.run("execute", language="python", code="1")
    page.goto("/jobs?kind=execute")
    rows = page.locator("[data-row]")
    expect(rows.first).to_contain_text("execute")
    expect(page.locator(".strip[title^='waited']").first).to_be_visible()
    assert all("execute" in row for row in rows.all_inner_texts())
    rows.first.get_by_role("link").click()
    expect(page).to_have_url(re.compile("/jobs/"))
    page.go_back()
    expect(page).to_have_url(re.compile("kind=execute"))
    page.goto("/jobs?state=dead")
    page.get_by_role("button", name="Clear filters").first.click()  # an empty list offers it, too
    expect(rows.first).to_be_visible()
    assert "state=" not in page.url
    page.get_by_role("button", name="Add filter").click()
    page.get_by_role("menuitem", name="Warnings").click()
    expect(page.get_by_role("button", name="Remove filter Warnings")).to_be_visible()
    with console.api as api:
        warned, quiet = (api.get("/v1/jobs", params={"warnings": each}).json()["items"] for each in ("true", "false"))
    assert all(job["warnings"] for job in warned)
    assert quiet
    assert not any(job["warnings"] for job in quiet)
    expect(page.locator(f"[data-row] a[href*='{quiet[0]['id']}']")).to_have_count(0)


def test_jobs_are_counted_by_state_and_the_whole_list_is_exported(page: Page, console: Console) -> None:
    with console.api as api:  # the code is the title, and would be a formula
        for _ in range(2):
            body = {"kind": "execute", "input": {"language": "python", "code": "# =counted"}}
            ended = api.post("/v1/jobs", json=body, headers={"Prefer": "wait=60"}).json()
            assert ended["state"] == "succeeded"
    page.goto("/jobs?q=%3Dcounted")
    states = page.get_by_role("group", name="Jobs by state").get_by_role("button")
    expect(states).to_have_text(
        [
            re.compile(r"^All\s*2$"),
            re.compile(r"^Active\s*0$"),
            re.compile(r"^Done\s*2$"),
            re.compile(r"^Failed\s*0$"),
            "Used fallback",
        ]
    )
    states = states.filter(has_text="Done")
    states.click()
    expect(page).to_have_url(re.compile("outcome=Done"))
    expect(states).to_have_attribute("aria-pressed", "true")
    with page.expect_download() as csv:
        page.get_by_role("button", name="Export").click()
        page.get_by_role("menuitem", name="Export CSV").click()
    lines = Path(csv.value.path()).read_text().splitlines()
    assert (len(lines), [",'=counted," in line for line in lines]) == (3, [False, True, True])
    expect(page.get_by_text("2 jobs saved")).to_be_visible()
    with page.expect_download() as whole:
        page.get_by_role("button", name="Export").click()
        page.get_by_role("menuitem", name="Export JSON").click()
    assert [job["title"] for job in json.loads(Path(whole.value.path()).read_text())] == ["=counted"] * 2
    states.click()
    expect(states).to_have_attribute("aria-pressed", "false")


def test_places_are_reached_by_keys(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile("/jobs$"))
    page.keyboard.press("Control+k")
    page.get_by_role("textbox", name="Search pages, actions or a job ID").fill("trans")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/transform$"))
    assert page.get_by_role("dialog").count() == 0, "the palette is closed once it has led somewhere"


def test_the_palette_does_what_can_be_done_here_and_changes_are_read_out(page: Page, console: Console) -> None:
    def do(text: str) -> None:
        page.keyboard.press("Control+k")
        page.get_by_role("textbox", name="Search pages, actions or a job ID").fill(text)
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)

    job = console.run("execute", language="python", code="import time\ntime.sleep(2)")
    page.goto(f"/jobs/{job['id']}")
    expect(page.get_by_role("button", name="Retry with changes…")).to_be_visible()
    page.keyboard.press("Control+k")
    options = page.get_by_role("option")
    expect(options.filter(has_text="here").first).to_be_visible()
    for name in ("Copy ID", "Copy as curl", "Sign out"):
        expect(options.filter(has_text=name)).to_have_count(1)
    expect(options.filter(has_text="Cancel")).to_have_count(0)  # it has ended
    expect_accessible_as_it_is(page, "the palette")
    page.keyboard.press("Escape")
    do("retry with")
    expect(page.get_by_role("region", name="Replay")).to_be_visible()
    do("theme: dark")
    expect(page.locator("html[data-mantine-color-scheme=dark]")).to_be_attached()
    do("timestamps: utc")
    expect(page.locator("time").first).to_contain_text("Z")
    do("retry")
    expect(page).not_to_have_url(re.compile(job["id"]))
    expect(page.get_by_role("status").filter(has_text="execute succeeded")).to_be_attached()
    do("new job: execute")
    expect(page).to_have_url(re.compile("/run$"))


def test_only_an_admin_sees_the_keys_and_changes_models(console: Console, visit: Visit) -> None:
    tab = visit(key=console.member("read", "write").key).tab()
    tab.goto("/models?edit=flows.edit")
    role = tab.get_by_label("Role flows.edit")
    later = role.get_by_role("button", name=re.compile("down$")).first
    expect(later).to_be_disabled()
    expect(role.get_by_role("button", name="Test", exact=True)).to_have_attribute("title", "Needs the admin scope")
    places = tab.get_by_role("navigation")
    expect(places.get_by_role("link", name="Settings")).to_be_visible()
    expect(places.get_by_role("link", name="Keys")).to_have_count(0)
    tab.goto("/keys")
    expect(tab.get_by_text("You need the admin or tenant_admin scope to manage keys.")).to_be_visible()
    admin = visit().tab()
    admin.goto("/models?edit=flows.edit")
    expect(admin.get_by_role("navigation").get_by_role("link", name="Keys")).to_be_visible()
    expect(admin.get_by_label("Role flows.edit").get_by_role("button", name=re.compile("down$")).first).to_be_enabled()


def test_a_read_only_key_sees_everything_and_changes_nothing(console: Console, visit: Visit, repaired: str) -> None:
    key = console.member("read").key
    tab = visit(key=key).tab()
    tab.goto(f"/jobs/{repaired}")
    expect(tab.get_by_role("button", name="Retry", exact=True)).to_be_disabled()
    expect(tab.get_by_role("button", name="Retry", exact=True)).to_have_attribute("title", "Needs the write scope")
    with httpx.Client(base_url=console.url, headers={"Authorization": f"Bearer {key}"}) as reader:
        assert reader.post(f"/v1/jobs/{repaired}/replay").status_code == 403


def test_a_conversation_shows_what_was_said_and_opens_its_jobs(page: Page, console: Console, repaired: str) -> None:
    page.goto(f"/jobs/{repaired}?tab=input")
    page.locator("a[href*='conversations?id=']").click()
    turns = page.get_by_role("region", name="Turns")
    expect(turns.get_by_text("User", exact=True)).to_be_visible()
    expect(turns.get_by_role("article").first).to_contain_text(TASK)
    expect(page.locator("tr[aria-current=true]")).to_contain_text("transform")
    turns.get_by_role("link", name="Continue").click()
    expect(page).to_have_url(re.compile(f"/transform\\?job={repaired}"))


def test_one_switch_changes_how_all_times_are_written(page: Page, console: Console, repaired: str) -> None:
    page.goto("/jobs")
    expect(page.locator("time").first).to_contain_text("ago")
    page.get_by_role("button", name=re.compile("account menu$")).click()
    page.get_by_role("menuitem", name="UTC").click()
    expect(page.locator("time").first).to_have_text(re.compile(r"^\d\d-\d\d \d\d:\d\d:\d\dZ$"))
    page.goto("/conversations")
    expect(page.locator("time").first).to_contain_text("Z")


def test_columns_of_the_list_are_chosen_and_sized_and_the_browser_keeps_it(page: Page, console: Console) -> None:
    console.run("execute", language="python", code="print(1)")
    page.goto("/jobs")
    titles = page.get_by_role("table", name="Jobs").get_by_role("columnheader")
    expect(titles.filter(has_text="Cost")).to_be_visible()
    page.get_by_role("button", name="Columns").click()
    page.get_by_label("Cost", exact=True).uncheck()
    page.get_by_label("Width of Type").fill("150")
    expect(titles.filter(has_text="Cost")).to_have_count(0)
    page.reload()
    expect(titles.filter(has_text="Type")).to_have_css("width", "150px")
    expect(titles.filter(has_text="Cost")).to_have_count(0)
