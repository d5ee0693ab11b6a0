"""The tables of a transform's prompt: names, types and the values that the preview lists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TABLE = re.compile(r'^("(?:[^"\\]|\\.)*"): ([\d,]+) rows? x [\d,]+ columns?$')
_COLUMN = re.compile(r'^- ("(?:[^"\\]|\\.)*"): (\w+)(.*)$')
_DISTINCT = re.compile(r"; (?:about )?([\d,]+) distinct")
_LISTED = re.compile(r"; (all values|most): (.*)$")
_COUNT = re.compile(r" x [\d,]+(?:, |;|$)")
_DATA = re.compile(r"^# Data\n\nBEGIN DATA\n(.*?)\nEND DATA\n\n# Task\n\n(.*)$", re.DOTALL | re.MULTILINE)
#: What a transform's prompt appends to the task.
_AFTER_TASK = re.compile(
    r"\n(?:The first data set is the result of |Some columns are confidential|State in a second block"
    r"|Write \w+ code for"
    r"|The assertions|The result must|Assertions)",
)
_ID = re.compile(r"(?:^|[_\W])(?:id|no|nr|key|code|zip|zipcode|postcode|year|phone|index)$|(?-i:[a-z]I[Dd])$", re.I)
#: In the singular: ``orders`` is a count of them.
_THINGS = frozenset(
    "order customer user employee invoice ticket patient student person member product item booking transaction".split()
)
_NUMBERS = frozenset({"int", "float", "decimal"})
_DATES = frozenset({"date", "datetime"})


@dataclass(frozen=True)
class ColumnSeen:
    table: str
    name: str
    type: str
    values: tuple[object, ...] = ()  #: those that the preview shows
    complete: bool = False  #: whether ``values`` are all distinct values
    distinct: int | None = None

    @property
    def is_number(self) -> bool:
        return self.type in _NUMBERS

    @property
    def is_date(self) -> bool:
        """Return whether the column holds dates, as dates or as text that pandas reads without doubt."""
        texts = [value for value in self.values if isinstance(value, str)]
        return self.type in _DATES or (self.type == "string" and bool(texts) and all(map(_is_plain_date, texts)))

    @property
    def is_id(self) -> bool:
        """Return whether adding up the column makes no sense: keys, codes, years and the numbers of things."""
        return _ID.search(self.name) is not None or self.is_number_of_things

    @property
    def is_number_of_things(self) -> bool:
        """Return whether the column numbers the things that it is called after: ``order`` with 1001, 1002 ..."""
        return self.type == "int" and self.name.casefold() in _THINGS


@dataclass(frozen=True)
class TableSeen:
    name: str
    rows: int
    columns: tuple[ColumnSeen, ...]

    def column(self, name: str) -> ColumnSeen | None:
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True)
class TaskSeen:
    """What a transform's prompt asks: the task's own words and the tables."""

    task: str
    tables: tuple[TableSeen, ...]


def read_task(messages: Sequence[str]) -> TaskSeen | None:
    """Return the latest task of the exchange; None when no message holds one."""
    for message in reversed(messages):
        if match := _DATA.search(message):
            task = _AFTER_TASK.split(match[2])[0].strip()
            return TaskSeen(task, tuple(_tables(match[1])))
    return None


def _tables(text: str) -> Iterator[TableSeen]:
    name, height = "", 0
    columns: list[ColumnSeen] = []
    names: list[object] = []
    rows: list[list[object]] = []
    for line in text.splitlines():
        if match := _TABLE.match(line):
            if name:
                yield TableSeen(name, height, _with_rows(columns, names, rows))
            name, height = json.loads(match[1]), int(match[2].replace(",", ""))
            columns, names, rows = [], [], []
        elif name and (match := _COLUMN.match(line)):
            columns.append(_column(name, json.loads(match[1]), match[2], match[3]))
        elif name and line.startswith("[") and (row := _row(line)) is not None:
            if names:
                rows.append(row)
            else:
                names = row
    if name:
        yield TableSeen(name, height, _with_rows(columns, names, rows))


def _column(table: str, name: str, kind: str, facts: str) -> ColumnSeen:
    distinct = _DISTINCT.search(facts)
    listed = _LISTED.search(facts)
    return ColumnSeen(
        table,
        name,
        kind,
        tuple(_values(listed[2])) if listed else (),
        listed is not None and listed[1] == "all values",
        int(distinct[1].replace(",", "")) if distinct else None,
    )


def _values(text: str) -> Iterator[object]:
    """Read ``"Oslo" x 2, "Rome" x 1``; values that were cut are left out."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            return
        count = _COUNT.search(text, end)
        if count is None:
            return
        if count.start() == end:
            yield value
        at = count.end()


def _row(line: str) -> list[object] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, list) else None


def _with_rows(
    columns: Sequence[ColumnSeen], names: Sequence[object], rows: Sequence[Sequence[object]]
) -> tuple[ColumnSeen, ...]:
    """Return the columns with the values of the shown rows."""
    shown = {}
    for place, name in enumerate(names):
        shown[name] = [row[place] for row in rows if len(row) > place and row[place] is not None]
    return tuple(
        ColumnSeen(
            column.table,
            column.name,
            column.type,
            tuple(dict.fromkeys([*column.values, *map(_hashable, shown.get(column.name, ()))])),
            column.complete,
            column.distinct,
        )
        for column in columns
    )


def _hashable(value: object) -> object:
    return value if isinstance(value, (str, int, float, bool)) else json.dumps(value)


def _is_plain_date(text: str) -> bool:
    """Return whether the order of day and month is certain: ISO 8601, or a month by its name."""
    return bool(
        re.match(r"\d{4}-\d\d(?:-\d\d)?(?:[T ]|$)", text)
        or re.match(r"\d{1,2}[- /](?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[- /,]+\d{2,4}$", text, re.I)
    )
