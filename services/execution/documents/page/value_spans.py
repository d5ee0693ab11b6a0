"""Positions of the values of a document's code in its page, as offsets in the page's text.

They are found in a second page that has a mark at each value. Where that page is another than the first once the marks
are taken out, no places are told: the page that is kept never has a mark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

Span = tuple[int, int, str]  #: [from, to) in characters of the page's text, and the block whose value it is
_MOST = 2_000


@dataclass
class ValueMarks:
    """Puts marks at values, and finds them again; ``mark`` is in no text."""

    mark: str
    _made: list[tuple[str, int, int]] = field(default_factory=list)  #: block, characters before and after the mark

    def word(self, value: str, escaped: str, block: str) -> str:
        """Return a value within a line, with a mark behind its first character: what stands beside it decides its
        Markdown.
        """
        if "\n" in value or value != value.strip() or not (len(value) > 1 or value.isalnum()):
            return escaped
        first = escaped.index(";") + 1 if escaped.startswith("&#") else 2 if escaped.startswith("\\") else 1
        return f"{escaped[:first]}{self._new(block, 1, len(value) - 1)}{escaped[first:]}"

    def text(self, value: str, block: str) -> str:
        """Return the mark of a value that stands for itself, to be put before it."""
        return "" if not value.strip() or value.startswith("\n") else self._new(block, 0, len(value))

    def found(self, marked: str, page: str) -> list[Span]:
        """In the order of the page; none where the marks have made another page of it."""
        if not self._made or self._pattern.sub("", marked) != page:
            return []
        reader = _Text()
        reader.feed(marked)
        reader.close()
        spans: list[Span] = []
        taken = 0
        for match in self._pattern.finditer("".join(reader.parts)):
            block, before, after = self._made[int(match[1])]
            at = match.start() - taken
            taken += len(match[0])
            spans.append((at - before, at + after, block))
        return spans

    @property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(rf"{self.mark}v(\d+)e")

    def _new(self, block: str, before: int, after: int) -> str:
        if len(self._made) >= _MOST:
            return ""
        self._made.append((block, before, after))
        return f"{self.mark}v{len(self._made) - 1}e"


class _Text(HTMLParser):
    """What a browser takes for the text of the page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)
