"""Looks through the bytes of a text file for numbers that lose something when they are typed: ``007``, ``+49``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
_BLOCK = 1 << 18  #: small enough to stay in the processor's cache
_AHEAD = 4  #: bytes of a block that are looked at again in the next one
_DIGIT = np.array([chr(code).isdigit() for code in range(128)] + [False] * 128)
_BEGINS = _DIGIT.copy()  #: what a number may begin with, behind a blank
_BEGINS[list(b"+-. ")] = True


def has_odd_numbers(path: Path, delimiter: str) -> bool:
    """Whether any cell looks like a number with a leading zero, a plus or a blank. Text may look so too."""
    cells = _Beginnings(delimiter)
    for block, buffer in _blocks(path):
        cells.look_at(block, quoted=b'"' in buffer)
        # The two characters differ in one bit, so that one comparison finds both.
        at = cells.with_first("0", but_for=ord("0") ^ ord(" "))
        zero = block[at] == ord("0")
        if _DIGIT[block[at[zero] + 1]].any() or _BEGINS[block[at[~zero] + 1]].any():
            return True
        if b"+" in buffer and _DIGIT[block[cells.with_first("+") + 1]].any():
            return True
    return False


def has_odd_signs(path: Path, delimiter: str) -> bool:
    """Whether a minus stands before a leading zero."""
    cells = _Beginnings(delimiter)
    for block, buffer in _blocks(path):
        cells.look_at(block, quoted=b'"' in buffer)
        at = cells.with_first("-")
        if ((block[at + 1] == ord("0")) & _DIGIT[block[at + 2]]).any():
            return True
    return False


def is_rectangular(path: Path, delimiter: str, rows: int, width: int) -> bool:
    """Whether every row has its delimiters. Not known, and so not true, of a file with quotes."""
    count = 0
    with path.open("rb") as file:
        while content := file.read(_BLOCK):
            if b'"' in content:
                return False
            count += int(np.count_nonzero(np.frombuffer(content, dtype=np.uint8) == ord(delimiter)))
    return count == (rows + 1) * (width - 1)


def _blocks(path: Path) -> Iterator[tuple[Bytes, bytearray]]:
    """The file piece by piece, in one buffer that is used again, with a blank end."""
    buffer = bytearray(_BLOCK)
    view = memoryview(buffer)
    kept = 0
    with path.open("rb", buffering=0) as file:
        while read := file.readinto(view[kept : _BLOCK - _AHEAD]):
            size = kept + read
            if size < _BLOCK:
                view[size:] = bytes(_BLOCK - size)
            yield np.frombuffer(buffer, dtype=np.uint8), buffer
            kept = min(_AHEAD, size)
            view[:kept] = view[size - kept : size]


class _Beginnings:
    """Where the cells of a block begin; its arrays are used again: new ones would cost more than the search."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter = ord(delimiter)
        self._begins, self._fits = np.empty(_BLOCK, dtype=bool), np.empty(_BLOCK, dtype=bool)
        self._masked = np.empty(_BLOCK, dtype=np.uint8)
        self._block = self._masked

    def look_at(self, block: Bytes, quoted: bool) -> None:
        self._block = block
        np.equal(block, self._delimiter, out=self._begins)
        for mark in b'\n"' if quoted else b"\n":
            np.logical_or(self._begins, np.equal(block, mark, out=self._fits), out=self._begins)

    def with_first(self, first: str, but_for: int = 0) -> NDArray[np.intp]:
        """The places of the cells with this first character; ``but_for`` are bits of it that may be otherwise."""
        kept = 0xFF & ~but_for
        seen = np.bitwise_and(self._block, np.uint8(kept), out=self._masked) if but_for else self._block
        np.equal(seen, ord(first) & kept, out=self._fits)
        both = np.logical_and(self._begins[:-1], self._fits[1:], out=self._fits[1:])
        return np.flatnonzero(both) + 1 if both.any() else np.empty(0, dtype=np.intp)
