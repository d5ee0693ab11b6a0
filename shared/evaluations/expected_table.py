"""Whether a table is the expected one: columns by name, cells within the tolerance, rows in the order as said."""

from __future__ import annotations

import csv
import io
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any

from shared.amounts import amount
from shared.contracts.evaluations import MAX_ROWS, ExpectedTable, Tolerance

Cell = float | str | None
Row = tuple[Cell, ...]


class NoTable(ValueError):
    """The given expected table is not a table."""


@dataclass(frozen=True)
class Expected:
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    ordered: bool
    named: bool
    tolerance: Tolerance


def expected_of(table: ExpectedTable) -> Expected:
    """Return the expected table, parsed. Raises: NoTable."""
    tolerance = table.tolerance
    given = tolerance if isinstance(tolerance, Tolerance) else Tolerance(absolute=tolerance)
    columns, rows = _of_csv(table.csv) if table.csv is not None else _of_rows(table.rows or [])
    if len(rows) > MAX_ROWS:
        raise NoTable(f"an expected table has {MAX_ROWS:,} rows at most; describe a larger one by assertions")
    if len(set(columns)) != len(columns):
        raise NoTable("two columns have the same name")
    return Expected(columns, tuple(rows), table.order == "given", table.columns == "named", given)


def difference(expected: Expected, table: Mapping[str, Any] | None) -> str | None:
    """Return the first difference as a sentence, or None; ``table`` is that of a transform's result.

    Adversarial tables take long to compare: `shared.evaluations.scoring` does it in a bounded process.
    """
    if table is None:
        return "the result has no table"
    names = [str(column["name"]) for column in table["columns"]]
    if not expected.named:
        if len(names) != len(expected.columns):
            return f"{amount(len(names), 'column')} instead of {len(expected.columns)}"
        names = list(expected.columns)
    missing = [name for name in expected.columns if name not in names]
    more = [name for name in names if name not in expected.columns]
    if missing or more:
        parts = [f"no column {', '.join(missing)}"] if missing else []
        return "; ".join([*parts, f"unexpected column {', '.join(more)}"] if more else parts)
    if table["row_count"] != len(expected.rows):
        return f"{amount(table['row_count'], 'row')} instead of {len(expected.rows)}"
    places = [names.index(name) for name in expected.columns]
    rows = [tuple(_cell(row[place]) for place in places) for row in table["rows"]]
    if len(rows) != len(expected.rows):
        return f"only {len(rows)} of {amount(len(expected.rows), 'row')} came with the result"
    return (_in_order if expected.ordered else _in_any_order)(expected, rows)


def _in_order(expected: Expected, rows: Sequence[Row]) -> str | None:
    for number, (wanted, row) in enumerate(zip(expected.rows, rows, strict=True), start=1):
        for name, one, other in zip(expected.columns, wanted, row, strict=True):
            if not _same(one, other, expected.tolerance):
                return f"row {number}, {name}: {other!r} instead of {one!r}"
    return None


def _in_any_order(expected: Expected, rows: Sequence[Row]) -> str | None:
    """Pair each expected row with another one of the result.

    Rows of which each cell agrees are paired first, then neighbours in the order of their numbers. Only what is left is
    looked for by augmenting paths: tolerances overlap, so a row may have to give up its partner for another one.
    """
    by_texts: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        by_texts[_texts(row)].append(index)
    paired: dict[int, int] = {}
    unpaired: list[int] = []
    for texts, numbers in _grouped(expected.rows).items():
        unpaired += _paired_in_order(expected, rows, numbers, by_texts.get(texts, []), paired)

    def partners(of: int) -> Iterator[int]:
        candidate = expected.rows[of]
        return (i for i in by_texts[_texts(candidate)] if _same_row(candidate, rows[i], expected.tolerance))

    for number in sorted(unpaired):
        if not _pair(number, partners, paired):
            return f"no row like {dict(zip(expected.columns, expected.rows[number], strict=True))!r}"
    return None


def _grouped(rows: Sequence[Row]) -> dict[tuple[object, ...], list[int]]:
    groups: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        groups[_texts(row)].append(number)
    return groups


def _paired_in_order(
    expected: Expected, rows: Sequence[Row], numbers: list[int], indexes: list[int], paired: dict[int, int]
) -> list[int]:
    """Pair equal rows, and then those that are next in the order of their numbers; return who is without a partner."""
    equal: defaultdict[Row, list[int]] = defaultdict(list)
    for index in reversed(indexes):
        equal[rows[index]].append(index)
    left = []
    for number in numbers:
        if alike := equal.get(expected.rows[number]):
            paired[alike.pop()] = number
        else:
            left.append(number)
    waiting = deque(sorted((i for alike in equal.values() for i in alike), key=lambda i: _numbers(rows[i])))
    unpaired = []
    for number in sorted(left, key=lambda number: _numbers(expected.rows[number])):
        if waiting and _same_row(expected.rows[number], rows[waiting[0]], expected.tolerance):
            paired[waiting.popleft()] = number
        else:
            unpaired.append(number)
    return unpaired


def _numbers(row: Row) -> tuple[float, ...]:
    return tuple(cell for cell in row if isinstance(cell, float))


def _pair(number: int, partners: Callable[[int], Iterator[int]], paired: dict[int, int]) -> bool:
    """Add one more pair, moving others where necessary (Kuhn's algorithm, without recursion)."""
    seen: set[int] = set()
    path: list[tuple[int, Iterator[int], int | None]] = [(number, partners(number), None)]
    while path:
        row, left, _ = path[-1]
        partner = next((each for each in left if each not in seen), None)
        if partner is None:
            path.pop()
            continue
        seen.add(partner)
        path[-1] = (row, left, partner)
        holder = paired.get(partner)
        if holder is None:
            for each, _, taken in path:
                assert taken is not None
                paired[taken] = each
            return True
        path.append((holder, partners(holder), None))
    return False


def _texts(row: Row) -> tuple[object, ...]:
    """Return a row without its numbers, which may differ within the tolerance."""
    return tuple("" if isinstance(cell, float) else cell for cell in row)


def _same_row(one: Row, other: Row, tolerance: Tolerance) -> bool:
    return all(_same(a, b, tolerance) for a, b in zip(one, other, strict=True))


def _same(wanted: Cell, cell: Cell, tolerance: Tolerance) -> bool:
    if isinstance(wanted, float) and isinstance(cell, float):
        return wanted == cell or abs(wanted - cell) <= max(tolerance.absolute, tolerance.relative * abs(wanted))
    return wanted == cell


def _of_csv(text: str) -> tuple[tuple[str, ...], list[Row]]:
    try:
        lines = [line for line in csv.reader(io.StringIO(text, newline=""), strict=True) if line]
    except csv.Error as error:
        raise NoTable(f"not CSV: {error}") from None
    if not lines:
        raise NoTable("the first line of the CSV text names the columns")
    head, *rows = lines
    for number, row in enumerate(rows, start=2):
        if len(row) != len(head):
            raise NoTable(
                f"line {number} of the CSV text has {amount(len(row), 'cell')} for {amount(len(head), 'column')}"
            )
    return tuple(name.strip() for name in head), [tuple(map(_cell, row)) for row in rows]


def _of_rows(rows: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], list[Row]]:
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    return columns, [tuple(_cell(row.get(name)) for name in columns) for row in rows]


def _cell(value: object) -> Cell:
    """Return a number as a float, a missing value as None, a time in one spelling, everything else as its text."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return float(value)
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        number = float(text) if "_" not in text else None
    except ValueError:
        return _time(text)
    return number if number is not None and isfinite(number) else text


def _time(text: str) -> str:
    """Midnight is the day: CSV text and data frames do not agree on what a date is."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return moment.isoformat().removesuffix("T00:00:00")
