"""``Range: bytes=...`` on a file's content: one range; several, or one that makes no sense, mean the whole."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RANGE = re.compile(r"bytes\s*=\s*(\d{0,19})\s*-\s*(\d{0,19})")


@dataclass(frozen=True)
class Span:
    """The bytes from ``start`` up to ``end`` (exclusive)."""

    start: int
    end: int


class OutOfReach(Exception):
    """The range begins after the end: 416."""


def wanted(header: str | None, size: int) -> Span | None:
    """The part that is asked for, or None for the whole. Raises: OutOfReach."""
    match = _RANGE.fullmatch(header.strip()) if header else None
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if first == "":
        length = min(int(last), size)
        if length == 0:
            raise OutOfReach
        return Span(size - length, size)
    start = int(first)
    if last and int(last) < start:
        return None
    if start >= size:
        raise OutOfReach
    return Span(start, min(int(last) + 1, size) if last else size)
