"""Journeys without a pointer, and pages at 200 % zoom."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import Console, Visit

pytestmark = [pytest.mark.slow(seconds=6), pytest.mark.timeout(240)]

_FOCUSED = "(document.activeElement.ariaLabel || document.activeElement.innerText || '').trim()"
_IN_EDITOR = "/Escape, then Tab/.test(document.activeElement.getAttribute('aria-description') || '')"
_MANY = 120  #: tab stops of a page


def _tab_to(page: Page, name: str) -> None:
    """Press Tab until the focus is on what has that name, as anybody without a pointer does."""
    for _ in range(_MANY):
        if page.evaluate(_IN_EDITOR):  # where Tab indents; the editor's description says how one leaves
            page.keyboard.press("Escape")
        page.keyboard.press("Tab")
        if re.match(name, page.evaluate(_FOCUSED)):
            return
    raise AssertionError(f"no tab stop is called {name!r}")


def test_code_is_run_read_and_found_again_by_keys(page: Page, console: Console) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    _tab_to(page, "Run$")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Run code")).to_be_visible()
    _tab_to(page, r"Run\s+Ctrl")
    page.keyboard.press("Enter")
    expect(page.get_by_text("It ran to its end.")).to_be_visible()
    _tab_to(page, "Open full job")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/jobs/[0-9a-f-]{36}"))
    job = console.job(page)
    assert job["state"] == "succeeded"
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    expect(page.locator(f"[data-row='{job['id']}']")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/jobs/[0-9a-f-]{36}"))


def test_a_key_is_made_and_revoked_by_keys(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    _tab_to(page, "Keys$")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="New key")).to_be_visible()
    _tab_to(page, "New key")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name")).to_be_focused()
    page.keyboard.type("by keys alone")
    _tab_to(page, "Create key")
    page.keyboard.press("Enter")
    expect(dialog.locator("code.secret")).to_be_visible()
    _tab_to(page, "Done")
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    row = page.get_by_role("row").filter(has_text="by keys alone")
    expect(row).to_be_visible()
    _tab_to(page, "Actions for by keys alone")
    page.keyboard.press("Enter")
    item = page.get_by_role("menuitem", name="Revoke…")
    expect(item).to_be_visible()
    for _ in range(_MANY):
        page.keyboard.press("ArrowDown")
        if item.evaluate("element => element === document.activeElement"):
            break
    page.keyboard.press("Enter")
    question = page.get_by_role("alertdialog")
    expect(question.get_by_role("button", name="Cancel")).to_be_focused()
    _tab_to(page, "Revoke by keys alone")
    page.keyboard.press("Enter")
    expect(row).to_contain_text("Revoked")


def test_at_twice_the_size_pages_fit_and_their_buttons_are_reached(visit: Visit) -> None:
    """200 % of a window of 1440 by 900: half as many pixels of the page in each direction."""
    page = visit(width=720).tab()
    page.set_viewport_size({"width": 720, "height": 450})
    buttons = {
        "/jobs": "Export", "/transform": "Run", "/run": "Run", "/documents": "Run all",
        "/flows": "New flow", "/keys": "New key", "/evaluations": "New evaluation",
        "/prompts/execution.transform": "Run test",
    }  # fmt: skip
    for path, name in buttons.items():
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") <= 720, path
        button = page.get_by_role("button", name=re.compile(f"^{name}")).first
        if button.is_enabled():
            button.click(trial=True)
        else:
            button.scroll_into_view_if_needed()
