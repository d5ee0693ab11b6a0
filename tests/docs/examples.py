"""The fenced examples of README and docs.

All ``sh``, ``bash`` and ``python`` blocks of a page run in their order, in one shell and one folder, as a reader would
type them. A block that cannot run here has a comment on the line above it: ``<!-- not run: REASON -->``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
#: Nothing to run here: diagrams, output, trees of folders, and what tests/assay/test_webhooks.py runs.
SHOWN = frozenset({"mermaid", "text", "javascript", "go"})
DATA = frozenset({"json", "yaml"})
RUN = frozenset({"sh", "bash", "python"})

_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n)?"
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

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("fence")) + 1
        yield Block(page, line, match["language"].strip(), match["text"], match["reason"])


def script(page: Path) -> str | None:
    """The page as a shell script; None when nothing on it runs."""
    parts = []
    for block in blocks(page):
        if block.language in RUN and block.reason is None:
            body = block.text if block.language != "python" else f"python - <<'PYTHON'\n{block.text}PYTHON\n"
            parts.append(f"echo '# {block.place}' >&2\n{body}")
    return "".join(parts) or None
