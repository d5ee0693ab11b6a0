"""A front end that saves after every layout, click and load, in a real browser: nothing of it had to be changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta

import httpx2 as httpx
import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import Engine, func, update

from shared.flows.tables import change_sets, versions
from tests.services.gateway.conftest import Gateway
from tests.services.gateway.flows.browser.conftest import Open, settled
from tests.support.scripted import ScriptedLlm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.xdist_group("console")]


def node(page: Page, id: str) -> Locator:
    return page.locator(f"[id='node-{id}']")


def labels(page: Page) -> list[str]:
    settled(page)
    return page.locator(".node").all_inner_texts()


def say(page: Page, form: str, text: str) -> None:
    page.get_by_label({"add": "New node", "rename": "Label", "chat": "Message"}[form]).fill(text)
    page.get_by_label({"add": "New node", "rename": "Label", "chat": "Message"}[form]).press("Enter")
    settled(page)


def press(page: Page, keys: str) -> None:
    page.keyboard.press(keys)
    settled(page)


def click(page: Page, id: str) -> None:
    node(page, id).click()
    settled(page)


def tagged(*calls: tuple[str, Mapping[str, object]]) -> str:
    body = [{"type": "tool_use", "id": str(n), "name": name, "input": params} for n, (name, params) in enumerate(calls)]
    return f"<thinking>I see</thinking><response>{json.dumps(body)}</response>"


def history(api: httpx.Client) -> tuple[int, int, bool]:
    status = api.get("/api/flow/history-status").json()
    return status["snapshotCount"], status["currentIndex"], status["canRedo"]


def test_undo_and_redo_by_keyboard_take_one_edit_each_while_the_page_saves(
    open_page: Open, api: httpx.Client, scripted_llm: ScriptedLlm
) -> None:
    page = open_page()
    say(page, "add", "Login")
    click(page, "login")
    say(page, "add", "Home")
    click(page, "home")
    wrong = tagged(("addNode", {"label": "Cart", "parentNodeId": "hmoe"}), ("addNode", {"label": "Help"}))
    right = tagged(("addNode", {"label": "Cart", "parentNodeId": "home"}), ("autoLayout", {}))
    scripted_llm.play({"reply": {"text": wrong}, "times": 1}, {"reply": {"text": right}})
    say(page, "chat", "add a cart and help")
    expect(page.locator("#thinking")).to_have_text("I see")
    expect(page.locator("body")).to_have_attribute("data-arranged", "yes")
    click(page, "cart")
    assert sorted(labels(page)) == ["Cart", "Help", "Home", "Login"]
    kept = api.get("/api/flow").json()["nodes"]
    assert {"measured", "selected", "positionAbsolute", "sourcePosition", "width"} <= set(kept[0])
    assert history(api) == (3, 3, False), "two nodes and one message, whatever was saved in between"
    walk = []
    for _ in range(3):
        press(page, "Control+z")
        walk.append(sorted(labels(page)))
    assert walk == [["Home", "Login"], ["Login"], []]
    press(page, "Control+z")
    expect(page.locator("body")).to_have_attribute("data-nothing", "Nothing to undo")
    page.reload()
    settled(page)
    walk = []
    for _ in range(3):
        press(page, "Control+y")
        walk.append(sorted(labels(page)))
        click(page, "login")
    assert walk == [["Login"], ["Home", "Login"], ["Cart", "Help", "Home", "Login"]]
    assert history(api) == (3, 3, False)


def make_old(engine: Engine) -> None:
    """Let whatever was edited have been edited an hour ago."""
    then = func.clock_timestamp() - timedelta(hours=1)
    with engine.begin() as connection:
        for table in (versions, change_sets):
            connection.execute(update(table).values(at=then))


def test_a_drag_is_one_step_and_is_taken_back(open_page: Open, api: httpx.Client, gateway: Gateway) -> None:
    page = open_page()
    say(page, "add", "Login")
    make_old(gateway.engine)  # a drag right after an edit could be the page's own layout of what was added
    box = node(page, "login").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 205, box["y"] + 105, steps=4)
    page.mouse.up()
    settled(page)
    assert api.get("/api/flow").json()["nodes"][0]["position"] == {"x": 200, "y": 100}
    assert history(api) == (2, 2, False)
    press(page, "Control+z")
    assert api.get("/api/flow").json()["nodes"][0]["position"] == {"x": 0, "y": 0}
    assert labels(page) == ["Login"]


def test_a_subtree_collapses_and_expands_as_often_as_it_is_asked_to(open_page: Open, api: httpx.Client) -> None:
    page = open_page()
    say(page, "add", "Root")
    for label, parent in (("Left", "root"), ("Right", "root"), ("Leaf", "left")):
        click(page, parent)
        say(page, "add", label)
    for _ in range(2):
        node(page, "root").dblclick()
        settled(page)
        expect(page.locator(".node:visible")).to_have_text(["Root"])
        expect(page.locator("line[hidden]")).to_have_count(3)
        page.reload()
        settled(page)
        expect(page.locator(".node:visible")).to_have_text(["Root"])
        node(page, "root").dblclick()
        settled(page)
        expect(page.locator(".node:visible")).to_have_count(4)
        expect(page.locator("line[hidden]")).to_have_count(0)
    press(page, "Control+z")
    expect(page.locator(".node:visible")).to_have_text(["Root"])
    assert [each["id"] for each in api.get("/api/flow").json()["nodes"] if not each.get("hidden")] == ["root"]


def test_two_pages_see_each_others_edits_and_a_stale_edit_says_what_changed(open_page: Open, api: httpx.Client) -> None:
    first, second = open_page(), open_page()
    say(first, "add", "Login")
    expect(node(second, "login")).to_be_visible()
    click(second, "login")
    say(second, "add", "Home")
    expect(node(first, "home")).to_be_visible()
    press(second, "Control+z")
    expect(node(first, "home")).to_have_count(0)
    third = open_page(deaf=True)
    click(third, "login")
    click(first, "login")
    say(first, "rename", "Sign in")
    expect(node(second, "login")).to_have_text("Sign in")
    say(third, "rename", "Log in")
    expect(third.locator("#stale")).to_contain_text("node login changed")
    expect(node(third, "login")).to_have_text("Sign in")
    say(third, "rename", "Log in")
    expect(third.locator("#stale")).to_be_empty()
    for page in (first, second):
        expect(node(page, "login")).to_have_text("Log in")
    assert [each["data"]["label"] for each in api.get("/api/flow").json()["nodes"]] == ["Log in"]


def test_a_page_of_an_origin_that_nobody_named_gets_nothing(open_page: Open, api: httpx.Client) -> None:
    page = open_page()
    say(page, "add", "Login")
    page.goto("about:blank")
    told = page.evaluate(
        "url => fetch(url).then(answer => answer.status, error => 'refused')", f"{api.base_url}api/flow"
    )
    assert told == "refused"
