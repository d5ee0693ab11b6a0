"""What a page may weigh. Sizes are of the files as gzip packs them, in kB; browsers get brotli, which is smaller."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from services.gateway.console import DIST
from tests.console.conftest import Console, Visit, settled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.xdist_group("console")]

FIRST, EDITOR, CHARTS, CANVAS = 260, 120, 105, 55


def _loaded(visit: Visit, path: str, sign: str) -> dict[str, float]:
    """What a first visit of the place fetches: size by name."""
    tab = visit().tab()
    tab.goto(path)
    expect(tab.locator(sign).first).to_be_visible()
    settled(tab)
    names = tab.evaluate("performance.getEntriesByType('resource').map(each => each.name)")
    files = {name.rsplit("/", 1)[1] for name in names if re.search(r"/assets/[^/]+\.(js|css)$", name)}
    return {name: (DIST / "assets" / f"{name}.gz").stat().st_size / 1000 for name in files}


def _of(sizes: dict[str, float], *parts: str) -> float:
    return sum(size for name, size in sizes.items() if name.startswith(parts))


@pytest.mark.parametrize(
    "path", ["/", "/jobs", "/transform", "/models", "/queues", "/settings", "/keys", "/prompts", "/evaluations"]
)
def test_a_first_visit_is_light(visit: Visit, path: str) -> None:
    sizes = _loaded(visit, path, "h1")
    assert sum(sizes.values()) <= FIRST, sorted(sizes.items(), key=lambda item: -item[1])[:8]
    assert _of(sizes, "codemirror", "chart", "canvas") == 0, "what is big comes when it is shown"


def test_the_editor_is_a_part_of_its_own(visit: Visit) -> None:
    base = _loaded(visit, "/jobs", "h1")
    for path in ("/run", "/documents", "/prompts/execution.transform"):
        sizes = _loaded(visit, path, ".cm-content")
        added = {name: size for name, size in sizes.items() if name not in base}
        assert _of(sizes, "codemirror") > 0, path
        assert sum(added.values()) <= EDITOR, (path, sorted(added.items(), key=lambda item: -item[1]))


def test_charts_are_a_part_of_their_own(visit: Visit, console: Console) -> None:
    data = [{"name": "data", "csv": "a,b\n1,2\n"}]
    console.run("transform", task="anything", data=data, max_iterations=2)  # without a call there is no chart
    assert 0 < _of(_loaded(visit, "/usage", ".recharts-surface"), "chart") <= CHARTS


@pytest.mark.usefixtures("visit")  # which builds the console, or says why it cannot
def test_the_canvas_is_a_part_of_its_own() -> None:
    files = list((DIST / "assets").glob("canvas-*.gz"))
    assert files
    assert sum(file.stat().st_size for file in files) / 1000 <= CANVAS
