"""The fenced examples of README and docs.

All ``sh``, ``bash`` and ``python`` blocks of a page run in their order, in one shell and one folder, as a reader would
type them. A block that cannot run here has a comment on the line above it: ``<!-- not run: REASON -->``. A ``text``
block below ``<!-- prints -->`` is what the page's commands print, on lines that follow each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
#: Nothing to run here: diagrams, output, trees of folders, and what tests/assay runs (webhooks, other languages).
SHOWN = frozenset({"mermaid", "text", "javascript", "go", "java", "typescript"})
DATA = frozenset({"json", "yaml"})
RUN = frozenset({"sh", "bash", "python"})

_BLOCK = re.compile(
    r"(?:^<!-- (?:not run: (?P<reason>[^\n]+)|(?P<prints>prints)) -->\n)?"
    r"^(?P<fence>`{3,})(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=fence)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    text: str
    reason: str | None  #: why it is not run
    prints: bool = False  #: whether the page's commands print it

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("fence")) + 1
        prints = match["prints"] is not None
        yield Block(page, line, match["language"].strip(), match["text"], match["reason"], prints)


def starts(page: Path) -> bool:
    """Return whether the page's examples start the installation that they use."""
    return re.search(r"^assay up ", script(page) or "", re.MULTILINE) is not None


def script(page: Path) -> str | None:
    """The page as a shell script; None when nothing on it runs."""
    parts = []
    for block in blocks(page):
        if block.language in RUN and block.reason is None:
            body = block.text if block.language != "python" else f"python - <<'PYTHON'\n{block.text}PYTHON\n"
            parts.append(f"echo '# {block.place}' >&2\n{body}")
    return "".join(parts) or None
