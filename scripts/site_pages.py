"""What the site has beyond docs/: the pages of the root; links to files of the source become their names."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_ROOT = Path(__file__).resolve().parents[1]
#: Pages of the root that docs/ refers to, and their names in the site.
_PAGES = {"SECURITY.md": "security.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
_LINK = re.compile(r"(?<!!)\[([^\]]{1,500})\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root."""
    for source, target in _PAGES.items():
        files.append(File.generated(config, target, content=(_ROOT / source).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links within the site, and write other files of the source as their names."""
    place = PurePosixPath("docs", page.file.src_uri)
    if page.file.src_uri in _PAGES.values():
        place = PurePosixPath(page.file.src_uri)

    def link(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        if re.match(r"[a-z]+:|/", target):
            return match[0]
        source = normpath(str(place.parent / target))
        inside = _PAGES.get(source) or source.removeprefix("docs/")
        if files.get_file_from_path(inside) is None or not (source in _PAGES or source.startswith("docs/")):
            return text if "`" in text or text == source else f"{text} (`{source}`)"
        depth = len(PurePosixPath(page.file.src_uri).parts) - 1
        return f"[{text}]({'../' * depth}{inside}{anchor})"

    return _LINK.sub(link, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead pictures that are written as HTML from the page's folder, as those of Markdown are."""
    up = "../" * page.url.count("/")
    return re.sub(r'\b(src|srcset)="(?=pictures/)', rf'\1="{up}', html)
