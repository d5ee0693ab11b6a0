"""Documents: what ran, where values come from, names, and the answers of models."""

from __future__ import annotations

import hashlib
import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.accessibility import expect_accessible_as_it_is
from tests.console.conftest import Console
from tests.support.wait import until

pytestmark = [pytest.mark.slow(seconds=4), pytest.mark.timeout(240)]


def test_a_document_runs_and_shows_where_its_values_come_from(page: Page, console: Console) -> None:
    page.goto("/documents")
    page.get_by_role("button", name="Run changed blocks").click()
    frame = page.frame_locator("iframe[title='The document as a page']")
    expect(frame.get_by_text("The total is 6.")).to_be_visible()
    marks = page.locator(".cm-marks")
    expect(marks).to_contain_text("✓")
    block = page.get_by_role("region", name="Block at line 3")
    expect(block.locator("pre"), "the page shows the output already").to_have_count(0)
    block.get_by_text("Output", exact=True).click()
    expect(block.locator("pre")).to_have_text("[1, 2, 3]")
    page.get_by_role("button", name="Check what changed").click()
    expect(page.locator("main").get_by_text("All blocks are up to date.")).to_be_visible()  # it is also read out
    expect(marks.get_by_title("chunk: fresh")).to_be_visible()
    ran = console.job(page)["id"]
    page.locator(".cm-line").filter(has_text="numbers = [3, 1, 2]").click()
    page.keyboard.press("End")
    page.keyboard.type(" + [4]")
    expect(page.get_by_text("The document has changed since")).to_be_visible()
    page.get_by_role("button", name="Check what changed").click()
    expect(page.locator("main").get_by_text("2 of 2 blocks need to run.")).to_be_visible()
    expect(marks.get_by_title("chunk: stale")).to_be_visible()
    assert console.job(page)["id"] == ran, "a look leaves the page where it was"
    page.get_by_role("button", name="Run changed blocks").click()
    expect(frame.get_by_text("The total is 10.")).to_be_visible()
    expect(page.get_by_text("The document has changed since")).to_have_count(0)
    page.get_by_text("Changes since the last run").click()
    expect(page.get_by_label("Differences").first).to_contain_text("output: 10")


def test_values_in_the_page_of_a_document_tell_their_code_and_lead_there(page: Page, console: Console) -> None:
    filling = "".join(f"## Part {number}\n\n{'Words. ' * 60}\n\n" for number in range(30))
    text = (
        "# Sums\n\n```python exec\nname = 'Ünï𝒳'\ntotal = 41\ntotal + 1\n```\n\n"
        f"𝒳 first: `name`{{python exec}} has `total`{{python exec}} of them.\n\n{filling}"
        "The last is `total * 2`{python exec}.\n"
    )
    job = console.run("document", markdown=text)
    page.goto(f"/documents?job={job['id']}")
    frame = page.frame_locator("iframe[title='The document as a page']")
    values = frame.locator(".value")
    expect(values).to_have_text(["42", "Ünï𝒳", "41", "82"])
    told = page.locator(".told")
    facts = (("name", "str", "9 B"), ("total", "int", "2 B"), ("total * 2", "int", "2 B"))
    for index, (code, kind, size) in enumerate(facts, 1):
        values.nth(index).focus()
        expect(told).to_contain_text(re.compile(rf"^{re.escape(code)}Kernel ?python ?Type ?{kind} ?Size ?{size}"))
        expect(told).to_contain_text(re.compile(r"SHA-256 ?[0-9a-f]{12} ?Made by ?chunk-1, lines 3 to 7"))
        expect(values.nth(index)).to_have_attribute("aria-description", re.compile(f"{kind} · .* lines 3 to 7$"))
    page.keyboard.press("Escape")
    expect(told).to_have_count(0)
    values.nth(0).hover()
    expect(told).to_contain_text(hashlib.sha256(b"42").hexdigest()[:12])
    expect_accessible_as_it_is(page, "a value that tells of itself")

    page.locator("iframe").hover()
    page.mouse.wheel(0, 100_000)
    expect(values.nth(3)).to_be_in_viewport()
    expect(page.locator(".cm-line", has_text="The last is")).to_be_in_viewport()
    until(lambda: _leads_up(page), "the page follows the editor, once the editor has followed the page")
    values.nth(3).click()
    _expect_the_cursor_at(page, "```python exec")
    values.nth(3).hover()
    told.get_by_role("button", name=re.compile("^expression-3, line")).click()
    _expect_the_cursor_at(page, "The last is")
    expect(told).to_have_count(0)
    values.nth(2).press("Enter")
    _expect_the_cursor_at(page, "```python exec")


def _leads_up(page: Page) -> bool:
    """Scroll the editor to its top, or by a pixel when it is there; return whether the page shows its first heading."""
    page.locator(".cm-scroller").evaluate(
        "element => { element.scrollTop = element.scrollTop > 1 ? 0 : 1 - element.scrollTop; }"
    )
    try:
        expect(page.frame_locator("iframe").get_by_role("heading", name="Sums")).to_be_in_viewport(timeout=500)
    except AssertionError:
        return False
    return True


def _expect_the_cursor_at(page: Page, text: str) -> None:
    """In the editor, at the line that begins so."""
    expect(page.locator(".cm-content")).to_be_focused()
    here = "element => element.ownerDocument.getSelection().anchorNode.parentElement.closest('.cm-line').textContent"
    assert str(page.locator(".cm-content").evaluate(here)).startswith(text)


def test_an_editor_that_comes_late_goes_to_where_the_page_is(page: Page, console: Console) -> None:
    filling = "".join(f"## Part {number}\n\n{'Words. ' * 60}\n\n" for number in range(30))
    job = console.run("document", markdown=f"# Sums\n\n{filling}The last.\n")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(re.compile("/assets/codemirror-"), hold)
    page.goto(f"/documents?job={job['id']}")
    frame = page.frame_locator("iframe[title='The document as a page']")
    expect(frame.get_by_role("heading", name="Sums")).to_be_visible()
    page.locator("iframe").hover()
    page.mouse.wheel(0, 100_000)
    expect(frame.get_by_text("The last.")).to_be_in_viewport()
    (editor,) = held
    editor.continue_()
    expect(page.locator(".cm-line", has_text="The last.")).to_be_in_viewport()


def test_names_of_the_document_are_offered_after_two_braces(page: Page, console: Console) -> None:
    page.goto("/documents")
    page.locator(".cm-line").filter(has_text="The total is").click()
    page.keyboard.press("End")
    page.keyboard.type(" And {{ ")
    offered = page.get_by_role("listbox", name="Names of the document")
    expect(offered.get_by_role("option")).to_have_text(["numbers", "total"])
    page.keyboard.press("ArrowDown")
    expect(offered.get_by_role("option", selected=True)).to_have_text("total")
    page.keyboard.press("Enter")
    expect(offered).to_have_count(0)
    editor = page.locator(".cm-content")
    expect(editor).to_contain_text("And {{ total}}")
    page.keyboard.type(" {{ num")
    offered.get_by_text("numbers").click()
    expect(editor).to_contain_text("{{ total}} {{ numbers}}")
    page.keyboard.type(" {{")
    page.keyboard.press("Escape")
    expect(offered).to_have_count(0)
    page.keyboard.press("Enter")
    expect(editor).to_contain_text("{{ numbers}} {{")


def test_a_value_leads_to_its_block_and_an_answer_is_edited_before_it_is_taken(page: Page, console: Console) -> None:
    text = "# Prices\n\n```python exec\nmean = 4.5\n```\n\n::: describe The mean is {{ mean }} :::\n"
    job = console.run("document", markdown=text)
    page.goto(f"/documents?job={job['id']}")
    value = page.get_by_label("Positions of values").get_by_role("button", name="4.5")
    expect(value).to_have_attribute("title", re.compile("mean · python · float .* made by chunk-1$"))
    expect(page.locator(".cm-content")).to_contain_text("mean = 4.5")
    expect(page.get_by_role("region", name="Template")).to_contain_text("The mean is {{ mean }}")
    expect(page.get_by_role("region", name="The answer", exact=True)).to_contain_text("written by a script")
    value.click()
    expect(page.locator(".cm-focused")).to_be_visible()
    answers = page.get_by_role("region", name="Answers")
    answers.get_by_role("button", name="Edit").click()
    answers.get_by_label("Answer", exact=True).fill("The mean of the prices is 4.5.")
    answers.get_by_role("button", name="Accept as edited").click()
    expect(page.locator(".cm-content")).to_contain_text("The mean of the prices is 4.5.")
    expect(answers.get_by_role("button", name="Reject")).to_have_count(0)
