"""`make docs` builds a site that requests nothing from other hosts and has no dead links."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Attributes by which a page loads something, rather than leads to it.
_LOADS = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "audio": "src",
    "video": "src",
}


class _Page(HTMLParser):
    """What a page loads, where it leads, and which places it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if values.get("id"):
            self.places.add(values["id"])
        if _LOADS.get(tag) in values and values.get("rel") != "canonical":
            self.loads.append(values[_LOADS[tag]])
        if "srcset" in values:
            self.loads += [each.split()[0] for each in values["srcset"].split(",")]
        if tag == "a" and "href" in values:
            self.leads.append(values["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed here")
    folder = tmp_path_factory.mktemp("site") / "site"
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, timeout=170, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def _target(page: Path, site: Path, link: str) -> Path:
    path = unquote(urlsplit(link).path)
    target = (site / path.lstrip("/") if path.startswith("/") else page.parent / path).resolve() if path else page
    return target / "index.html" if target.is_dir() else target


@pytest.mark.slow
def test_the_site_is_whole_and_needs_nothing_from_outside(site: Path) -> None:
    pages = {file.resolve(): _Page(file.read_text("utf-8")) for file in site.rglob("*.html") if file.name != "404.html"}
    assert len(pages) > 40
    broken = []
    for file, page in pages.items():
        remote = [load for load in page.loads if re.match(r"(https?:)?//", load)]
        assert remote == [], file.relative_to(site.resolve())
        for link in [*page.loads, *page.leads]:
            if re.match(r"[a-z]+:", link) or link.startswith("/docs"):  # /docs is the gateway's
                continue
            target = _target(file, site, link)
            place = unquote(urlsplit(link).fragment)
            if not target.exists() or (place and target in pages and place not in pages[target].places):
                broken.append((str(file.relative_to(site.resolve())), link))
    assert broken == []


@pytest.mark.slow
def test_no_style_sheet_loads_from_elsewhere(site: Path) -> None:
    sheets = list(site.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        loaded = re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", sheet.read_text("utf-8"))
        assert not [part for pair in loaded for part in pair if re.match(r"(https?:)?//", part)], sheet.name
