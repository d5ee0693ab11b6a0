"""Quotes as CSV defines them: what is written otherwise is rewritten, so that every reader splits it alike."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_BLOCK = 1 << 20  #: small enough to stay in the processor's cache
_NONE = np.empty(0, dtype=np.intp)
_QUOTE = ord('"')
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_MAX_LINES = 5  #: that a note names


@dataclass(frozen=True)
class Requoted:
    """A text of which every cell with a quote is quoted as CSV defines it; no line of it has moved."""

    content: bytes
    kept: list[int]  #: lines, from 1, of cells with text behind the closing quote, which are kept as written
    open_line: int | None  #: line, from 1, of a quote that is never closed, or only by that of a cell further down


def is_regular(source: Path | bytes, delimiter: str) -> bool:
    """Return whether every quote opens a cell, closes one, or is doubled within one."""
    inside = False
    before = ord("\n")
    is_end = np.zeros(256, dtype=bool)
    is_end[list(b'\r\n"' + delimiter.encode())] = True
    for block, after in _blocks(source):
        places = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == _QUOTE) if b'"' in block else _NONE
        if places.size:
            edged = np.frombuffer(b"".join((bytes([before]), block, bytes([after]))), dtype=np.uint8)
            first = 1 if inside else 0
            opening, closing = places[first::2], places[1 - first :: 2]
            if not (is_end[edged[opening]].all() and is_end[edged[closing + 2]].all()):
                return False
            inside ^= bool(places.size % 2)
        before = block[-1]
    return not inside


def _blocks(source: Path | bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the content piece by piece, each with the byte that follows it; behind the last one that is a line end."""
    if isinstance(source, bytes):
        for at in range(0, len(source), _BLOCK):
            end = at + _BLOCK
            yield source[at:end], source[end] if end < len(source) else ord("\n")
        return
    with source.open("rb", buffering=0) as file:
        block = file.read(_BLOCK).removeprefix(b"\xef\xbb\xbf")
        while block:
            following = file.read(_BLOCK)
            yield block, following[0] if following else ord("\n")
            block = following


def requoted(content: bytes, delimiter: str) -> Requoted:
    """Double the quotes of cells that are not quoted as CSV defines it, so that they hold what is written."""
    cell, ends = _cell_with_quote(delimiter), [bytes([byte]) for byte in b"\r\n" + delimiter.encode()]
    breaks = [match.start() for match in re.finditer(rb"\n", content)]
    parts: list[bytes] = []
    kept: list[int] = []
    at = copied = 0
    while (quote := content.find(b'"', at)) >= 0:
        begin = max(at, *(content.rfind(end, at, quote) + 1 for end in ends))
        match = cell.match(content, begin)
        assert match is not None
        quoted, behind, plain = match["quoted"], match["behind"], match["plain"]
        has_text_behind = bool(behind and behind.strip(b" \t"))
        if match["open"] or (has_text_behind and quoted is not None and b"\n" in quoted):
            return Requoted(content, kept, bisect_right(breaks, begin) + 1)
        if behind or plain:
            raw = content[begin : match.end()]
            if has_text_behind:
                kept.append(bisect_right(breaks, begin) + 1)
            parts.append(content[copied:begin])
            parts.append(_in_quotes(quoted, raw, behind or b""))
            copied = match.end()
        at = match.end()
    return Requoted(b"".join([*parts, content[copied:]]), kept, None)


def _in_quotes(quoted: bytes | None, raw: bytes, behind: bytes) -> bytes:
    if quoted is not None and not behind.strip(b" \t"):  # blanks behind the closing quote belong to the cell
        return quoted[:-1] + behind + b'"'
    return b'"' + raw.replace(b'"', b'""') + b'"'


def _cell_with_quote(delimiter: str) -> re.Pattern[bytes]:
    """Return the pattern of a cell that has a quote; of one that is never closed it matches the quote.

    No group in it is possessive: Python 3.11.2 matches those wrongly.
    """
    rest = rb"[^" + re.escape(delimiter.encode()) + rb"\r\n]*+"
    return re.compile(
        rb'(?P<quoted>"[^"]*+(?:""[^"]*+)*"(?!"))(?P<behind>' + rest + rb')|(?P<open>")|(?P<plain>' + rest + rb")"
    )


def with_line_feeds(content: bytes) -> bytes:
    """Return a text of regular quotes in which no line ends with a lone carriage return; quoted ones stay."""
    parts = content.split(b'"')
    parts[::2] = [_LONE_RETURN.sub(b"\n", part) for part in parts[::2]]
    return b'"'.join(parts)


def without_blanks_before(content: bytes, delimiter: str) -> bytes | None:
    """Return a text of which quotes follow the delimiter and blanks (``"a", "b"``) without those blanks.

    None where nothing is written so, or where the quotes would not be regular without them either.
    """
    closer = closed_up(content, delimiter)
    is_other = len(closer) < len(content) and not is_regular(content, delimiter)
    return closer if is_other and is_regular(closer, delimiter) else None


def closed_up(content: bytes, delimiter: str) -> bytes:
    """Return the text without blanks between a delimiter and a quote; those within a quoted cell stay."""
    mark = delimiter.encode()
    pieces: list[bytes] = []
    kept, inside = b"", 0  #: ``inside``: 1 where a piece begins within a quoted cell
    for at in range(0, len(content), _BLOCK):
        text = kept + content[at : at + _BLOCK]
        end = text.rfind(b'"') + 1 or len(text.rstrip(b" ")) - 1  # blanks before a quote are never cut off from it
        piece, kept = text[: max(end, 0)], text[max(end, 0) :]
        parts = piece.split(b'"')
        if mark + b" " in piece:
            for outside in range(inside, len(parts) - 1, 2):
                bare = parts[outside].rstrip(b" ")
                if bare.endswith(mark):
                    parts[outside] = bare
            piece = b'"'.join(parts)
        inside ^= (len(parts) - 1) % 2
        pieces.append(piece)
    return b"".join([*pieces, kept])


def note_on_kept(lines: Sequence[int]) -> str:
    """Return the note on cells that keep their quotes, of which these are the lines."""
    named = sorted(set(lines))
    shown = ", ".join(map(str, named[:_MAX_LINES])) + (" ..." if len(named) > _MAX_LINES else "")
    return f"text behind a closing quote, kept with its quotes: line{'s' * (len(named) > 1)} {shown}"
