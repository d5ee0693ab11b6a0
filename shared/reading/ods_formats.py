"""Formats of the cells of an OpenDocument spreadsheet, as its styles state them."""

from __future__ import annotations

import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

CONTENT = "content.xml"
_STYLES = "styles.xml"
_PIECE, _MAX_BYTES = 1 << 20, 200_000_000
_MAX_COLUMNS = 16_384
_MIN_ZEROS = 2


@dataclass
class OdsFormats:
    """Reads patterns of zeros, or ``%``, of the cells of one sheet below the rows ``above``."""

    sheet: int
    above: int
    least: int = _MAX_COLUMNS  #: first column that has a cell with a value
    counts: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _patterns: dict[str, str] = field(default_factory=dict)  #: of data styles, by name
    _styles: dict[str, str] = field(default_factory=dict)  #: of cells: the data style, by name
    _of_columns: dict[int, str] = field(default_factory=dict)
    _data_style: str = ""
    _place: int = -1
    _row: int = 0
    _rows: int = 1
    _column: int = 0
    _columns: int = 0

    def read(self, archive: zipfile.ZipFile) -> None:
        """Read the styles and the cells. Raises: ValueError for content that is too large or no XML."""
        for name in filter(archive.NameToInfo.__contains__, (_STYLES, CONTENT)):
            self._place = -1
            parser = expat.ParserCreate()
            parser.StartElementHandler = self._begin
            parser.EndElementHandler = self._end
            try:
                for piece in _pieces(archive, name):
                    parser.Parse(piece)
                parser.Parse(b"", True)
            except expat.ExpatError as error:
                raise ValueError(str(error)) from None

    def _begin(self, tag: str, given: dict[str, str]) -> None:
        match tag:
            case "number:percentage-style" | "number:number-style":
                self._data_style = given.get("style:name", "")
                self._patterns[self._data_style] = "%" if "percentage" in tag else ""
            case "number:number" if self._data_style and not self._patterns[self._data_style]:
                zeros = int(given.get("number:min-integer-digits", 0))
                is_whole = given.get("number:decimal-places", "0") == "0"
                self._patterns[self._data_style] = "0" * zeros if is_whole and _MIN_ZEROS <= zeros < 50 else ""
            case "number:embedded-text":
                self._patterns[self._data_style] = ""  # signs within the digits
            case "style:style":
                self._styles[given.get("style:name", "")] = given.get("style:data-style-name", "")
            case "table:table":
                self._place += 1
                self._row = self._columns = 0
                self._of_columns.clear()
            case "table:table-column":
                style = given.get("table:default-cell-style-name", "")
                for _ in range(min(_repeated(given, "columns"), _MAX_COLUMNS - self._columns)):
                    self._of_columns[self._columns] = style
                    self._columns += 1
            case "table:table-row":
                self._rows, self._column = _repeated(given, "rows"), 0
            case "table:table-cell" | "table:covered-table-cell":
                self._cell(given)

    def _cell(self, given: dict[str, str]) -> None:
        times = _repeated(given, "columns")
        if self._place == self.sheet and "office:value-type" in given:
            self.least = min(self.least, self._column)
            for column in range(self._column, min(self._column + times, _MAX_COLUMNS)):
                style = given.get("table:style-name") or self._of_columns.get(column, "")
                pattern = self._patterns.get(self._styles.get(style, ""), "")
                if given["office:value-type"] == "percentage":
                    pattern = "%"
                if pattern and self._row + self._rows > self.above:
                    self.counts[column][pattern] += self._row + self._rows - max(self._row, self.above)
        self._column += times

    def _end(self, tag: str) -> None:
        if tag == "table:table-row":
            self._row += self._rows
        elif tag in ("number:percentage-style", "number:number-style"):
            self._data_style = ""


def _pieces(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    if archive.getinfo(name).file_size > _MAX_BYTES:
        raise ValueError(f"{name} is too large")
    with archive.open(name) as content:
        while piece := content.read(_PIECE):
            yield piece


def _repeated(given: dict[str, str], what: str) -> int:
    return max(1, int(given.get(f"table:number-{what}-repeated", 1)))
