"""Large text files are read once, with the types that samples of them claim; whatever refutes a claim is found."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .cells import MISSING, MISSING_IN_NUMBERS, Kind, kind_of, may_be_inexact
from .type_inference import has_comma_decimals, may_be_thousands

Bytes = NDArray[np.uint8]
#: Smaller ones are quickly read as text first.
LEAST_BYTES = 2_000_000
_HEAD_ROWS = 200
_PLACES = 40  #: spread over the file, where rows are sampled before it is read
_ABSENT = {*MISSING, *MISSING_IN_NUMBERS}
#: Where text resembles an odd number, the bytes alone cannot distinguish the two.
_ODD = re.compile(r"[+ ][\d.]|-?0\d")
# Dates stay text at first: the reader would take several formats for one.
_READ_AS: Mapping[Kind | None, type[pl.DataType]] = {"int": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}
_BLOCK = 1 << 18  #: small enough to stay in the processor's cache
_AHEAD = 4  #: bytes of a block that are read again in the next one
_DIGIT = np.array([chr(code).isdigit() for code in range(128)] + [False] * 128)
_BEGINS = _DIGIT.copy()  #: what a number may begin with, behind a blank
_BEGINS[list(b"+-. ")] = True


def read_large(path: Path, head: str, delimiter: str, names: Sequence[str]) -> pl.DataFrame | None:
    """Return the table; columns that need a closer look are text ("" where empty).

    ``None`` when a claim did not hold, or a row may be too short: the file has to be read as text first.
    """
    samples = _samples(path, head, delimiter, len(names))
    if has_comma_decimals(delimiter, samples) or any(_ODD.match(cell) for sample in samples for cell in sample):
        return None
    if delimiter == ";" and any(may_be_thousands(sample) for sample in samples):
        return None  # a note says so
    kinds = [None if _ABSENT & sample else kind_of(list(sample)) for sample in samples]
    schema = {name: _READ_AS.get(kind, pl.String) for name, kind in zip(names, kinds, strict=True)}
    numbers = [name for name, dtype in schema.items() if dtype.is_numeric()]
    with ThreadPoolExecutor(1) as beside:
        odd = beside.submit(has_odd_numbers, path, delimiter) if numbers else None
        try:
            frame = pl.read_csv(path, separator=delimiter, schema=schema, empty_string_is_null=False, glob=False)
        except pl.exceptions.PolarsError:
            return None
        if odd is not None and odd.result():
            return None
    least = frame.select(pl.col(numbers).min()).row(0) if numbers else ()
    below_zero = any(value is not None and value < 0 for value in least)
    refuted = (
        (below_zero and has_odd_signs(path, delimiter))
        or any(frame[name].is_nan().any() for name in numbers if schema[name].is_float())  # spelled as missing
        or any(may_be_inexact(frame[name]) for name in numbers)
        or (_may_be_ragged(frame) and not is_rectangular(path, delimiter, frame.height, frame.width))
    )
    return None if refuted else frame


def _samples(path: Path, head: str, delimiter: str, width: int) -> list[set[str]]:
    """Return of each column the cells of the first rows and of places all over the file, without empty ones."""
    cells: list[set[str]] = [set() for _ in range(width)]
    for row in _rows(path, head, delimiter):
        if len(row) == width:  # a line within a quoted cell is not a row
            for column, cell in zip(cells, row, strict=True):
                column.add(cell)
    return [column - {""} for column in cells]


def _rows(path: Path, head: str, delimiter: str) -> Iterable[list[str]]:
    lines = head.splitlines(keepends=True)[: _HEAD_ROWS + 1]
    yield from list(csv.reader(lines, delimiter=delimiter))[1:-1]
    size = path.stat().st_size
    piece = min(size // _PLACES, max(1024, 6 * max(map(len, lines))))
    with path.open("rb") as file:
        for number in range(1, _PLACES):
            file.seek((size - piece) * number // (_PLACES - 1))
            pieces = file.read(piece).decode(errors="replace").splitlines()
            yield from csv.reader(pieces[1 : None if number == _PLACES - 1 else -1], delimiter=delimiter)


def _may_be_ragged(frame: pl.DataFrame) -> bool:
    """Return whether a row may be too short; that, and a blank line, look like a missing last cell."""
    last = frame.to_series(-1)
    return bool(last.null_count()) or (last.dtype == pl.String and bool((last == "").any()))


def has_odd_numbers(path: Path, delimiter: str) -> bool:
    """Return whether any cell looks like a number with a leading zero, a plus or a blank. Text may look so too."""
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
    """Return whether a minus precedes a leading zero."""
    cells = _Beginnings(delimiter)
    for block, buffer in _blocks(path):
        cells.look_at(block, quoted=b'"' in buffer)
        at = cells.with_first("-")
        if ((block[at + 1] == ord("0")) & _DIGIT[block[at + 2]]).any():
            return True
    return False


def is_rectangular(path: Path, delimiter: str, rows: int, width: int) -> bool:
    """Return whether every row has its delimiters; False for a file with quotes, where it is not known."""
    count = 0
    with path.open("rb") as file:
        while content := file.read(_BLOCK):
            if b'"' in content:
                return False
            count += int(np.count_nonzero(np.frombuffer(content, dtype=np.uint8) == ord(delimiter)))
    return count == (rows + 1) * (width - 1)


def _blocks(path: Path) -> Iterator[tuple[Bytes, bytearray]]:
    """Yield the file piece by piece, in one buffer that is used again, with a blank end."""
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
        """Return the places of the cells with this first character; ``but_for`` are bits of it that may differ."""
        kept = 0xFF & ~but_for
        seen = np.bitwise_and(self._block, np.uint8(kept), out=self._masked) if but_for else self._block
        np.equal(seen, ord(first) & kept, out=self._fits)
        both = np.logical_and(self._begins[:-1], self._fits[1:], out=self._fits[1:])
        return np.flatnonzero(both) + 1 if both.any() else np.empty(0, dtype=np.intp)
