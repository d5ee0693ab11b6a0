"""Large text files are read once, with the types that samples of them claim; whatever refutes a claim is found."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl

from .cells import MISSING, MISSING_IN_NUMBERS
from .kinds import has_comma_decimals
from .oddities import has_odd_numbers, has_odd_signs, is_rectangular
from .plain import Kind, kind_of

#: Smaller ones are quickly read as text first.
LEAST_BYTES = 2_000_000
_HEAD_ROWS = 200
_PLACES = 40  #: spread over the file, where rows are looked at before it is read
_ABSENT = {*MISSING, *MISSING_IN_NUMBERS}
#: Where text looks like an odd number, odd numbers cannot be told from it by a look at the bytes.
_ODD = re.compile(r"[+ ][\d.]|-?0\d")
# Dates stay text at first: the reader would take several formats for one.
_READ_AS: Mapping[Kind | None, type[pl.DataType]] = {"int": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}


def read_large(path: Path, head: str, delimiter: str, names: Sequence[str]) -> pl.DataFrame | None:
    """The table; columns that need a closer look are text ("" where empty).

    ``None`` when a claim did not hold, or a row may be too short: the file has to be read as text first.
    """
    samples = _samples(path, head, delimiter, len(names))
    if has_comma_decimals(delimiter, samples) or any(_ODD.match(cell) for sample in samples for cell in sample):
        return None
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
        or (_may_be_ragged(frame) and not is_rectangular(path, delimiter, frame.height, frame.width))
    )
    return None if refuted else frame


def _samples(path: Path, head: str, delimiter: str, width: int) -> list[set[str]]:
    """Of each column, cells of the first rows and of places all over the file; empty ones left out."""
    cells: list[set[str]] = [set() for _ in range(width)]
    for row in _rows(path, head, delimiter):
        if len(row) == width:  # a line within a quoted cell is no row
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
    """A row that is too short, and a blank line, look like a missing last cell."""
    last = frame.to_series(-1)
    return bool(last.null_count()) or (last.dtype == pl.String and bool((last == "").any()))
