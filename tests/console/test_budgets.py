"""What a page may weigh. Sizes are of the files as gzip packs them, in kB; browsers get brotli, which is smaller."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, Route, expect

from services.gateway.console import DIST
from tests.console.conftest import Console, settled

pytestmark = [pytest.mark.slow(seconds=5), pytest.mark.timeout(240)]

FIRST, EDITOR, CHARTS, CANVAS = 260, 120, 105, 62
STANDS = 100  # ms that the page may freeze


def _loaded(tab: Page, path: str, sign: str) -> dict[str, float]:
    """What a first visit of the place fetches: size by name; what the browser has kept of another place, too."""
    tab.goto(path)
    expect(tab.locator(sign).first).to_be_visible()
    settled(tab)
    names = tab.evaluate("performance.getEntriesByType('resource').map(each => each.name)")
    files = {name.rsplit("/", 1)[1] for name in names if re.search(r"/assets/[^/]+\.(js|css)$", name)}
    return {name: (DIST / "assets" / f"{name}.gz").stat().st_size / 1000 for name in files}


def _of(sizes: dict[str, float], *parts: str) -> float:
    return sum(size for name, size in sizes.items() if name.startswith(parts))


def test_a_first_visit_is_light(page: Page) -> None:
    for path in ("/", "/jobs", "/transform", "/models", "/queues", "/settings", "/keys", "/prompts", "/evaluations"):
        sizes = _loaded(page, path, "h1")
        assert sum(sizes.values()) <= FIRST, (path, sorted(sizes.items(), key=lambda item: -item[1])[:8])
        assert _of(sizes, "codemirror", "chart", "canvas") == 0, f"{path}: what is big comes when it is shown"


def test_the_editor_is_a_part_of_its_own(page: Page) -> None:
    base = _loaded(page, "/jobs", "h1")
    for path in ("/run", "/documents", "/prompts/execution.transform"):
        sizes = _loaded(page, path, ".cm-content")
        added = {name: size for name, size in sizes.items() if name not in base}
        assert _of(sizes, "codemirror") > 0, path
        assert sum(added.values()) <= EDITOR, (path, sorted(added.items(), key=lambda item: -item[1]))


def test_charts_are_a_part_of_their_own(page: Page, console: Console) -> None:
    data = [{"name": "data", "csv": "a,b\n1,2\n"}]
    console.run("transform", task="anything", data=data, max_iterations=2)  # without a call there is no chart
    assert 0 < _of(_loaded(page, "/usage", ".recharts-surface"), "chart") <= CHARTS


@pytest.mark.usefixtures("visit")  # which builds the console, or says why it cannot
def test_the_canvas_is_a_part_of_its_own() -> None:
    files = list((DIST / "assets").glob("canvas-*.gz"))
    assert files
    assert sum(file.stat().st_size for file in files) / 1000 <= CANVAS


def _with_input(page: Page, console: Console, rows: list[dict[str, object]]) -> None:
    """The page of a job, as if its input had these rows: more than one request may bring."""
    job = console.run("execute", language="python", code="1")

    def enlarge(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "input": {"task": "the first", "rows": rows}})

    page.route(re.compile(f"/v1/jobs/{job['id']}$"), enlarge)
    page.goto(f"/jobs/{job['id']}?tab=events")


def test_a_large_value_is_shown_and_searched_while_the_page_goes_on(page: Page, console: Console) -> None:
    rows = [{"id": n, "city": f"a city of {n} people, give or take a few", "share": n / 7} for n in range(15_000)]
    assert len(json.dumps(rows)) > 1_400_000
    _with_input(page, console, rows)
    settled(page)
    page.evaluate(
        """window.stood = [0];
        const note = (list) => window.stood.push(...list.getEntries().map((each) => each.duration));
        new PerformanceObserver(note).observe({ type: "longtask" })"""
    )
    tree = page.get_by_label("input", exact=True)
    longest: list[float] = []
    while len(longest) < 10 and min(longest, default=STANDS + 1) > STANDS:  # others use the machine too
        page.evaluate("window.stood.length = 1")
        page.get_by_role("tab", name="Input").click()
        expect(tree).to_contain_text("task:")
        page.get_by_label("Search input").fill("of 14999 people")
        expect(tree).to_contain_text("a city of 14999 people")
        assert len(page.workers) == 1, "the lines are made off the main thread"
        page.get_by_label("Search input").fill("")
        expect(tree).to_contain_text("task:")
        longest.append(page.evaluate("Math.max(...window.stood)"))
        page.get_by_role("tab", name=re.compile("^Events")).click()
        expect(tree).to_have_count(0)
    assert min(longest) <= STANDS, longest


def test_of_a_value_above_two_megabytes_the_head_is_shown(page: Page, console: Console) -> None:
    _with_input(page, console, [{"id": n, "text": "x" * 100} for n in range(20_000)])
    page.get_by_role("tab", name="Input").click()
    expect(page.get_by_label("input", exact=True)).to_contain_text("rows: [20000]")
    expect(page.get_by_text("it is too large to show")).to_be_visible()
    with page.expect_download() as whole:
        page.get_by_role("button", name=re.compile("^Download .over 2")).click()
    assert json.loads(whole.value.path().read_text())["rows"][-1]["id"] == 19_999
