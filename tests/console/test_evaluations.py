"""Evaluations in the console: the matrix, what two cells differ in, a suite over time."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.accessibility import expect_accessible
from tests.console.conftest import Console, Visit
from tests.support.wait import until

pytestmark = [pytest.mark.slow(seconds=4), pytest.mark.timeout(240)]

CITIES = "city,amount\nOslo,3\nOslo,5\nRome,4\nBergen,2"
SUITE = {
    "name": "cities",
    "cases": [
        {
            "name": "total by city",
            "kind": "transform",
            "input": {"task": "Total amount by city", "data": [{"name": "data", "csv": CITIES}]},
            "expect": {"table": {"csv": "city,amount\nBergen,2\nOslo,8\nRome,4"}},
        },
        {"name": "product", "kind": "execute", "input": {"language": "python", "code": "print(6*7)"}},
    ],
}
VARIANTS = [
    {"name": "careful", "model": "groq/careful"},
    {"name": "careless", "model": "groq/careless", "prompt": "transform@1"},
]


@pytest.fixture(scope="module")
def evaluation(console: Console) -> dict[str, Any]:
    """Two models of which one loses the last city; at its end."""
    with console.api as api:
        body = {"suite": SUITE, "variants": VARIANTS, "repeat": 2}
        made = api.post("/v1/evaluations", json=body).json()

        def ended() -> dict[str, Any] | None:
            told: dict[str, Any] = api.get(f"/v1/evaluations/{made['id']}").json()
            return told if told["state"] == "finished" else None

        told = until(ended, "the evaluation ends", seconds=120)
    assert [total["successes"] for total in told["totals"]] == [4, 2], told
    return told


def test_two_cells_are_chosen_and_what_they_differ_in_is_shown(page: Page, evaluation: dict[str, Any]) -> None:
    page.goto("/evaluations")
    page.get_by_role("link", name="cities").first.click()
    totals = page.get_by_role("region", name="Totals")
    expect(totals.get_by_role("row", name=re.compile("careful"))).to_contain_text("4/4")
    expect(totals.get_by_role("row", name=re.compile("careless"))).to_contain_text("wrong table 2")
    expect(page.get_by_role("region", name="Table of comparisons")).to_contain_text("+0.50")

    page.get_by_role("button", name="total by city, careless: 0 of 2 succeeded").click()
    missing = page.get_by_role("region", name="Expected and actual result").last
    expect(missing.locator("td.dropped").first).to_have_text("Rome")
    expect(page.get_by_role("region", name="Runs of a")).to_contain_text("wrong table")

    page.get_by_role("button", name="total by city, careful: 2 of 2 succeeded").click()
    difference = page.get_by_role("region", name="Differences of the two cells")
    expect(difference.get_by_label("Differences").first.locator(".del")).to_contain_text(["iloc[:-1]"])
    expect(difference.locator("td.new").first).to_have_text("Rome")
    page.reload()
    expect(difference.locator("td.new").first, "what is chosen stands in the address").to_have_text("Rome")
    page.get_by_label("Only cases with a failure").check()
    matrix = page.get_by_role("region", name="Cases and variants")
    expect(matrix.get_by_role("rowheader")).to_have_text(["total by city"])


def test_a_suite_is_shown_over_time_and_by_version_of_its_prompt(page: Page, evaluation: dict[str, Any]) -> None:
    page.goto("/evaluations?suite=cities")
    points = page.get_by_label("Success over time").get_by_role("link")
    expect(points).to_have_count(2)
    page.get_by_text("by prompt version").click()
    expect(points).to_have_count(1)
    points.first.dispatch_event("click")
    expect(page).to_have_url(re.compile(f"/evaluations/{evaluation['id']}"))


def test_an_evaluation_is_cancelled_and_gone_on_with(page: Page, console: Console) -> None:
    slow = {"name": "wait", "kind": "execute", "input": {"language": "python", "code": "import time; time.sleep(1)"}}
    with console.api as api:
        body = {"suite": {"name": "waiting", "cases": [slow]}, "repeat": 3, "concurrency": 1}
        made = api.post("/v1/evaluations", json=body).json()
    page.goto(f"/evaluations/{made['id']}")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".state", has_text="Canceled").first).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".state.good")).to_have_text("Finished")
    expect(page.get_by_role("button", name=re.compile("wait, .*: 3 of 3"))).to_be_visible()


def test_who_may_only_read_is_told_what_is_missing(visit: Visit, console: Console, evaluation: dict[str, Any]) -> None:
    key = console.member("read").key
    with console.api as api:
        made = api.post("/v1/evaluations", json={"suite": SUITE, "variants": VARIANTS[:1], "repeat": 1}).json()
        api.post(f"/v1/evaluations/{made['id']}/cancel")
    tab = visit(key=key).tab()
    tab.goto(f"/evaluations/{made['id']}")
    expect(tab.get_by_role("button", name="Resume")).to_be_disabled()


def test_the_pages_of_an_evaluation_are_accessible(page: Page, evaluation: dict[str, Any]) -> None:
    for path in (f"/evaluations/{evaluation['id']}?a=0.0&b=0.1", "/evaluations?suite=cities"):
        expect_accessible(page, path)


def test_a_job_becomes_a_case_of_a_suite(page: Page, console: Console, evaluation: dict[str, Any]) -> None:
    job = console.run("execute", language="python", code="print('case from life')")
    page.goto(f"/jobs/{job['id']}")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Add to evaluation…").click()
    form = page.get_by_role("region", name="Add to evaluation")
    expect(form.get_by_label("The case")).to_have_value(re.compile('"stdout": "case from life'))
    form.get_by_label("Suite").fill("cities")
    form.get_by_label("Suite").press("Escape")
    expect(form.get_by_text("Its cases of the last evaluation, and this one")).to_be_visible()
    form.get_by_role("button", name="Estimate").click()
    expect(form.get_by_text(re.compile("^6 runs|^3 runs"))).to_be_visible()
    form.get_by_role("button", name="Start evaluation").click()
    expect(page).to_have_url(re.compile("/evaluations/"))
    expect(page.get_by_role("rowheader", name="print('case from life')")).to_be_visible()
    expect(page.locator(".state.good")).to_have_text("Finished")
    assert not page.url.endswith(evaluation["id"])


def test_a_shadow_is_started_and_stopped(page: Page, console: Console) -> None:
    page.goto("/evaluations")
    page.get_by_text("Shadow runs: replay live jobs").click()
    form = page.get_by_role("form", name="Start a shadow")
    expect(form.get_by_role("button", name="Start")).to_be_disabled()
    form.get_by_role("textbox", name="Model").fill("cerebras/gpt-oss-120b")
    form.get_by_role("spinbutton", name="Share, %").fill("5")
    form.get_by_role("button", name="Start").click()
    row = page.get_by_role("button", name="5 % of transform with cerebras/gpt-oss-120b")
    row.click()
    expect(page.get_by_text("No jobs replayed yet.")).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_text("stopped", exact=True)).to_be_visible()
    with console.api as api:
        [shadow] = api.get("/v1/shadows").json()["items"]
    assert (shadow["state"], shadow["share"]) == ("stopped", 0.05)
