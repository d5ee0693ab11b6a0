"""What jobs write is shown and never run; the link that signs in works once."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import Console, Visit

pytestmark = [pytest.mark.slow(seconds=4), pytest.mark.timeout(240)]

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


def test_html_of_a_document_runs_nothing(visit: Visit, console: Console) -> None:
    # The browser reports what its policy blocks, also in the inert document in which the page cleans HTML.
    page = visit("base-uri 'none'", "Executing inline event handler violates").tab()
    form = "<form action='/v1/keys'><button>x</button></form>"
    more = (
        "<meta http-equiv='refresh' content='0;url=/jobs'><base href='/assets/'><svg><script>top.ran=1</script></svg>"
        "<iframe srcdoc='<script>top.ran=1</script>'></iframe><img src='/v1/jobs'><details open ontoggle='top.ran=1'>"
        "<img name='querySelector'><form id='main'><input name='querySelector'></form>"
    )
    code = f"```python exec\nclass Shown:\n    def _repr_html_(self):\n        return {more!r}\nShown()\n```"
    text = f"# Title\n\n{HOSTILE}\n\n[a link](javascript:window.ran=1)\n\n{form}\n\n{code}\n\n`6 * 7`{{python exec}}\n"
    job = console.run("document", markdown=text)
    page.goto(f"/documents?job={job['id']}")
    frame = page.frame_locator("iframe[title='The document as a page']")
    expect(frame.get_by_role("heading", name="Title")).to_be_visible()
    expect(frame.locator("[aria-description^='6 * 7 ']"), "our own code reaches it").to_have_text("42")
    assert page.locator("iframe[title='The document as a page']").get_attribute("sandbox") == "allow-same-origin"
    dead = "script, form, base, iframe, meta[http-equiv='refresh'], [onerror], [ontoggle], a[href^='javascript']"
    assert frame.locator(dead).count() == 0
    _let_run(page)
    assert page.evaluate("window.ran") is None
    assert page.url.endswith(job["id"])


def test_pictures_and_tables_keep_their_shape_and_load_nothing(page: Page, console: Console) -> None:
    shown = (
        "<svg width='200' height='100' viewBox='0 0 200 100'><defs><linearGradient id='g'/></defs>"
        "<path d='M10 20L110 20' stroke='black'/><text x='50' y='60' fill='url(#g)'>mean</text>"
        "<rect id='out' x='5' width='9' height='9' fill='url(https://example.com/a.svg#b)'/>"
        "<image x='1' href='/v1/jobs'/><use href='https://example.com/a.svg#b'/><a href='https://example.com'>away</a></svg>"
        "<table><tr><th colspan='2' rowspan='3' background='/v1/jobs'>both</th></tr></table>"
    )
    code = f"class Shown:\n    def _repr_html_(self):\n        return {shown!r}\ndisplay(Shown())"
    job = console.run("execute", language="python", code=code)
    page.goto(f"/jobs/{job['id']}")
    frame = page.frame_locator("iframe")
    words = frame.locator("svg text")
    expect(words).to_have_attribute("x", "50")
    expect(words).to_have_attribute("fill", "url(#g)")
    assert words.evaluate("text => text.getBBox().y") > 40, "it is where the picture places it"
    assert frame.locator("svg path").evaluate("path => path.getTotalLength()") == 100
    expect(frame.locator("th", has_text="both")).to_have_attribute("colspan", "2")
    expect(frame.locator("th", has_text="both")).to_have_attribute("rowspan", "3")
    expect(frame.locator("svg rect")).to_have_attribute("width", "9")
    assert frame.locator("[href]:not([href^='#']), [background], [fill*='example.com']").count() == 0


def _let_run(page: Page) -> None:
    """Wait until what the page loads and what it has scheduled by then would have run."""
    page.evaluate("fetch('/healthz').then(() => new Promise(done => requestAnimationFrame(() => setTimeout(done))))")


def test_the_frame_of_an_output_is_of_nobodys_origin(page: Page, console: Console) -> None:
    shown = "class Shown:\n    def _repr_html_(self):\n        return '<b>bold</b>'\ndisplay(Shown())"
    job = console.run("execute", language="python", code=shown)
    page.goto(f"/jobs/{job['id']}")
    expect(page.frame_locator("iframe").get_by_text("bold")).to_be_visible()
    expect(page.locator("iframe")).to_have_attribute("sandbox", "")


def test_a_frame_of_our_origin_runs_nothing_even_if_it_were_not_cleaned(visit: Visit, console: Console) -> None:
    job = console.run("document", markdown="# Title\n")
    page = visit("Blocked script execution", "Content Security Policy").tab()
    page.goto(f"/documents?job={job['id']}")
    expect(page.frame_locator("iframe[title='The document as a page']").get_by_role("heading")).to_be_visible()
    with page.expect_console_message(lambda message: "Blocked script execution" in message.text):
        page.evaluate(
            """() => {
            const inside = document.querySelector("iframe[title='The document as a page']").contentDocument;
            const script = inside.createElement("script");
            script.src = [...document.scripts].find((each) => each.src).src;  // what the policy would let through
            script.onload = () => { window.ran = 1; };
            const button = inside.createElement("button");
            button.setAttribute("onclick", "top.ran = 1");
            inside.body.append(script, button);
            button.click();
        }"""
        )
    _let_run(page)
    assert page.evaluate("window.ran") is None


def test_the_frame_of_a_document_follows_the_scheme(visit: Visit, console: Console) -> None:
    job = console.run("document", markdown="# Title\n")
    for scheme, background in (("dark", "rgb(27, 30, 34)"), ("light", "rgb(255, 255, 255)")):
        tab = visit(scheme=scheme).tab()
        tab.goto(f"/documents?job={job['id']}")
        body = tab.frame_locator("iframe[title='The document as a page']").locator("body")
        expect(body).to_have_css("background-color", background)


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
