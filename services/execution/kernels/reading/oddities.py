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
    pairs = _Pairs()
    for block, buffer in _blocks(path):
        marks = _marks(delimiter, buffer)
        # The two characters differ in one bit, so that one comparison finds both.
        for at in pairs.after(block, marks, " ", but_for=ord("0") ^ ord(" ")):
            zero = block[at] == ord("0")
            if (_DIGIT[block[at[zero] + 1]]).any() or _BEGINS[block[at[~zero] + 1]].any():
                return True
        if b"+" in buffer and any(_DIGIT[block[at + 1]].any() for at in pairs.after(block, marks, "+")):
            return True
    return False


def has_odd_signs(path: Path, delimiter: str) -> bool:
    """Whether a minus stands before a leading zero."""
    pairs = _Pairs()
    for block, buffer in _blocks(path):
        for at in pairs.after(block, _marks(delimiter, buffer), "-"):
            if ((block[at + 1] == ord("0")) & _DIGIT[block[at + 2]]).any():
                return True
    return False


def is_rectangular(path: Path, delimiter: str, rows: int, width: int) -> bool:
    """Whether every row has its delimiters. Not known, and so not true, of a file with quotes."""
    found = 0
    with path.open("rb") as file:
        while content := file.read(_BLOCK):
            if b'"' in content:
                return False
            found += int(np.count_nonzero(np.frombuffer(content, dtype=np.uint8) == ord(delimiter)))
    return found == (rows + 1) * (width - 1)


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


def _marks(delimiter: str, buffer: bytearray) -> str:
    """What stands before a cell."""
    return f"{delimiter}\n" + ('"' if b'"' in buffer else "")


class _Pairs:
    """Finds two characters side by side; its arrays are used again: new ones would cost more than the search."""

    def __init__(self) -> None:
        half = _BLOCK // 2
        self._masked = np.empty(half, dtype="<u2")
        self._found, self._also = np.empty(half, dtype=bool), np.empty(half, dtype=bool)

    def after(self, block: Bytes, marks: str, second: str, but_for: int = 0) -> Iterator[NDArray[np.intp]]:
        """Where ``second`` stands behind one of the marks; ``but_for`` are bits of it that may be otherwise."""
        for shift in (0, 1):
            pairs = block[shift : _BLOCK - shift].view("<u2")
            size = len(pairs)
            found, also = self._found[:size], self._also[:size]
            if but_for:
                pairs = np.bitwise_and(pairs, np.uint16(0xFFFF ^ but_for << 8), out=self._masked[:size])
            wanted = (ord(second) & ~but_for) << 8
            np.equal(pairs, np.uint16(ord(marks[0]) | wanted), out=found)
            for mark in marks[1:]:
                np.equal(pairs, np.uint16(ord(mark) | wanted), out=also)
                np.logical_or(found, also, out=found)
            if found.any():
                yield np.flatnonzero(found) * 2 + shift + 1
