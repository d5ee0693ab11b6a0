"""HTML: its largest table. Banks and reporting programs write such files and name them ``.xls``."""

from __future__ import annotations

import csv
import io
from html.parser import HTMLParser

from .source import MAX_CELLS, MAX_COLUMNS, Unreadable

DELIMITER = "\t"
_MAX_BYTES = 50_000_000
_MAX_SPAN = 1000
_BREAKS = ("br", "p", "div", "li")


class _Tables(HTMLParser):
    """The rows of all tables, each cell as its text; a table within a cell is part of the text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[str]]] = []
        self._depth = 0
        self._cell: list[str] | None = None
        self._span = (1, 1)  #: columns and rows of the open cell
        #: by column: the text of a cell above, and how many rows it reaches down; for this row and the next one
        self._below: dict[int, tuple[str, int]] = {}
        self._coming: dict[int, tuple[str, int]] = {}
        self._row: list[str] | None = None
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a table, a row or a cell."""
        if tag in ("script", "style"):
            self._hidden += 1
        elif tag == "table":
            self._depth += 1
            if self._depth == 1:
                self.tables.append([])
                self._below, self._coming = {}, {}
        elif self._depth != 1:
            return
        elif tag == "tr":
            self._end_row()
            self._row = []
        elif tag in ("td", "th"):
            self._end_cell()
            if self._row is None:
                self._row = []
            given = dict(attrs)
            self._cell, self._span = [], (_span(given.get("colspan")), _span(given.get("rowspan")))
        elif tag in _BREAKS and self._cell:
            self._cell.append(" ")

    def handle_endtag(self, tag: str) -> None:
        """Close it."""
        if tag in ("script", "style"):
            self._hidden = max(0, self._hidden - 1)
        elif tag == "table" and self._depth:
            if self._depth == 1:
                self._end_row()
            self._depth -= 1
        elif self._depth == 1 and tag in ("td", "th"):
            self._end_cell()
        elif self._depth == 1 and tag == "tr":
            self._end_row()

    def handle_data(self, data: str) -> None:
        """Add to the text of the open cell."""
        if self._cell is not None and not self._hidden:
            self._cell.append(data)

    def close(self) -> None:
        """End a table that the text leaves open."""
        super().close()
        self._end_row()

    def _end_cell(self) -> None:
        if self._cell is None or self._row is None:
            return
        text = " ".join("".join(self._cell).split())
        self._cell = None
        self._fill()
        columns, rows = self._span
        for number in range(columns):
            shown = text if number == 0 else ""
            if rows > 1:
                self._coming[len(self._row)] = (shown, rows - 1)
            self._row.append(shown)
        if len(self._row) > MAX_COLUMNS:
            raise Unreadable(f"there are more than {MAX_COLUMNS:,} columns")

    def _fill(self) -> None:
        """Put the cells that reach down from rows above into their columns."""
        assert self._row is not None
        while (above := self._below.pop(len(self._row), None)) is not None:
            if above[1] > 1:
                self._coming[len(self._row)] = (above[0], above[1] - 1)
            self._row.append(above[0])

    def _end_row(self) -> None:
        self._end_cell()
        if self._row is None or not self.tables:
            return
        self._fill()
        if self._row:
            self.tables[-1].append(self._row)
        self._row, self._below, self._coming = None, self._coming, {}


def table_of(content: bytes) -> tuple[bytes, list[str]]:
    """Return the largest table of an HTML text in UTF-8, as a text table with tabs, and notes.

    Raises: Unreadable when there is none.
    """
    if len(content) > _MAX_BYTES:
        raise Unreadable(f"HTML of more than {_MAX_BYTES // 1_000_000} MB is not read: save it as CSV")
    parser = _Tables()
    parser.feed(content.decode("utf-8", "replace"))
    parser.close()
    tables = [table for table in parser.tables if any(len(row) > 1 for row in table)] or parser.tables
    table = max(tables, key=lambda rows: sum(map(len, rows)), default=[])
    if not table:
        raise Unreadable("the HTML holds no table")
    width = max(map(len, table))
    if width * len(table) > MAX_CELLS:
        raise Unreadable(f"there are {len(table):,} rows of {width:,} columns, more than can be worked with")
    written = io.StringIO(newline="")
    rows = (row + [""] * (width - len(row)) for row in table if any(row))
    csv.writer(written, delimiter=DELIMITER, lineterminator="\n").writerows(rows)
    others = len(tables) - 1
    note = "a table of HTML" + (f" (not read: {others} smaller one{'s' * (others > 1)})" if others else "")
    return written.getvalue().encode(), [note]


def _span(text: str | None) -> int:
    return min(_MAX_SPAN, max(1, int(text))) if text is not None and text.strip().isdecimal() else 1
