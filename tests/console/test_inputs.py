"""Inputs that once came out wrong on a page: failures in green, titles of dashes, IDs that nothing found."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.accessibility import expect_accessible_as_it_is
from tests.console.conftest import Console

pytestmark = [pytest.mark.slow(seconds=6), pytest.mark.timeout(240)]

_FRONT_MATTER = "---\ntitle: Quarterly numbers\n---\n\nSome words.\n"
_UNKNOWN_MODULE = "# Report\n\n```python exec\nx = 1\n```\n\n```python exec\nimport a_module_that_is_not_there\n```\n"


@pytest.mark.parametrize(
    ("code", "seconds", "word"),
    [
        ("1/0", 10, "Program error"),
        ("import sys; sys.exit(3)", 10, "Program error"),
        ("import time; time.sleep(60)", 1, "Timed out"),
    ],
)
def test_a_program_that_failed_is_a_failure_in_every_place(
    page: Page, console: Console, code: str, seconds: int, word: str
) -> None:
    job = console.run("execute", language="python", code=code, limits={"wall_seconds": seconds})
    page.goto(f"/jobs/{job['id']}")
    expect(page.locator(".chips .state.bad")).to_have_text(word)
    expect(page.locator(".state.good")).to_have_count(0)
    page.get_by_role("button", name="Timeline").click()
    expect(page.locator("svg.lanes path[data-tone=failed]").first).to_be_attached()
    page.goto("/jobs")
    row = page.locator(f"[data-row='{job['id']}']")
    expect(row.locator(".state.bad")).to_have_text(word)


def test_a_document_says_how_many_of_its_blocks_failed_and_which_in_its_page(page: Page, console: Console) -> None:
    job = console.run("document", markdown=_UNKNOWN_MODULE)
    page.goto(f"/jobs/{job['id']}")
    expect(page.locator(".chips .state.bad")).to_have_text("Block failed")
    expect(page.locator(".chips")).to_contain_text("1 of 2 blocks failed")
    frame = page.frame_locator("iframe[title='The document as a page']")
    expect(frame.locator(".failed")).to_contain_text("a_module_that_is_not_there")
    page.goto("/jobs")
    expect(page.locator(f"[data-row='{job['id']}'] .state.bad")).to_have_text("Block failed")


def test_a_document_is_called_by_its_front_matter_in_every_place(page: Page, console: Console) -> None:
    job = console.run("document", markdown=_FRONT_MATTER)
    page.goto(f"/jobs/{job['id']}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Quarterly numbers")
    page.goto("/jobs")
    expect(page.locator(f"[data-row='{job['id']}']").get_by_role("link")).to_have_text("Quarterly numbers")


def test_a_pasted_id_opens_its_job(page: Page, console: Console) -> None:
    job = console.run("execute", language="python", code="6*7")
    page.goto("/jobs")
    field = page.get_by_placeholder(re.compile("title or ID"))
    field.fill(f" {job['id'].upper()} ")
    field.press("Enter")
    expect(page).to_have_url(re.compile(f"/jobs/{job['id']}"))


def test_a_page_that_loads_is_accessible(page: Page) -> None:
    """The lists are kept back: what is judged are the skeletons."""

    def later(route: Route) -> None:
        held.append(route)

    held: list[Route] = []
    page.route(re.compile(r"/v1/(jobs|flows|prompts|models|queues|collections|evaluations)(\?|$)"), later)
    for path in ("/jobs", "/flows", "/prompts", "/queues", "/evaluations"):
        page.goto(path, wait_until="domcontentloaded")
        expect(page.locator("[aria-busy=true]").first).to_be_attached()
        expect_accessible_as_it_is(page, f"{path} while it loads", ["light"])
    page.unroute_all(behavior="ignoreErrors")


def test_a_label_beside_the_data_of_a_node_is_drawn(page: Page, console: Console) -> None:
    nodes = [{"id": "a", "label": "Start"}, {"id": "b", "label": "Pay"}]
    edges = [{"id": "e", "source": "a", "target": "b"}]
    with console.api as api:
        flow = api.post("/v1/flows", json={"name": "Checkout", "nodes": nodes, "edges": edges}).json()
    page.goto(f"/flows/{flow['id']}")
    expect(page.locator(".react-flow__node")).to_contain_text(["Start", "Pay"])
    with console.api as api:
        api.delete(f"/v1/flows/{flow['id']}")
