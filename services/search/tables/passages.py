"""Long texts split into passages: whole sentences, code blocks and table rows, as many as the embedding reads."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from services.search.embed.port import Embedder, Tokenizes
from shared.contracts.search import PassageSettings

#: Raise it when texts are split differently: long records are then split again when they are sent again.
VERSION = 1
#: A passage has at most this many characters for each of its tokens, whatever the tokenizer says of strange texts.
_CHARACTERS_PER_TOKEN = 8
_SPECIAL_TOKENS = 3  # two that a model adds to each text, and one that shows that a text was cut
_MAX_CONTEXT = 120  # characters of a name or a heading that are embedded with a passage
_ESTIMATED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\\W_]{1,6}|[^\\w\\s]"
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_INDENTED = re.compile(r"(?: {4}|\t)\s*\S")
_LIST_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s")
_HEADING = re.compile(r" {0,3}#{1,6}\s+\S")
_UNDERLINE = re.compile(r" {0,3}(?:={3,}|-{3,})\s*$")
_ROW = re.compile(r"\s*\||\s*\+[-=+]{3,}|[^\n]*\S\t+\S")
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$")  # below the head of a table
_TAG = re.compile(r"\s*<(pre|tr|script|style)\b", re.IGNORECASE)
#: The end of a sentence: a stop, what closes after it, and white space; none is needed after a stop of full width.
_STOP = re.compile(
    "(?:[.!?\u2026\u0589\u061f\u06d4\u0964\u0965\u1362\u104b\u17d4]+[)\"'\u201d\u2019\u00bb\\]]*(?=\\s|$)"
    "|[\u3002\uff01\uff1f\uff0e\uff61]+[)\"'\u201d\u2019\u300d\u300f\uff09\\]]*)\\s*"
)
#: Before a stop that ends no sentence: initials, ordinals, abbreviations.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:\w|\d{1,2}|dr|mr|mrs|ms|prof|st|nr|no|vs|fig|bzw|ca|vgl|abb|art|sr|sra|e\.g|i\.e|z\.b|d\.h|u\.a)\.$",
    re.IGNORECASE,
)
#: Where a sentence that is too long is cut: the first kind that there is.
_CUTS = ("\n", ";\uff1b:\uff1a", ",\u3001\uff0c\u060c", " \t\u00a0\u3000\u200b")


@dataclass(frozen=True)
class Passage:
    """A part of a record's text, or of one of its facets."""

    start: int  #: in characters of the text
    end: int
    heading: str = ""  #: that the passage is under and does not hold itself
    facet: str = ""  #: empty: the record's main text
    page: int | None = None


@dataclass(frozen=True)
class _Unit:
    """What is never divided while it fits into a passage; units follow each other without a gap."""

    start: int
    end: int
    kind: str  #: ``prose``, ``heading``, ``code`` or ``row``
    page: int = 0  #: form feeds before it


class Splitter:
    """Splits the texts of one table."""

    def __init__(self, embedder: Embedder | None, settings: PassageSettings | None) -> None:
        settings = settings or PassageSettings()
        tokenizer = _tokenizer_of(embedder)
        self._size = min(settings.size, tokenizer.most_tokens if tokenizer else settings.size)
        self._overlap = min(settings.overlap, self._size // 2)
        self._count: Callable[[Sequence[str]], Sequence[int]] = tokenizer.tokens if tokenizer else _estimated
        self._max_characters = self._size * _CHARACTERS_PER_TOKEN
        #: Part of what decides whether a long record has changed.
        self.version = f"{VERSION}/{self._size}/{self._overlap}"

    def fitting(self, texts: Sequence[str]) -> list[bool]:
        """Return whether each text fits into one passage."""
        room = self._size - _SPECIAL_TOKENS
        uncertain = [text for text in texts if room < len(text) <= self._max_characters]  # a token has a character
        counted = dict(zip(uncertain, self._count(uncertain), strict=True)) if uncertain else {}
        return [len(text) <= self._max_characters and counted.get(text, 0) <= room for text in texts]

    def passages(self, text: str, context: str = "") -> list[Passage]:
        """Return the passages of a text, in order; ``context`` is embedded with each of them."""
        breaks = [match.start() for match in re.finditer("\f", text)]
        units = [
            replace(unit, page=bisect_left(breaks, unit.start)) if breaks else unit
            for unit in _units(text)
            if text[unit.start : unit.end].strip()
        ]
        [reserved, *sizes] = self._count([context_of(context), *(text[unit.start : unit.end] for unit in units)])
        room = max(self._size - _SPECIAL_TOKENS - reserved, self._size // 4)
        parts = self._divided(text, units, sizes, room)
        return [_passage(text, first, last, heading) for first, last, heading in self._packed(parts, room)]

    def _divided(self, text: str, units: Sequence[_Unit], sizes: Sequence[int], room: int) -> list[tuple[_Unit, int]]:
        """Return the units with their tokens; those that are too long in parts."""
        out: list[tuple[_Unit, int]] = []
        for unit, size in zip(units, sizes, strict=True):
            length = unit.end - unit.start
            whole = unit.kind in ("code", "row") or size <= room
            if whole and length <= self._max_characters:
                out.append((unit, size))
                continue
            halves = list(_halved(text, unit))
            counted = self._count([text[half.start : half.end] for half in halves])
            out += self._divided(text, halves, counted, room) if len(halves) > 1 else [(unit, size)]
        return out

    def _packed(self, parts: Sequence[tuple[_Unit, int]], room: int) -> Iterator[tuple[_Unit, _Unit, _Unit | None]]:
        """Yield first unit, last unit and heading of each passage: as many as fit; the next repeats the last
        sentences.
        """
        headings = _headings([unit for unit, _ in parts])
        first = 0
        while first < len(parts):
            after = self._filled(parts, first, room, headings)
            yield parts[first][0], parts[after - 1][0], headings[first]
            if after == len(parts):
                return
            first = self._repeated(parts, first, after, room)

    def _filled(
        self, parts: Sequence[tuple[_Unit, int]], first: int, room: int, headings: Sequence[_Unit | None]
    ) -> int:
        """Return the first unit after the passage that begins with ``first``."""
        heading = headings[first]
        total = 0 if heading is None else (heading.end - heading.start) // 4
        after = first
        for unit, size in parts[first:]:
            begins_section = unit.page != parts[first][0].page or (unit.kind == "heading" and total * 2 >= room)
            too_long = unit.end - parts[first][0].start > self._max_characters
            if after > first and (total + size > room or begins_section or too_long):
                break
            total += size
            after += 1
        if after < len(parts):
            while after - 1 > first and parts[after - 1][0].kind == "heading":
                after -= 1  # a heading belongs to what follows it
        return after

    def _repeated(self, parts: Sequence[tuple[_Unit, int]], first: int, after: int, room: int) -> int:
        """Return where the next passage begins: some sentences before ``after`` where they fit."""
        begin, repeated = after, 0
        following = parts[after][1]
        while begin - 1 > first and parts[after][0].kind != "heading":
            unit, size = parts[begin - 1]
            if (
                unit.kind != "prose"
                or unit.page != parts[after][0].page
                or repeated + size > self._overlap
                or repeated + size + following > room
            ):
                break
            repeated += size
            begin -= 1
        return begin


def _passage(text: str, first: _Unit, last: _Unit, heading: _Unit | None) -> Passage:
    """Return the passage of these units, without white space at its ends."""
    inner = text[first.start : last.end]
    start = first.start + len(inner) - len(inner.lstrip())
    end = last.end - len(inner) + len(inner.rstrip())
    title = "" if heading is None else text[heading.start : heading.end].strip("#=- \t\r\n\f")
    return Passage(start, end, context_of(title), page=first.page + 1 if "\f" in text else None)


def sentences(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence, code block, row and heading, without white space at its ends."""
    stripped = ((unit, text[unit.start : unit.end]) for unit in _units(text))
    return [
        (unit.start + len(part) - len(part.lstrip()), unit.end - len(part) + len(part.rstrip()))
        for unit, part in stripped
        if part.strip()
    ]


def context_of(text: str) -> str:
    """Return the part of a name or heading that is embedded with a passage."""
    return " ".join(text[:_MAX_CONTEXT].split())


def page_of(text: str, offset: int) -> int | None:
    """Return the page that the offset is on, from 1, where form feeds separate pages; else None."""
    return text.count("\f", 0, offset) + 1 if "\f" in text else None


def of_facet(passages: Sequence[Passage], facet: str) -> list[Passage]:
    return [replace(passage, facet=facet) for passage in passages]


def _tokenizer_of(embedder: object) -> Tokenizes | None:
    return embedder if isinstance(embedder, Tokenizes) else None


def _estimated(texts: Sequence[str]) -> list[int]:
    """About how many tokens each text has, where the model's own tokenizer is not at hand."""
    return [sum(1 for _ in _ESTIMATED.finditer(text)) for text in texts]


def _headings(units: Sequence[_Unit]) -> list[_Unit | None]:
    """Return the heading that each unit is under; None for a heading itself."""
    out: list[_Unit | None] = []
    latest: _Unit | None = None
    for unit in units:
        latest = unit if unit.kind == "heading" else latest
        out.append(None if unit.kind == "heading" else latest)
    return out


def _units(text: str) -> Iterator[_Unit]:
    """Code blocks, table rows, headings and sentences."""
    for start, end, kind in _blocks(text):
        if kind == "prose":
            yield from _sentences(text, start, end)
        else:
            yield _Unit(start, end, kind)


def _blocks(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the text in blocks: what is prose has no code, rows or headings within, and ends at a blank line."""
    lines = _lines(text)
    number = 0
    begin = 0  # of the prose that is not yet given
    in_list = False
    while number < len(lines):
        start, end = lines[number]
        line = text[start:end]
        kind, after = _special(text, lines, number, after_blank=start == begin, in_list=in_list)
        if not kind:
            in_list = bool(_LIST_ITEM.match(line)) or (in_list and (not line.strip() or line[:1].isspace()))
            item = bool(_LIST_ITEM.match(line))
            if item and start > begin:
                yield begin, start, "prose"
                begin = start
            if not line.strip() or line.endswith("\f"):
                yield begin, end, "prose"
                begin = end
            number += 1
            continue
        if start > begin:
            yield begin, start, "prose"
        begin = lines[after - 1][1]
        yield start, begin, kind
        number = after
    if begin < len(text):
        yield begin, len(text), "prose"


def _special(
    text: str, lines: Sequence[tuple[int, int]], number: int, *, after_blank: bool, in_list: bool
) -> tuple[str, int]:
    """Return the kind of the block that begins with the line, and the line after it; an empty kind for prose."""
    line = text[slice(*lines[number])]
    following = text[slice(*lines[number + 1])] if number + 1 < len(lines) else ""
    kind, after = "", number
    if fence := _FENCE.match(line):
        kind, after = "code", _closed(text, lines, number + 1, rf" {{0,3}}{fence[1]}[`~]*\s*$")
    elif tag := _TAG.match(line):
        kind, after = ("row" if tag[1].lower() == "tr" else "code"), _closed(text, lines, number, rf".*</{tag[1]}\s*>")
    elif after_blank and not in_list and _INDENTED.match(line):
        kind, after = "code", number + 1
        while after < len(lines) and _INDENTED.match(text[slice(*lines[after])]):
            after += 1
    elif _ROW.match(line) or ("|" in line and (_RULE.match(following) or _in_table(text, lines, number))):
        kind, after = "row", number + 1
    elif _HEADING.match(line):
        kind, after = "heading", number + 1
    elif after_blank and line.strip() and len(line) <= _MAX_CONTEXT and _UNDERLINE.match(following):
        kind, after = "heading", number + 2
    return kind, after


def _in_table(text: str, lines: Sequence[tuple[int, int]], number: int) -> bool:
    """Return whether the lines above, back to the rule below a table's head, are all rows."""
    for start, end in reversed(lines[max(number - 200, 0) : number]):
        if _RULE.match(text[start:end]):
            return True
        if "|" not in text[start:end]:
            return False
    return False


def _closed(text: str, lines: Sequence[tuple[int, int]], number: int, closing: str) -> int:
    """Return the line after the one that closes, looked for from ``number`` on; the end of the text where none does."""
    pattern = re.compile(closing, re.IGNORECASE)
    return next((at + 1 for at in range(number, len(lines)) if pattern.match(text[slice(*lines[at])])), len(lines))


def _lines(text: str) -> list[tuple[int, int]]:
    """Start and end of every line, its break included."""
    ends = [match.end() for match in re.finditer(r"\r\n|[\n\r\f\v\u2028\u2029]", text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _sentences(text: str, start: int, end: int) -> Iterator[_Unit]:
    begin = start
    for stop in _STOP.finditer(text, start, end):
        before = text[max(begin, stop.start() - 8) : stop.start() + 1]
        lower = text[stop.end() : stop.end() + 1].islower()
        if text[stop.start()] == "." and (lower or _ABBREVIATION.search(before)):
            continue
        yield _Unit(begin, stop.end(), "prose")
        begin = stop.end()
    if begin < end:
        yield _Unit(begin, end, "prose")


def _halved(text: str, unit: _Unit) -> Iterator[_Unit]:
    """Yield the unit in two, cut near its middle; itself where it has a single character."""
    middle = (unit.start + unit.end) // 2
    cut = next((cut for signs in _CUTS if (cut := _nearest(text, unit, signs, middle))), middle)
    if unit.start < cut < unit.end:
        yield replace(unit, end=cut)
        yield replace(unit, start=cut)
    else:
        yield unit


def _nearest(text: str, unit: _Unit, signs: str, middle: int) -> int | None:
    """Return the place after the one of the signs that is nearest to the middle, within the middle half."""
    quarter = (unit.end - unit.start) // 4
    before = max(text.rfind(sign, middle - quarter, middle) for sign in signs)
    behind = min((cut for sign in signs if (cut := text.find(sign, middle, middle + quarter)) >= 0), default=-1)
    near = [cut + 1 for cut in (before, behind) if cut >= 0]
    return min(near, key=lambda cut: abs(cut - middle), default=None)
