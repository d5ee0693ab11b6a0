"""Pages as axe judges them (WCAG 2.2 AA), in light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from axe_playwright_python.base import AxeResults
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.console.conftest import settled

# Of violations alone: to name every element that passes takes as long as to judge it.
_VIOLATIONS = {"resultTypes": ["violations"]}
#: Names that lack the words one sees: axe has the rule off, as an experiment.
_NAMES_HAVE_WORDS = {"label-content-name-mismatch": {"enabled": True}}
_ALL_RULES = {**_VIOLATIONS, "runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"], "rules": _NAMES_HAVE_WORDS}
#: The rules whose result a scheme can change: the elements are the same in both.
_COLOR_RULES = {**_VIOLATIONS, "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
Scheme = Literal["light", "dark"]
_SCHEMES: tuple[Scheme, ...] = ("light", "dark")


def expect_accessible(tab: Page, path: str) -> None:
    """No violation in either scheme."""
    expect_shown(tab, path)
    expect_accessible_as_it_is(tab, path)


def expect_shown(tab: Page, path: str) -> None:
    """Until all of the page is there."""
    tab.goto(path)
    expect(tab.locator("h1").first).to_be_visible()
    settled(tab)
    expect(tab.locator("[aria-busy=true]")).to_have_count(0)


def expect_accessible_as_it_is(tab: Page, what: str, schemes: Sequence[Scheme] = _SCHEMES) -> None:
    """No violation: of any rule in the first scheme, of the rules of colors in further ones."""
    for scheme in schemes:
        tab.emulate_media(color_scheme=scheme)
        expect(tab.locator(f"html[data-mantine-color-scheme={scheme}]")).to_be_attached()
        judged = _judged(tab, _ALL_RULES if scheme == schemes[0] else _COLOR_RULES)
        assert judged.violations_count == 0, f"{what}, {scheme}: {judged.generate_report()}"


def _judged(tab: Page, options: Mapping[str, Any]) -> AxeResults:
    """Have axe judge the page, which gets its half a megabyte of script once, not for each scheme."""
    if not tab.evaluate("'axe' in window"):
        tab.evaluate(Axe().axe_script)
    return AxeResults(tab.evaluate("options => axe.run(options)", options))
