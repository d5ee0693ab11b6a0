"""Every page: accessible as axe judges it, in light and dark, and no wider than a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.console.accessibility import expect_accessible_as_it_is, expect_shown
from tests.console.conftest import Visit

pytestmark = [pytest.mark.slow(seconds=22), pytest.mark.timeout(240)]

_BRANCHING = "attempts&turn=2&branch=2"
_EDITOR = "/prompts/execution.transform"
_PLACES = [
    "/", "/jobs", "/transform", "/run", "/documents", "/search", "/flows", "/detect", "/prompts", "/models", "/queues",
    "/usage", "/keys", "/settings", "/settings?tab=limits", "/settings?tab=webhooks", "/settings?tab=audit",
    "/settings?tab=browser", "/evaluations", "/conversations", _EDITOR,
]  # fmt: skip
_TABS = ("result", _BRANCHING, "models", "prompt", "events", "input")
_NARROW = (360, 720)


@pytest.mark.parametrize("part", [0, 1])
def test_every_page_is_accessible_light_and_dark_and_no_wider_than_a_phone(
    visit: Visit, repaired: str, part: int
) -> None:
    tab = visit(width=_NARROW[0]).tab()
    tabs = [f"/jobs/{repaired}?tab={name}" for name in _TABS]
    for path in [*_PLACES, *tabs, f"/transform?job={repaired}"][part::2]:
        expect_shown(tab, path)
        for width in _NARROW:
            _resize(tab, width)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, path
            if width == _NARROW[0] and path == _EDITOR:  # which scrolls there
                expect(tab.locator(".cm-content")).to_be_visible()
                expect_accessible_as_it_is(tab, path, ["light"])  # that of colours is judged where it is wide
        _resize(tab, 1440)
        expect_accessible_as_it_is(tab, path)


def _resize(tab: Page, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    expect(tab.locator("[aria-busy=true]")).to_have_count(0)
