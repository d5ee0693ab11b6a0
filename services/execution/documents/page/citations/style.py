"""Author and year: the form of citations and of the list of works, after the seventh edition of APA's style."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence

from services.execution.documents.page.citations.work import Name, Work

_MAX_LISTED = 20
_HTTP = re.compile(r"https?://[^\s<>\"']{1,1900}")
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/)?(10\.\d{3,9}/[^\s<>\"']{1,300})")


def listed(works: Iterable[Work]) -> list[Work]:
    """Sort the works in the order of the list."""
    return sorted(works, key=lambda work: (_sorted_name(work), work.year, work.title.lower(), work.key))


def years(works: Sequence[Work]) -> Mapping[str, str]:
    """Return the year by key, with a letter to distinguish works of the same authors and year."""
    groups: dict[tuple[str, str], list[Work]] = {}
    for work in works:
        groups.setdefault((short_authors(work), work.year or "n.d."), []).append(work)
    return {
        work.key: f"{year}{'-' if year == 'n.d.' else ''}{_letter(number)}" if len(group) > 1 else year
        for (_, year), group in groups.items()
        for number, work in enumerate(group)
    }


def short_authors(work: Work) -> str:
    """Return the authors as cited in the text; the title of a work without authors."""
    names = [name.family for name in work.authors]
    if not names:
        return f"“{work.title[:60]}”" if work.title else work.key
    if len(names) == 2:
        return f"{names[0]} & {names[1]}"
    return names[0] if len(names) == 1 else f"{names[0]} et al."


def entry(work: Work, year: str) -> str:
    """Return one work of the list, as HTML."""
    title = html.escape(work.title)
    parts = [f"{html.escape(long_authors(work.authors) or work.title)} ({html.escape(year)})."]
    if title and work.authors:
        parts.append(f"<em>{title}</em>." if work.whole or not work.container else f"{title}.")
    if work.container:
        where = f"<em>{html.escape(work.container)}</em>"
        if work.volume:
            where += f", <em>{html.escape(work.volume)}</em>"
        where += f"({html.escape(work.issue)})" if work.issue else ""
        where += f", {html.escape(work.pages.replace('-', '–'))}" if work.pages else ""
        parts.append(f"{where}.")
    if work.publisher:
        parts.append(f"{html.escape(work.publisher)}.")
    if address := _address(work):
        parts.append(f'<a href="{html.escape(address)}">{html.escape(address)}</a>')
    return " ".join(parts)


def long_authors(names: Sequence[Name]) -> str:
    authors = [f"{name.family}, {name.initials}" if name.given else name.family for name in names]
    if len(authors) > _MAX_LISTED:
        authors = [*authors[: _MAX_LISTED - 1], f"… {authors[-1]}"]
        return ", ".join(authors)
    return ", & ".join([", ".join(authors[:-1]), authors[-1]]) if len(authors) > 1 else "".join(authors)


def _address(work: Work) -> str:
    if match := _DOI.fullmatch(work.doi):
        return f"https://doi.org/{match[1]}"
    return work.url if _HTTP.fullmatch(work.url) else ""


def _sorted_name(work: Work) -> str:
    return " ".join(f"{name.family} {name.given}" for name in work.authors).lower() or work.title.lower()


def _letter(number: int) -> str:
    """Return the letters of a number: a to z, then aa."""
    return (_letter(number // 26 - 1) if number >= 26 else "") + chr(ord("a") + number % 26)
