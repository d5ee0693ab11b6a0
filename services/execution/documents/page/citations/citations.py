"""Citations of a document: ``[@key]``, ``[see @key, p. 3; -@other]`` and ``@key`` become author and year with a link.

The notation is Pandoc's: https://pandoc.org/MANUAL.html#citation-syntax
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from markdown_it.token import Token

from services.execution.documents.page.citations import style
from services.execution.documents.page.citations.work import Work

_KEY = r"@(?:\{([^{}\s]{1,200})\}|(\w(?:[\w:.#$%&+?<>~/-]{0,198}\w)?))"
_ITEM = re.compile(rf"(.*?)(-?){_KEY}(.*)", re.S)
_CITED = re.compile(
    rf"\[([^\[\]]{{0,2000}}@[^\[\]]{{0,2000}})\]|(?<![\w@\\-])(-?){_KEY}(?:\s*\[([^\[\]@]{{1,200}})\])?"
)
_NOT_KEYS = ("fig-", "tbl-", "sec-", "eq-", "lst-", "thm-", "lem-", "def-", "exm-", "cor-", "prp-", "cnj-", "exr-")
Part = tuple[str, str]  #: a text, and the key that it leads to ("" for none)


@dataclass
class Citations:
    """``works``: all that may be cited, by key; what was cited is kept for the list."""

    works: Mapping[str, Work]
    cited: dict[str, Work] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    _years: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._years = style.years(style.listed(self.works.values()))

    def within(self, text: str) -> Iterator[Part]:
        """Yield the parts of a text, with citations linked to their works."""
        at = 0
        for match in _CITED.finditer(text):
            parts = self._group(match[1]) if match[1] is not None else self._alone(match)
            if parts is not None:
                yield text[at : match.start()], ""
                yield from parts
                at = match.end()
        yield text[at:], ""

    def tokens(self, text: str) -> Iterator[Token]:
        """Yield the same for Markdown's renderer."""
        for part, key in self.within(text):
            if key:
                yield Token("link_open", "a", 1, attrs={"href": f"#{place_of(key)}"})
            yield Token("text", "", 0, content=part)
            if key:
                yield Token("link_close", "a", -1)

    def references(self, title: str) -> str:
        """Return the list of cited works; empty without citations."""
        if not self.cited:
            return ""
        items = "".join(
            f'<section id="{place_of(work.key)}"><p>{style.entry(work, self._years[work.key])}</p></section>'
            for work in style.listed(self.cited.values())
        )
        return f'<h2 id="references">{html.escape(title)}</h2>{items}'

    def _group(self, inside: str) -> list[Part] | None:
        """Between brackets; None when a part of it cites nothing, as in an address."""
        parts: list[Part] = [("(", "")]
        for number, item in enumerate(inside.split(";")):
            match = _ITEM.fullmatch(item)
            if match is None or (match[3] or match[4]).startswith(_NOT_KEYS) or (match[1] and match[1][-1:].isalnum()):
                return None
            prefix, suffix = match[1].lstrip(), match[5].rstrip()
            parts.append((f"{'; ' if number else ''}{prefix}", ""))
            parts.append(self._cite(match[3] or match[4], short=bool(match[2])))
            parts.append((suffix, ""))
        return [*parts, (")", "")]

    def _alone(self, match: re.Match[str]) -> list[Part] | None:
        """In the sentence: ``Doe (2020, p. 3)``. What is not known stays as it is."""
        key = match[3] or match[4]
        work = self.works.get(key)
        if work is None:
            return None
        self.cited[key] = work
        suffix = f", {match[5]}" if match[5] else ""
        year: list[Part] = [("(", ""), (self._years[key], key), (f"{suffix})", "")]
        return year if match[2] else [(f"{style.short_authors(work)} ", ""), *year]

    def _cite(self, key: str, short: bool) -> Part:
        work = self.works.get(key)
        if work is None:
            self.unknown[key] = None
            return f"{key}?", ""
        self.cited[key] = work
        return (self._years[key] if short else f"{style.short_authors(work)}, {self._years[key]}"), key


def place_of(key: str) -> str:
    """Return the id of a work in the list."""
    return "ref-" + re.sub(r"[^\w-]", "-", key)
