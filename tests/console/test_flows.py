"""A flow over time and between people: versions like a film, restored, named; two browsers on one flow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.accessibility import expect_accessible_as_it_is
from tests.console.conftest import Console, Visit, settled

pytestmark = [pytest.mark.slow(seconds=6), pytest.mark.timeout(240)]

_CHART = "flowchart LR\n  cart[Cart] --> payment[Payment]\n  payment --> receipt[Receipt]\n"
SEEN_MS = 2_000  #: by when a change of another user is in sight


@pytest.fixture
def flow(console: Console) -> Iterator[str]:
    """The id of a flow of three nodes."""
    with console.api as api:
        made = api.post("/v1/flows/import", json={"format": "mermaid", "text": _CHART, "name": "Two"}).json()
        yield made["id"]
        api.delete(f"/v1/flows/{made['id']}")


def _edit(console: Console, flow: str, name: str, **params: Any) -> None:
    with console.api as api:
        answer = api.post(f"/v1/flows/{flow}/operations", json={"tool_calls": [{"name": name, "params": params}]})
    assert answer.json()["success"], answer.text


def _labels(page: Page) -> list[str]:
    return sorted(page.locator(".react-flow__node .node-label").all_inner_texts())


def test_versions_play_like_a_film_are_named_and_restored(page: Page, console: Console, flow: str) -> None:
    job = console.run("flow", flow_id=flow, message="Put a review before the payment")
    _edit(console, flow, "updateNode", nodeId="receipt", label="Bill")
    page.goto(f"/flows/{flow}")
    page.get_by_role("tab", name="History").click()
    changes = page.get_by_role("list", name="Changes").get_by_role("listitem")
    expect(changes).to_have_count(3)
    tokens = job["usage"]["input_tokens"] + job["usage"]["output_tokens"]
    expect(changes.nth(1)).to_contain_text("Put a review before the payment")
    expect(changes.nth(1).get_by_role("link")).to_have_text(f"{tokens:,} tokens")
    expect(changes.nth(1).get_by_role("link")).to_have_attribute("href", re.compile(job["id"]))

    slider = page.get_by_role("slider", name="Version")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile(r"version=2"))
    expect(page.locator(".node.added", has_text="Review")).to_be_visible()
    assert _labels(page) == ["Cart", "Payment", "Receipt", "Review"], "as it was then"
    glides = "getComputedStyle(document.querySelector('.react-flow__node')).transitionDuration"
    assert page.evaluate(glides) == "0s", "nothing moves for who wants no motion"
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(glides) == "0.1s"
    page.emulate_media(reduced_motion="reduce")

    page.get_by_label("Name of version 2").fill("With a review")
    page.get_by_role("button", name="Save name").click()
    expect(changes.nth(1)).to_contain_text("With a review")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("version 2 of 3, With a review: Put a review"))

    page.get_by_label("Speed of the film").select_option("4")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.get_by_text("1 of 3")).to_be_visible()
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_text("3 of 3")).to_be_visible()
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert _labels(page) == ["Bill", "Cart", "Payment", "Review"], "the film ends with the present"

    page.goto(f"/flows/{flow}?version=2&panel=history")
    page.get_by_role("button", name="Restore version 2").first.click()
    expect(page.get_by_text("version 4", exact=True)).to_be_visible()
    expect(page.locator(".react-flow__node", has_text="Receipt")).to_be_visible()
    expect(changes.first).to_contain_text("Restored version 2")
    with console.api as api:
        assert "Receipt" in [node["data"]["label"] for node in api.get(f"/v1/flows/{flow}").json()["nodes"]]


def test_an_edit_by_hand_of_what_somebody_else_changed_shows_both(visit: Visit, console: Console, flow: str) -> None:
    page = visit("412").tab()
    page.goto(f"/flows/{flow}")
    text = page.get_by_label("Text of the node")
    both = page.get_by_role("alert", name="Changed by another user meanwhile")
    node = page.locator(".react-flow__node")
    node.filter(has_text="Receipt").press("Enter")
    page.keyboard.press("F2")
    text.fill("Invoice")
    _edit(console, flow, "updateNode", nodeId="receipt", label="Bill")
    expect(node.filter(has_text="Bill")).to_be_visible()
    text.press("Enter")
    expect(both.get_by_role("listitem")).to_have_text("~ Receipt is called Bill")
    expect(both).to_contain_text("Renamed Receipt to Invoice")
    assert _labels(page) == ["Bill", "Cart", "Payment"], "nothing is done before one has seen it"
    expect_accessible_as_it_is(page, "an edit that was overtaken")
    both.get_by_role("button", name="Do mine again on it").click()
    expect(node.filter(has_text="Invoice")).to_be_visible()
    expect(both).to_have_count(0)
    page.keyboard.press("F2")
    text.fill("Voucher")
    _edit(console, flow, "updateNode", nodeId="cart", label="Basket")
    expect(node.filter(has_text="Basket")).to_be_visible()
    text.press("Enter")
    expect(node.filter(has_text="Voucher")).to_be_visible()
    expect(both).to_have_count(0)


def _add(page: Page, label: str) -> None:
    page.keyboard.press("Escape")
    page.get_by_role("button", name="New node (N)").click()
    page.get_by_label("Text of the new node").fill(label)
    page.keyboard.press("Enter")


def test_two_browsers_on_one_flow_see_each_other(visit: Visit, console: Console, flow: str) -> None:
    mate = console.member("read", "write").key
    anne, bert = visit().tab(), visit("409", "404", key=mate).tab()
    for each in (anne, bert):
        each.goto(f"/flows/{flow}")
        expect(each.locator(".react-flow__node")).to_have_count(3)
        expect(each.get_by_text("Live", exact=True)).to_be_visible()
    place = "document.querySelector('.react-flow__viewport').style.transform"
    before = bert.evaluate(place)

    def seen(by: Page, label: str) -> None:
        expect(by.locator(".react-flow__node", has_text=label)).to_be_visible(timeout=SEEN_MS)

    _add(anne, "Of Anne")
    expect(anne.locator(".react-flow__node", has_text="Of Anne")).to_be_visible()
    seen(bert, "Of Anne")
    assert bert.evaluate(place) == before, "the view stays where it is"
    anne.get_by_label("What should change").fill("Put a review before the payment")
    anne.get_by_role("button", name="Send").click()
    proposal = anne.get_by_label("Proposal")
    expect(proposal).to_contain_text("node Review")
    _add(bert, "Of Bert")
    expect(bert.locator(".react-flow__node", has_text="Of Bert")).to_be_visible()
    seen(anne, "Of Bert")
    expect(proposal.get_by_role("button", name="Accept all")).to_be_disabled()
    first = anne.url
    proposal.get_by_role("button", name="Propose again").click()
    accept = proposal.get_by_role("button", name="Accept all")
    expect(accept).to_be_enabled()
    assert anne.url != first, "it was asked anew"
    accept.click()
    seen(bert, "Review")

    _edit(console, flow, "updateNode", nodeId="of_bert", label="Of both")
    seen(bert, "Of both")
    bert.get_by_role("button", name="More").click()
    bert.get_by_role("menuitem", name="Undo my last change").click()
    refusal = bert.get_by_role("alert")
    expect(refusal).to_contain_text("Your last change cannot be taken back alone")
    expect(refusal).to_contain_text("In the way: Of both")
    anne.get_by_role("button", name="More").click()
    anne.get_by_role("menuitem", name="Delete…").click()
    anne.get_by_role("button", name="Delete Two").click()
    expect(bert.get_by_text("This flow was deleted.")).to_be_visible()


def test_what_is_chosen_and_in_sight_stands_in_the_address(visit: Visit, flow: str) -> None:
    page = visit().tab()
    page.goto("/flows")
    page.get_by_role("link", name="Two").first.click()
    page.locator(".react-flow__node", has_text="Cart").click()
    page.locator(".react-flow__node", has_text="Receipt").click(modifiers=["Control"])
    zoom_in = page.get_by_role("button", name="Zoom in")
    zoom_in.click()
    entries = page.evaluate("history.length")
    page.mouse.move(500, 300)
    page.mouse.wheel(0, -200)
    expect(page).to_have_url(re.compile(r"nodes=cart%2Creceipt.*sight="))
    zoom = "new DOMMatrix(getComputedStyle(document.querySelector('.react-flow__viewport')).transform).a"
    page.locator(".react-flow__node", has_text="Cart").focus()
    page.keyboard.press("Control+Enter")
    expect(page).to_have_url(re.compile(r"nodes=receipt&"))
    assert page.evaluate("history.length") == entries, "no entry for each turn of the wheel"

    def shown(tab: Page) -> tuple[float, list[str]]:
        chosen = tab.locator(".react-flow__node.selected")
        expect(chosen).to_have_count(1)
        expect(tab.get_by_role("toolbar", name="What is chosen")).to_contain_text("Receipt")
        return round(tab.evaluate(zoom), 2), chosen.all_inner_texts()

    before = shown(page)
    assert before[0] > 1
    other = visit(width=1200).tab()
    page.reload()
    other.goto(page.url)
    for tab in (page, other):
        assert shown(tab) == before
        expect(tab.locator(".react-flow__node", has_text="Receipt")).to_be_in_viewport()
    page.get_by_role("link", name="Flows").first.click()
    expect(page.get_by_role("heading", name="Flows")).to_be_visible()
    page.go_back()
    assert shown(page) == before, "back restores it"


def _drop(page: Page, target: str, *files: tuple[str, str]) -> None:
    """Drag the files over the target and let them go there."""
    data = page.evaluate_handle(
        """(files) => {
            const data = new DataTransfer();
            for (const [name, text] of files) data.items.add(new File([text], name));
            return data;
        }""",
        files,
    )
    place = page.locator(target).first
    place.dispatch_event("dragenter", {"dataTransfer": data})
    expect(page.get_by_text("Drop Mermaid or JSON here").last).to_be_visible()
    place.dispatch_event("drop", {"dataTransfer": data})
    expect(page.locator(".drop-here")).to_have_count(0)


def test_dropped_files_become_flows_and_say_what_was_not_understood(visit: Visit, flow: str) -> None:
    page = visit("422").tab()
    page.goto("/flows")
    expect(page.get_by_role("button", name="New flow").first).to_be_visible()
    markdown = "# The shop\n\n```mermaid\nflowchart LR\n  a[Door] --> b[Till]\n  click b callback\n```\n"
    _drop(page, "h1", ("logo.png", "x"), ("broken.json", '{"nodes": [}'), ("plan.md", markdown))
    told = page.get_by_label("What was imported")
    expect(told).to_contain_text("logo.png was not imported")
    expect(told).to_contain_text(
        "Only Mermaid (.mmd, .mermaid, or in a .md) and JSON (.json, .excalidraw, .canvas) can be imported."
    )
    expect(told).to_contain_text(re.compile("broken.json was not imported.*line 1", re.DOTALL))
    expect(told).to_contain_text("plan.md was imported, but for one line")
    expect(told).to_contain_text("line 6: click b callback")
    expect(page.locator(".unseen[role=status]")).to_contain_text("plan.md was imported, but for one line")
    expect(page.get_by_role("table").get_by_role("link", name="plan", exact=True)).to_be_visible()

    page.goto(f"/flows/{flow}")
    expect(page.locator(".react-flow__node")).to_have_count(3)
    _drop(page, ".react-flow__pane", ("Warehouse.mmd", "flowchart TD\n  shelf[Shelf] --> van[Van]\n"))
    expect(page.get_by_role("heading", name="Warehouse")).to_be_visible()
    expect(page.locator(".react-flow__node", has_text="Van")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Two")).to_be_visible()
    expect(page.locator(".react-flow__node")).to_have_count(3)


def test_an_undo_says_of_what_and_one_goes_on_from_any_version(page: Page, console: Console, flow: str) -> None:
    _edit(console, flow, "updateNode", nodeId="receipt", label="Bill")
    _edit(console, flow, "deleteNode", nodeId="cart")
    page.goto(f"/flows/{flow}")
    expect(page.locator(".react-flow__node")).to_have_count(2)
    expect(page.get_by_role("button", name="Redo", exact=True)).to_be_disabled()
    expect(page.get_by_role("button", name="Undo", exact=True)).to_have_attribute(
        "title", "Undo: Deleted a node (Ctrl Z)"
    )
    assert page.locator(".react-flow__edge path[marker-end]").count() == 1, "an edge says which way it leads"
    done = page.get_by_role("status", name="What was done")
    notice = page.locator(".toast")
    for button, words in (("Undo", "Undone: Deleted a node"), ("Redo", "Redone: Deleted a node")):
        page.get_by_role("button", name=button, exact=True).click()
        expect(done).to_have_text(words)
        expect(notice.filter(has_text=words)).to_be_visible()
    page.get_by_role("button", name="Undo", exact=True).click()
    page.get_by_role("tab", name="History").click()
    changes = page.get_by_role("list", name="Changes").get_by_role("listitem")
    expect(changes.first).to_contain_text("Undone: Deleted a node")

    page.get_by_role("button", name="Show version 2").click()
    page.get_by_role("button", name="Branch from here").click()
    page.get_by_label("Name of the new flow").fill("Without a receipt")
    page.get_by_role("button", name="Begin a flow from version 2").click()
    expect(page.get_by_role("heading", name="Without a receipt")).to_be_visible()
    expect(page.get_by_text("version 1", exact=True)).to_be_visible()
    assert _labels(page) == ["Bill", "Cart", "Payment"]
    page.get_by_role("tab", name="History").click()
    page.get_by_role("link", name="from version 2 of Two").click()
    expect(page.get_by_role("heading", name="Two")).to_be_visible()
    expect(page).to_have_url(re.compile("version=2"))

    for item in ("Rename…", "Delete…"):
        page.get_by_role("button", name="More").click()
        page.get_by_role("menuitem", name=item).click()
        dialog = page.get_by_role("dialog")
        if item == "Rename…":
            dialog.get_by_label("Name").fill("Three")
            dialog.get_by_role("button", name="Rename").click()
            expect(page.get_by_role("heading", name="Three")).to_be_visible()
            settled(page)
        else:
            dialog.get_by_role("button", name="Delete Three").click()
    expect(page.get_by_role("button", name="New flow").first).to_be_visible()
    flows = page.get_by_role("region", name="All flows")
    expect(flows.get_by_role("link", name="Without a receipt")).to_be_visible()
    expect(flows.get_by_role("link", name="Three")).to_have_count(0)
    flows.get_by_role("link", name="Without a receipt").click()
    page.get_by_role("tab", name="History").click()
    expect(page.get_by_text("from version 2 of a flow that is gone")).to_be_visible()
