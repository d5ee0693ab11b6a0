"""CSV and TSV: the delimiter is found, ragged rows are named by line, every cell arrives as text."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl

from .cells import FLOAT
from .drawn import Drawn, is_mostly_drawn, may_be_drawn, redrawn
from .header import find_header, no_header, with_names
from .logs import is_log, redrawn_log
from .names import usable_names
from .quotes import is_regular, note_on_kept, requoted, with_line_feeds, without_blanks_before
from .sampled_types import LEAST_BYTES, read_large
from .sections import commented_table_ends, note_on_other_table, other_table_begins, without_flags
from .source import Unreadable
from .stated import NOTHING_STATED, Stated
from .surroundings import note_on_remarks, remarks_begin, rows_below

_DELIMITERS = ",;\t|"
SPACED = "blanks between a delimiter and a quote left out"
BLANKS = " "  #: as a delimiter: one blank or more
_MIN_ROWS = 2  #: below the names, to take blanks between words for a delimiter
_MIN_WORDS = 3  #: in a row, where nothing else shows that blanks are one: "Main 12" may be a cell
_SAMPLE_LINES = 200
_HEAD_LINES = 1000  #: in which that many rows are looked for, as cells may have several lines
_HEAD = 256 * 1024
_LONGEST_FIELD = 1 << 24
_MAX_MISFITS = 10_000
_TEXT_FORMULA = r'^="([^"]*)"$'
_BLANK_LINE = re.compile(rb"^[ \t]+(?=\r?\n|\Z)", re.MULTILINE)
#: What Excel takes for the delimiter, and does not show.
_DATEV_LINE = re.compile(rb'"?(EXTF|DTVF)"?;\d+;[^\n]*\n')
#: Data loggers of Campbell: facts about the station, names, units, and how each value was processed.
_LOGGER_LINE = re.compile(rb'"?TOA5"?,[^\n]*\n')
_ROWS_OF_LOGGER = 2
_SEPARATOR_LINE = re.compile(rb'"?sep=([^"\r\n])"?[\t,; ]*\r?\n', re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """How a text table is laid out, as its head says."""

    delimiter: str
    names: list[str]
    body: int  #: where the rows begin, in bytes
    notes: list[str]
    is_plain: bool  #: the first line has the names, and nothing needs to be changed
    header_row: int = 1  #: line of the names, from 1; 0: there are none

    def header(self) -> bytes:
        """Return the names as a line of the table."""
        line = io.StringIO()
        csv.writer(line, delimiter=self.delimiter, lineterminator="\n").writerow(self.names)
        return line.getvalue().encode()

    def usable(self) -> Layout:
        """Return the layout with names that differ. Raises: Unreadable."""
        names, notes = usable_names(self.names)
        return replace(self, names=names, notes=[*self.notes, *notes], is_plain=self.is_plain and not notes)


@dataclass
class LeftOut:
    """How many rows of a table were left out."""

    blank: int = 0  #: rows without a value
    names: int = 0  #: rows that repeat the names of the columns

    def notes(self) -> list[str]:
        blank = f"{self.blank:,} blank row{'s' * (self.blank > 1)} left out"
        names = f"{self.names:,} row{'s' * (self.names > 1)} left out: the names of the columns again"
        return [blank] * bool(self.blank) + [names] * bool(self.names)


def read_delimited(
    source: Path | bytes,
    tab_first: bool = False,
    stated: Stated = NOTHING_STATED,
    misfits: list[BadRow] | None = None,
    kept: list[int] | None = None,
    left_out: LeftOut | None = None,
) -> tuple[pl.DataFrame, Layout, list[str]]:
    """Return the cells as text ("" where empty), the layout, and notes on it.

    Rows that do not fit go to ``misfits`` where that is given; else the first one is raised. Lines of cells with text
    behind a closing quote, which keep their quotes, go to ``kept`` where that is given; else into a note. How many
    rows were left out is added to ``left_out`` likewise.

    A column that is no text any more is typed already. Raises: Unreadable with the line of the first row that does not
    fit; NotUtf8.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    head = _head(source)
    is_doubled = b"\r\r\n" in head
    if is_doubled:
        source = _whole(source).replace(b"\r\r\n", b"\n")
        head = _head(source)
    drawn = _redrawn(source, head, stated)
    if drawn is not None:
        source, stated = drawn.content, replace(stated, delimiter=drawn.delimiter)
        head = _head(source)
    source, others = _first_table(source, head, stated)
    head = _head(source) if others else head
    source, spaced = _without_blanks_before_quotes(source, head, stated.delimiter or find_delimiter(head, tab_first))
    head = _head(source) if spaced else head
    layout = _layout(source, head, tab_first, stated)
    above = drawn.above if drawn else 0
    source, others = (source, others) if others else _above_other_table(source, layout, above)
    if not layout.is_plain:
        content = _whole(source)
        above += content.count(b"\n", 0, layout.body) - 1
        source = layout.header() + content[layout.body :]
    if layout.delimiter == BLANKS:
        source = _with_single_blanks(_whole(source))
    notes = [*(drawn.notes if drawn else ()), *layout.notes, *spaced, *others]
    notes += ["each line ends with two carriage returns: one counts"] * is_doubled
    source = _without_remarks(source, layout, notes)
    frame = _read_at_once(source, head, layout, stated)
    if frame is None:
        source = _made_regular(source, head, layout, above, notes, kept)
        frame = _cells(source, layout, above, misfits)
    if layout.names[-1] == f"column_{len(layout.names)}" and frame.width > 1 and _is_empty(frame.to_series(-1)):
        frame = frame[:, :-1]
        notes = [note for note in notes if not note.startswith("without a name")]
        made = [name for name in frame.columns if name.startswith("column_")]
        notes += [f"without a name: {', '.join(made)}"] * bool(made and layout.notes)
        notes.append("every line ends with a delimiter")
    frame, shown = _without_formulas(frame) if b'="' in head else (frame, [])
    notes += shown
    frame, blank = _without(_are_blank(frame), frame, misfits)
    frame, names = _without(_are_names(frame), frame, misfits)
    if left_out is not None:
        left_out.blank += blank
        left_out.names += names
        return frame, layout, notes
    notes += LeftOut(blank, names).notes()
    if frame.height == 0:
        raise Unreadable(misfits[0].message if misfits else "there is a header but no rows")
    return frame, layout, notes


def _layout(source: Path | bytes, head: bytes, tab_first: bool, stated: Stated) -> Layout:
    """Return the layout of the text. Raises: Unreadable, NotUtf8."""
    layout = layout_of(head, tab_first, stated)
    if layout is None:  # a row longer than the head
        layout = layout_of(_whole(source), tab_first, stated, is_whole=True)
        assert layout is not None
    if any("\ufffd" in name for name in layout.names):
        _whole(source)  # is it what the file holds, or are its names in another encoding?
    return layout.usable()


def _redrawn(source: Path | bytes, head: bytes, stated: Stated) -> Drawn | None:
    """Return the table that is drawn, a log, or Eurostat's. Raises: Unreadable, NotUtf8."""
    if not stated.skip and b"\\" in head[: head.find(b"\n")] and (drawn := without_flags(_whole(source))) is not None:
        return drawn
    if not _is_undescribed(stated):
        return None
    if may_be_drawn(head) and (drawn := redrawn(_whole(source))) is not None:
        return drawn
    return redrawn_log(_whole(source)) if is_log(head, refuses=True) else None


def _first_table(source: Path | bytes, head: bytes, stated: Stated) -> tuple[Path | bytes, list[str]]:
    """Return the text above a second block of comments, and a note on it. Raises: NotUtf8."""
    if not _is_undescribed(stated) or (begins := commented_table_ends(head)) is None:
        return source, []
    content = _whole(source)
    return content[:begins], [note_on_other_table(content, begins, 0)]


def _above_other_table(source: Path | bytes, layout: Layout, above: int) -> tuple[Path | bytes, list[str]]:
    """Return the text above the names of another table, and a note on it; a large text as it is. Raises: NotUtf8."""
    is_large = isinstance(source, Path) and source.stat().st_size >= LEAST_BYTES
    if is_large or layout.delimiter == BLANKS or len(layout.names) < 2:
        return source, []
    content = _whole(source)
    begins = other_table_begins(content, layout.delimiter, layout.body, layout.names)
    return (source, []) if begins is None else (content[:begins], [note_on_other_table(content, begins, above)])


def _without_remarks(source: Path | bytes, layout: Layout, notes: list[str]) -> Path | bytes:
    """Return the text without remarks below the table; add a note on them."""
    tail = _tail(source)
    remarks = remarks_begin(tail, layout.delimiter, len(layout.names))
    if remarks is None:
        return source
    notes.append(note_on_remarks(remarks[1]))
    return _whole(source)[: remarks[0] - len(tail)]


def _without_blanks_before_quotes(source: Path | bytes, head: bytes, delimiter: str) -> tuple[Path | bytes, list[str]]:
    """Return the text without them, and a note, where the first line has blanks behind its delimiters, too.

    Elsewhere they are a part of the cell. Raises: NotUtf8.
    """
    if not may_have_blanks_before_quotes(head, delimiter):
        return source, []
    closer = without_blanks_before(_whole(source), delimiter)
    return (source, []) if closer is None else (closer, [SPACED])


def may_have_blanks_before_quotes(head: bytes, delimiter: str) -> bool:
    """Return whether the first line has blanks behind its delimiters, and a cell of the head a quote behind some."""
    spaced = f"{delimiter} ".encode()
    return delimiter != BLANKS and spaced in head[: head.find(b"\n")] and spaced + b'"' in re.sub(rb" +", b" ", head)


def _made_regular(
    source: Path | bytes, head: bytes, layout: Layout, above: int, notes: list[str], kept: list[int] | None
) -> Path | bytes:
    """Return the text with quotes and line ends that all readers take alike; add notes on them.

    Raises: BadLine for a quote that is never closed; NotUtf8.
    """
    is_irregular = not is_regular(source, layout.delimiter)
    if (is_irregular or b'\\"' in head) and (unescaped := _unescaped(_whole(source), layout)) is not None:
        source, is_irregular = unescaped, False
        notes.append("quotes within cells are written with a backslash")
    if is_irregular:
        regular = requoted(_whole(source), layout.delimiter)
        if regular.open_line is not None:
            raise BadLine(regular.open_line + above, ": a quoted cell that begins here is not closed")
        source = regular.content
        lines = [line + above for line in regular.kept]
        if kept is not None:
            kept.extend(lines)
        elif lines:
            notes.append(note_on_kept(lines))
    if len(layout.names) == 1 and _has_lone_returns(content := _whole(source)):
        source = with_line_feeds(content)  # in a table of one column no width says that two rows became one
    return source


def _is_undescribed(stated: Stated) -> bool:
    return stated.delimiter is None and stated.header_row is None and not stated.skip


def _are_blank(frame: pl.DataFrame) -> pl.Series | None:
    """Return which rows have no value; none of a table of one column, where these are missing values."""
    first = frame.to_series(0)
    may_be_blank = first.null_count() or (first.dtype == pl.String and (first == "").any())
    if frame.width == 1 or not may_be_blank:
        return None
    texts = [pl.col(name).str.strip_chars(" \t\u00a0").fill_null("") == "" for name in _texts(frame)]
    others = [pl.col(name).is_null() for name in frame.columns if frame.schema[name] != pl.String]
    return frame.select(pl.all_horizontal(*texts, *others)).to_series()


def _are_names(frame: pl.DataFrame) -> pl.Series | None:
    """Return which rows repeat the names of the columns, as files do that were put together of several."""
    if (
        frame.width == 1
        or len(_texts(frame)) < frame.width
        or not frame.to_series(0).str.ends_with(frame.columns[0]).any()
    ):
        return None
    return frame.select(
        pl.all_horizontal(pl.col(name).str.strip_chars("\ufeff \t") == name for name in frame.columns)
    ).to_series()


def _without(leaves: pl.Series | None, frame: pl.DataFrame, misfits: list[BadRow] | None) -> tuple[pl.DataFrame, int]:
    """Leave these rows out; also return how many there were."""
    if leaves is None or not leaves.any():
        return frame, 0
    if misfits:  # their places are those among the rows that stay
        before = leaves.cum_sum()
        for number, misfit in enumerate(misfits):
            at = misfit.position - number
            misfits[number] = replace(misfit, position=misfit.position - (int(before[at - 1]) if at else 0))
    return frame.filter(~leaves), int(leaves.sum())


def _without_formulas(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Take texts out of the formulas that make a spreadsheet keep their zeros; also return a note on them."""
    quoting = [name for name in _texts(frame) if frame[name].str.contains(_TEXT_FORMULA).any()]
    texts = [pl.col(name).str.replace(_TEXT_FORMULA, "${1}") for name in quoting]
    notes = [f'texts within formulas such as ="01" are read as texts: {", ".join(quoting[:20])}'] * bool(quoting)
    return frame.with_columns(texts), notes


def _texts(frame: pl.DataFrame) -> list[str]:
    return [name for name, dtype in frame.schema.items() if dtype == pl.String]


def _is_empty(column: pl.Series) -> bool:
    return column.dtype == pl.String and bool((column.fill_null("") == "").all())


def _read_at_once(source: Path | bytes, head: bytes, layout: Layout, stated: Stated) -> pl.DataFrame | None:
    """Return the table of a large text with nothing odd in it; None for any other. Raises: NotUtf8."""
    is_stated = stated.decimal is not None or bool(stated.na_values)
    if is_stated or not isinstance(source, Path) or source.stat().st_size < LEAST_BYTES:
        return None
    if b'\\"' in head and _unescaped(_whole(source), layout) is not None:
        return None
    if len(layout.names) == 1 and _has_lone_returns(_whole(source)):
        return None
    with ThreadPoolExecutor(1) as beside:
        regular = beside.submit(is_regular, source, layout.delimiter)
        frame = read_large(source, head.decode(errors="replace"), layout.delimiter, layout.names)
        return frame if regular.result() else None


def _has_lone_returns(content: bytes) -> bool:
    return b"\r" in content and b"\r" in content.replace(b"\r\n", b"")


def _cells(source: Path | bytes, layout: Layout, above: int, misfits: list[BadRow] | None) -> pl.DataFrame:
    """``above``: lines of the file that are not in ``source``. Raises: Unreadable, NotUtf8."""
    names, delimiter = layout.names, layout.delimiter
    try:
        frame = pl.read_csv(source, separator=delimiter, infer_schema=False, empty_string_is_null=False, glob=False)
    except pl.exceptions.PolarsError as error:
        if "utf-8" in str(error):
            raise NotUtf8 from None
        # Rows that are too long, or quotes that the fast reader does not take: the careful one decides.
        frame = _read_carefully(_whole(source), delimiter, names, above, misfits)
    else:
        # A row that is too short, and a blank line, look like empty last cells here.
        if (frame[:, -1] == "").any():
            frame = _read_carefully(_whole(source), delimiter, names, above, misfits)
    frame.columns = names
    return frame


def layout_of(
    head: bytes, tab_first: bool = False, stated: Stated = NOTHING_STATED, is_whole: bool = False
) -> Layout | None:
    """``head``: the first bytes, without a byte order mark. None when the header may go on behind them."""
    separator = _SEPARATOR_LINE.match(head)
    lines = stated.skip if stated.header_row is None else max(0, stated.header_row - 1)
    is_as_found = not stated.skip and stated.header_row in (None, 2)
    datev, logger = (each.match(head) if is_as_found else None for each in (_DATEV_LINE, _LOGGER_LINE))
    skipped = max(*(first.end() if first else 0 for first in (separator, datev, logger)), _after_lines(head, lines))
    delimiter = stated.delimiter or (separator[1].decode() if separator else find_delimiter(head[skipped:], tab_first))
    rows, begins = _rows_of(head[skipped:], delimiter)
    if not is_whole and len(head) >= _HEAD and len(rows) < 2:
        return None
    rows = rows or [[]]
    first = 0 if stated.header_row else None
    header = no_header(rows) if stated.header_row == 0 else find_header(rows, first=first, is_one=stated.is_piece)
    names, notes = header.names, list(header.notes)
    if separator:
        notes.insert(0, "the first line names the delimiter")
    if datev:
        notes.insert(0, "the line above the header is that of a DATEV file")
    if logger:
        notes.insert(0, "the line above the header and two rows of units below it are those of a TOA5 file")
    if lines and not (separator or datev or logger):
        notes.insert(0, f"{lines} line{'s' * (lines > 1)} above the table skipped, as stated")
    after = header.first + header.rows
    if logger:
        after = min(after + _ROWS_OF_LOGGER, len(begins) - 1)
    elif header.first >= 0 and not stated.is_piece:
        count, note = rows_below(names, rows[after:])
        notes += [note] * bool(count)
        after += count
    body = skipped + begins[after]
    if _has_trailing(len(names), rows[header.first + 1 :]):
        names = [*names, f"column_{len(names) + 1}"]
    elif header.first >= 0 and _has_row_names(delimiter, rows[header.first :], head[skipped + begins[header.first] :]):
        names, named = with_names(["", *names])
        notes += [*named, "the rows begin with a name of their own, as R writes them"]
    is_plain = not notes and header.first == 0 and names == header.names
    begin = skipped + begins[max(0, header.first)]
    header_row = 0 if header.first < 0 else head.count(b"\n", 0, begin) + 1
    return Layout(delimiter, names, body, notes, is_plain, header_row)


def _after_lines(head: bytes, count: int) -> int:
    """Return where the line after ``count`` lines begins. Raises: Unreadable when there is none."""
    begins = 0
    for _ in range(count):
        begins = head.find(b"\n", begins) + 1
        if not begins:
            raise Unreadable(f"the header is to be in line {count + 1}, which the file does not have")
    return begins


def _rows_of(content: bytes, delimiter: str) -> tuple[list[list[str]], list[int]]:
    """Return the first rows, and where each of them begins, with the end of the last one."""
    lines = content.splitlines(keepends=True)
    if len(content) >= _HEAD and len(lines) > 1:
        lines = lines[:-1]  # the last one is cut
    lines = lines[:_HEAD_LINES]
    if delimiter == BLANKS:
        reader = _by_blanks(line.decode(errors="replace") for line in lines)
    else:
        quoted = requoted(b"".join(lines), delimiter).content.splitlines(keepends=True)
        reader = csv.reader((line.decode(errors="replace") for line in quoted), delimiter=delimiter)
    ends = [0, *accumulate(map(len, lines))]
    rows: list[list[str]] = []
    begins = [0]
    try:
        for row in reader:
            rows.append(row)
            begins.append(ends[reader.line_num])
            if len(rows) > _SAMPLE_LINES:
                break
    except csv.Error as error:
        raise Unreadable(f"the header cannot be read: {error}") from None
    return rows, begins if rows else [0, 0]


def _by_blanks(lines: Iterable[str]) -> Any:
    """Return a reader of rows whose cells are apart by any number of blanks."""
    return csv.reader((line.strip(" \r\n") + "\n" for line in lines), delimiter=BLANKS, skipinitialspace=True)


def _with_single_blanks(content: bytes) -> bytes:
    written = io.StringIO(newline="")
    rows = _by_blanks(io.StringIO(content.decode(), newline=""))
    csv.writer(written, delimiter=BLANKS, lineterminator="\n").writerows(rows)
    return written.getvalue().encode()


def _has_row_names(delimiter: str, rows: list[list[str]], content: bytes) -> bool:
    """Return whether every row has one cell more than the header: a name of its own.

    Where the delimiter may also be a part of numbers, the names have to be in quotes.
    """
    header, filled = rows[0], [row for row in rows[1:] if row]
    if not filled or any(len(row) != len(header) + 1 or not row[0].strip() for row in filled):
        return False
    if len({row[0] for row in filled}) < len(filled):
        return False
    lines = [line for line in content.splitlines()[: len(rows)] if line.strip()]
    return delimiter in "\t " or all(line.startswith(b'"') for line in lines)


def _has_trailing(width: int, rows: list[list[str]]) -> bool:
    """Return whether every row, but not the header, ends with one more delimiter."""
    filled = [row for row in rows if row]
    return bool(filled) and all(len(row) == width + 1 and not row[-1].strip() for row in filled)


def _unescaped(content: bytes, layout: Layout) -> bytes | None:
    """Return the text with its quotes doubled, if only that makes it readable; else None."""
    if b'\\"' not in content:
        return None
    text = content.decode()
    width = len(layout.names)

    def rows(**dialect: Any) -> list[list[str]] | None:
        try:
            read = list(csv.reader(io.StringIO(text, newline=""), delimiter=layout.delimiter, strict=True, **dialect))
        except csv.Error:
            return None
        return read if all(len(row) == width for row in read if row) else None

    if rows() is not None:
        return None
    escaped = rows(doublequote=False, escapechar="\\")
    if escaped is None:
        return None
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=layout.delimiter, lineterminator="\n").writerows(row for row in escaped if row)
    return written.getvalue().encode()


class NotUtf8(Exception):
    """The text is in another encoding."""


class BadLine(Unreadable):
    """A row that does not fit."""

    def __init__(self, line: int, what: str) -> None:
        """Keep the number of the line, from 1, and the text that follows it in the message."""
        super().__init__(f"line {line}{what}")
        self.line = line
        self.what = what


@dataclass(frozen=True)
class BadRow:
    """A row that does not fit, among others that do."""

    position: int  #: among all rows, from 0
    line: int
    what: str  #: follows the number of the line

    @property
    def message(self) -> str:
        return f"line {self.line}{self.what}"


def _head(source: Path | bytes) -> bytes:
    if isinstance(source, bytes):
        return source[:_HEAD]
    with source.open("rb") as file:
        head = file.read(_HEAD)
    return head.removeprefix(b"\xef\xbb\xbf")


def _tail(source: Path | bytes) -> bytes:
    """Return the end of the text, or all of a short one."""
    if isinstance(source, bytes):
        return source[-_HEAD:]
    with source.open("rb") as file:
        file.seek(max(0, source.stat().st_size - _HEAD))
        return file.read()


def _whole(source: Path | bytes) -> bytes:
    content = source if isinstance(source, bytes) else source.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        content.decode()
    except UnicodeDecodeError:
        raise NotUtf8 from None
    return content


@lru_cache(maxsize=2)  # the same head is asked about several times
def find_delimiter(head: bytes, tab_first: bool = False) -> str:
    """Return the delimiter that splits the first lines most evenly; a comma when none does."""
    lines = _sample(head)
    best, best_score = ("\t" if tab_first else ","), (0.0, -len(lines), 0)
    for delimiter in ["\t", *_DELIMITERS] if tab_first else _DELIMITERS:
        rows = list(csv.reader(lines, delimiter=delimiter))
        header = find_header(rows).first
        first = max(0, header)
        widths = Counter(len(row) for row in rows[first:] if row) or Counter([0])
        width, count = widths.most_common(1)[0]
        if width > 1 and len(rows[first]) > 1:
            share = count / sum(widths.values())
            # A delimiter that splits the first line too goes before one for which it is a title, as in 1,5;2,5; and one
            # that makes values of it before one that makes names of parts of them.
            score = (round(share, 2), -header, width)
            if score > best_score:
                best, best_score = delimiter, score
    return BLANKS if best_score[0] == 0 and _is_by_blanks(lines) else best


def _is_by_blanks(lines: list[str]) -> bool:
    """Return whether words are cells: as many in every row, and numbers below a name in a column at least."""
    try:
        rows = [row for row in _by_blanks(lines) if row]
    except csv.Error:
        return False
    first = find_header(rows).first if rows else 0
    if first < 0:  # values alone
        cells = [row for row in rows if len(row) == len(rows[0]) and all(FLOAT.fullmatch(cell) for cell in row)]
        return len(rows) > _MIN_ROWS and len(rows[0]) > 1 and len(cells) == len(rows)
    header, below = rows[first], rows[first + 1 :]
    width = len(below[0]) if below else 0
    is_drawn = any("  " in line.strip() or line[:1] in ' "' for line in lines if line.strip())
    if len(below) < _MIN_ROWS or width < (2 if is_drawn else _MIN_WORDS) or len(header) not in (width, width - 1):
        return False
    columns = list(zip(*below, strict=False))[width - len(header) :]
    is_even = all(len(row) == width for row in below) and len(set(header)) == len(header)
    return is_even and any(
        all(FLOAT.fullmatch(cell) for cell in column) and not FLOAT.fullmatch(name)
        for name, column in zip(header, columns, strict=True)
    )


def is_even(head: bytes) -> bool:
    """Return whether a text is surely a table: all its first rows have as many cells as the header, two or more, or
    most of its lines are a drawn table.
    """
    if is_log(head) or (may_be_drawn(head) and is_mostly_drawn(head)):
        return True
    layout = layout_of(head, is_whole=True)
    if layout is None or len(layout.names) < 2:
        return False
    rows, _ = _rows_of(head[layout.body :], layout.delimiter)
    filled = [row for row in rows if row]
    least = _MIN_ROWS + 1 if layout.delimiter == "," else _MIN_ROWS
    return len(filled) >= least and all(len(row) == len(layout.names) for row in filled)


def _sample(head: bytes) -> list[str]:
    lines = head.decode(errors="replace").splitlines(keepends=True)
    if len(head) == _HEAD and len(lines) > 1:
        lines = lines[:-1]  # the last one is cut
    sample = lines[:_SAMPLE_LINES]
    return sample if any(line.strip() for line in sample) else [""]


def _read_carefully(
    content: bytes, delimiter: str, names: list[str], above: int, misfits: list[BadRow] | None
) -> pl.DataFrame:
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    try:
        table = pa_csv.read_csv(
            io.BytesIO(content),
            read_options=pa_csv.ReadOptions(column_names=names, skip_rows=0, use_threads=True),
            parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                column_types={name: pa.large_string() for name in names}, strings_can_be_null=False
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowCapacityError):
        if len(names) > 1 and (unblanked := _without_blanks(content)) is not None:
            return _read_carefully(unblanked, delimiter, names, above, misfits)
        if misfits is not None:
            return _read_row_by_row(content, delimiter, names, above, misfits)
        raise _complaint(content, delimiter, len(names), above) from None
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.slice(1)  # the header is a row like the others to this reader


def _without_blanks(content: bytes) -> bytes | None:
    """Return the text without the blanks of lines that hold nothing else; those within quotes stay. None: no such."""
    parts = content.split(b'"')
    cleared = [_BLANK_LINE.sub(b"", part) if number % 2 == 0 else part for number, part in enumerate(parts)]
    return b'"'.join(cleared) if cleared != parts else None


def _read_row_by_row(
    content: bytes, delimiter: str, names: list[str], above: int, misfits: list[BadRow]
) -> pl.DataFrame:
    """Return the rows that fit; the others go to ``misfits``. Raises: BadLine for a quoted cell that is not closed."""
    text = io.TextIOWrapper(io.BytesIO(content), newline="")
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    fitting: list[list[str]] = []
    line = 1
    try:
        next(reader)
        line = reader.line_num + 1
        for row in reader:
            if len(row) == len(names):
                fitting.append(row)
            elif row:
                what = f" has {len(row)} column{'s' * (len(row) > 1)}, the header has {len(names)}"
                misfits.append(BadRow(len(fitting) + len(misfits), line + above, what))
                check_misfits(misfits)
            line = reader.line_num + 1
    except csv.Error as error:
        reason = "a quoted cell that begins here is not closed" if "end of data" in str(error) else str(error)
        raise BadLine(line + above, f": {reason}") from None
    return pl.DataFrame(fitting, schema=dict.fromkeys(names, pl.String), orient="row")


def check_misfits(misfits: Sequence[BadRow]) -> None:
    """Refuse a file of which so many rows do not fit that the header cannot be that of the table. Raises:
    Unreadable.
    """
    if len(misfits) > _MAX_MISFITS:
        raise Unreadable(f"more than {_MAX_MISFITS:,} rows have another number of columns than the header")


def _complaint(content: bytes, delimiter: str, width: int, above: int) -> Unreadable:
    """Find the first row that does not fit, with the plain and slow reader."""
    text = io.TextIOWrapper(io.BytesIO(content), errors="replace", newline="")
    reader = csv.reader(text, delimiter=delimiter)
    line = 1
    try:
        for row in reader:
            if row and len(row) != width:
                what = f" has {len(row)} fields, the header has {width}: every row needs as many as there are columns"
                return BadLine(line + above, what)
            line = reader.line_num + 1
    except csv.Error as error:
        return BadLine(reader.line_num + above, f": {error}")
    return Unreadable("a quoted cell is not closed or is followed by text before the next delimiter")
