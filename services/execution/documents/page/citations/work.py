"""A work that can be cited, and the fields of CSL-JSON that are shown of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MOST = 2_000  #: characters of one field
_MAX_AUTHORS = 200
_YEAR = re.compile(r"-?\d{1,4}")


@dataclass(frozen=True)
class Name:
    """A person, or an organisation without a given name."""

    family: str
    given: str = ""

    @property
    def initials(self) -> str:
        return " ".join("-".join(f"{part[0]}." for part in word.split("-") if part) for word in self.given.split())


@dataclass(frozen=True)
class Work:
    key: str
    authors: tuple[Name, ...] = ()
    year: str = ""
    title: str = ""
    container: str = ""  #: the journal or the book
    volume: str = ""
    issue: str = ""
    pages: str = ""
    publisher: str = ""
    doi: str = ""
    url: str = ""
    whole: bool = False  #: a book or report, whose own title is set in italics


def works_of_csl(items: object) -> Iterator[Work]:
    """Yield those of CSL-JSON, or of ``references`` in the front matter; what is no work is left out.

    The format: https://docs.citationstyles.org/en/stable/specification.html#appendix-iv-variables
    """
    for item in items if isinstance(items, list) else ():
        if isinstance(item, Mapping) and (key := text_of(item.get("id"))):
            authors = item.get("author") or item.get("editor")
            yield Work(
                key,
                authors=tuple(_names(authors)),
                year=_year(item.get("issued")),
                title=text_of(item.get("title")),
                container=text_of(item.get("container-title")),
                volume=text_of(item.get("volume")),
                issue=text_of(item.get("issue")),
                pages=text_of(item.get("page")),
                publisher=text_of(item.get("publisher")),
                doi=text_of(item.get("DOI")),
                url=text_of(item.get("URL")),
                whole=item.get("type") in ("book", "report", "thesis", "webpage", "software", "dataset"),
            )


def text_of(value: object) -> str:
    if isinstance(value, (dict, list, bool)) or value is None:
        return ""
    return " ".join(str(value).split())[:MOST]


def _names(value: object) -> Iterator[Name]:
    for each in (value if isinstance(value, list) else [])[:_MAX_AUTHORS]:
        if isinstance(each, Mapping):
            particle = text_of(each.get("non-dropping-particle"))
            family = text_of(each.get("family")) or text_of(each.get("literal"))
            if family:
                yield Name(f"{particle} {family}".strip(), text_of(each.get("given")))


def _year(issued: object) -> str:
    if isinstance(issued, Mapping):
        parts = issued.get("date-parts")
        if isinstance(parts, list) and parts and isinstance(parts[0], list) and parts[0]:
            return text_of(parts[0][0])
        issued = issued.get("literal") or issued.get("raw")
    match = _YEAR.search(text_of(issued))
    return match[0] if match else ""
