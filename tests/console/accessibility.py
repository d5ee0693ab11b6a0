"""Pages as axe judges them (WCAG 2.2 AA), in light and dark."""

from __future__ import annotations

from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.console.conftest import settled

# Of violations alone: to name every element that passes takes as long as to judge it.
_TOLD = {"resultTypes": ["violations"]}
_ALL = {"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"], **_TOLD}
_OF_COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}, **_TOLD}


def expect_accessible(tab: Page, path: str) -> None:
    """In the dark the elements are the same: of the rules in ``_ALL`` only those of colours may judge otherwise."""
    tab.goto(path)
    expect(tab.locator("h1").first).to_be_visible()
    settled(tab)
    expect(tab.locator("[aria-busy=true]")).to_have_count(0)
    _judge(tab, path, "light", _ALL)
    _judge(tab, path, "dark", _OF_COLOURS)


def _judge(tab: Page, path: str, scheme: Literal["light", "dark"], rules: dict[str, Any]) -> None:
    tab.emulate_media(color_scheme=scheme)
    expect(tab.locator(f"html[data-mantine-color-scheme={scheme}]")).to_be_attached()
    found = Axe().run(tab, options=rules)
    assert found.violations_count == 0, f"{path}, {scheme}: {found.generate_report()}"
