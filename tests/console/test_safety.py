"""What jobs write is shown and never run; the link that signs in works once."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import Console, Visit

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.xdist_group("console")]

HOSTILE = "<script>window.ran=1</script><img src=x onerror='window.ran=1'>"
_CODE = f"""
print({HOSTILE!r})
print("\\u202ereversed\\u202c")
print("\\x1b[31mred\\x1b[0m\\x1b]0;title\\x07")
"""


def test_hostile_output_is_shown_as_text(page: Page, console: Console) -> None:
    job = console.run("execute", language="python", code=_CODE)
    page.goto(f"/jobs/{job['id']}")
    output = page.locator("pre", has_text="reversed").first
    expect(output).to_contain_text(HOSTILE)
    shown = output.inner_text()
    assert "\u202e" not in shown, "what turns the direction of text is shown as a mark"
    assert "\x1b" not in shown
    for tab in ("output", "events", "input"):
        page.goto(f"/jobs/{job['id']}?tab={tab}")
        expect(page.get_by_role("tab", selected=True)).to_be_visible()
    page.goto("/jobs?q=window")
    expect(page.locator("[data-row]").first).to_be_visible()
    assert page.evaluate("window.ran") is None


def test_html_of_a_document_runs_nothing(page: Page, console: Console) -> None:
    form = "<form action='/v1/keys'><button>x</button></form>"
    text = f"# Title\n\n{HOSTILE}\n\n[a link](javascript:window.ran=1)\n\n{form}\n"
    job = console.run("document", markdown=text)
    page.goto(f"/documents?job={job['id']}")
    frame = page.frame_locator("iframe[title='The document as a page']")
    expect(frame.get_by_role("heading", name="Title")).to_be_visible()
    assert frame.locator("script, form, [onerror], a[href^='javascript']").count() == 0
    assert page.evaluate("window.ran") is None


def test_the_frame_of_a_document_follows_the_scheme(visit: Visit, console: Console) -> None:
    job = console.run("document", markdown="# Title\n")
    for scheme, background in (("dark", "rgb(27, 30, 34)"), ("light", "rgb(255, 255, 255)")):
        tab = visit(scheme=scheme).tab()
        tab.goto(f"/documents?job={job['id']}")
        body = tab.frame_locator("iframe[title='The document as a page']").locator("body")
        expect(body).to_have_css("background-color", background)
        assert tab.locator("iframe").get_attribute("sandbox") == ""


def test_ten_megabytes_of_output_leave_the_page_usable(page: Page, console: Console) -> None:
    code = "print('x' * 9_000_000)\nprint('the end')"
    job = console.run("execute", language="python", code=code, limits={"output_bytes": 10_000_000})
    page.goto(f"/jobs/{job['id']}")
    expect(page.get_by_text("It ran to its end.")).to_be_visible()
    page.get_by_role("tab", name="Input").click()
    expect(page).to_have_url(re.compile("tab=input"))
    page.get_by_role("tab", name="Result").click()
    output = page.locator("pre", has_text="the end")
    expect(output).to_contain_text("are left out here")
    assert len(output.inner_text()) < 300_000, "the page holds a part of it, and says so"
    with page.expect_download() as whole:
        page.get_by_role("button", name=re.compile("Download all of it")).click()
    assert whole.value.path().stat().st_size == 9_000_009


def test_a_link_signs_in_once(console: Console, visit: Visit) -> None:
    printed = console.shell("login")
    assert printed.status == 0, printed.talk
    link = re.findall(r"http://\S+#code=\w+", printed.out)[0]
    tab = visit(key=None).tab()
    tab.goto(link)
    expect(tab.get_by_role("heading", name="Overview")).to_be_visible()
    assert "code=" not in tab.url, "the code is in no history"
    assert tab.evaluate("sessionStorage.getItem('assay.key')") != console.key
    again = visit("401", "404", "422", "410", key=None).tab()
    again.goto(link)
    expect(again.get_by_role("alert")).to_be_visible()
    assert again.evaluate("sessionStorage.getItem('assay.key')") is None
