"""The front matter of a document as the head of its page: title, subtitle, authors, date, abstract."""

from __future__ import annotations

import datetime
import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from services.execution.documents.page.dates import written
from services.execution.documents.page.labels import words_of
from services.execution.documents.page.style import Theme
from shared.declarations.documents import front_matter, front_matter_values

_MOST = 2_000  #: characters of one value
_MAX_AUTHORS = 50


@dataclass(frozen=True)
class Front:
    lines: int = 0  #: that it takes
    values: Mapping[str, JsonValue] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return _text(self.values.get("title"))

    @property
    def toc(self) -> bool:
        output = self.values.get("output")
        formats = output.values() if isinstance(output, dict) else ()
        own = self.values.get("toc") is True or _within(self.values.get("format"), "toc") is True
        return own or any(isinstance(each, dict) and each.get("toc") is True for each in formats)

    @property
    def language(self) -> str:
        return _text(self.values.get("lang"))[:20] or "en"

    @property
    def numbered(self) -> bool:
        """Whether sections have numbers."""
        names = ("number-sections", "numbersections", "number_sections")
        own = any(self.values.get(name) is True or _within(self.values.get("format"), name) is True for name in names)
        output = self.values.get("output")  # of R Markdown
        formats = output.values() if isinstance(output, dict) else ()
        return own or any(isinstance(each, dict) and each.get("number_sections") is True for each in formats)

    @property
    def references_title(self) -> str:
        return _text(self.values.get("reference-section-title")) or words_of(self.language)["references"]

    @property
    def crossref(self) -> Mapping[str, str]:
        """The author's words for captions and references, by names such as ``fig-title`` and ``eq-prefix``."""
        given = self.values.get("crossref") or _within(self.values.get("format"), "crossref")
        return (
            {name: word for name, value in given.items() if (word := _text(value))} if isinstance(given, dict) else {}
        )

    @property
    def macros(self) -> Mapping[str, str]:
        """The macros of formulas that MyST's ``math`` defines, by name."""
        given = self.values.get("math")
        values = given.items() if isinstance(given, dict) else ()
        return {name: value for name, value in values if name.startswith("\\") and isinstance(value, str)}

    def text(self, name: str) -> str:
        """Return what the front matter says under a name, as text; behind a point the name within an object."""
        value: JsonValue = dict(self.values)
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is None and name.startswith("substitutions."):  # within the options of an extension
            value = self.text(f"myst.{name}")
        return _text(value)

    @property
    def theme(self) -> Theme:
        wanted = self.values.get("theme") or _within(self.values.get("format"), "theme")
        return "light" if wanted == "light" else "dark" if wanted == "dark" else "auto"

    def html(self, markdown: Callable[[str], str], *, titled: bool = False, is_quarto: bool = False) -> str:
        """Return the title block; empty without a title. ``titled``: the document has the title as its first
        heading. ``markdown``: makes HTML of a text. ``is_quarto``: its date is written in words.
        """
        if not self.title:
            return ""
        by = " · ".join([*_authors(self.values.get("author") or self.values.get("authors")), *self._date(is_quarto)])
        parts = [
            ("h1", "", "" if titled else self.title),
            ("p", ' class="subtitle"', _text(self.values.get("subtitle"))),
        ]
        parts.append(("p", ' class="by"', by))
        shown = "".join(f"<{tag}{more}>{html.escape(text)}</{tag}>" for tag, more, text in parts if text)
        abstract = self.values.get("abstract")
        if isinstance(abstract, str) and abstract.strip():
            made = markdown(abstract[:_MOST]).strip()
            is_one = made.startswith("<p>") and made.count("<p>") == 1 and made.endswith("</p>")
            shown += f'<p class="abstract">{made[3:]}' if is_one else f'<section class="abstract">{made}</section>'
        return f"<header>{shown}</header>"

    def _date(self, is_quarto: bool) -> Iterator[str]:
        date = _text(self.values.get("date"))
        if is_quarto and date and "output" not in self.values:  # R Markdown has the date as it is written
            wanted = self.values.get("date-format") or _within(self.values.get("format"), "date-format")
            date = written(date, _text(wanted), self.language, datetime.datetime.now(datetime.UTC).date())
        if date:
            yield date


def front_of(lines: Sequence[str]) -> Front:
    end = front_matter([line.rstrip("\n") for line in lines])
    return Front(end, front_matter_values("".join(lines[1 : end - 1]))) if end else Front()


def _authors(value: JsonValue) -> Iterator[str]:
    for each in (value if isinstance(value, list) else [value])[:_MAX_AUTHORS]:
        if name := _text(each.get("name") if isinstance(each, dict) else each):
            yield name


def _within(formats: JsonValue, name: str) -> JsonValue:
    """Return an option of Quarto's ``format: {html: {...}}``."""
    of_html = formats.get("html") if isinstance(formats, dict) else None
    return of_html.get(name) if isinstance(of_html, dict) else None


def _text(value: JsonValue) -> str:
    return "" if value is None or isinstance(value, (dict, list, bool)) else " ".join(str(value).split())[:_MOST]
