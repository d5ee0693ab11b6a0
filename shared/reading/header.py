"""Where the names of the columns are: below titles and comments, in two rows, or with gaps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .cells import FLOAT, MISSING

Row = Sequence[str]

#: Rows above the names, such as a title and the day of the report.
_MAX_ABOVE = 30
_COMMENT = re.compile(r"\s*(#|%|//|--|\*)")
_NUMBER = re.compile(rf"[-+]?[€$£]?\s?({FLOAT.pattern}|\d{{1,3}}([., '\u00a0\u202f]\d{{3}})*([.,]\d+)?)\s?[%€$£]?")
DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T]\d{1,2}:\d\d.*)?|\d{1,2}:\d\d(:\d\d)?")
_DAY = re.compile(r"(\d{4}-\d\d-\d\d|\d\d?[./]\d\d?[./]\d{4})($|[ T])")
_PLAIN_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")
_FRACTION = re.compile(r"[-+]?\d+[.,]\d+")
_YEAR = re.compile(r"(19|20)\d\d")
_MIN_ALIKE = 2
_MAX_BELOW = 20
_MAX_ROWS, _ROWS = 3, {2: "two", 3: "three"}  #: that hold names
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)[ T]00:00:00")


@dataclass(frozen=True)
class Header:
    """``first``: the number of the row of names, from 0; ``rows``: how many rows the names take."""

    first: int
    rows: int
    names: list[str]
    notes: list[str]


def find_header(
    sample: Sequence[Row], *, is_sheet: bool = False, first: int | None = None, is_one: bool = False
) -> Header:
    """Find the header of a table of which ``sample`` are the first rows, unchanged; blank ones are empty.

    ``is_sheet``: it has merged cells, so that a row of names with a gap is more likely the upper one of two.
    ``first``: the row of the names, from 0, where the caller states it; ``is_one``: it is certainly the only one.
    """
    if first is not None:
        return _stated_header(sample, first, is_sheet=is_sheet, is_one=is_one)
    first = _first_row(sample, is_sheet=is_sheet)
    if not any(map(_filled, sample[:first])) and _is_missing(sample[first : first + _MAX_BELOW]):
        return no_header(sample)
    rows = _rows_of_names(sample[first : first + 3 + _MAX_BELOW], is_sheet=is_sheet) if sample else 1
    banners = _banners(sample, first) if rows == 1 else 0
    first, rows = first - banners, rows + banners
    notes = [f"{_lines(first)} above the header skipped"] if any(map(_filled, sample[:first])) else []
    row = _joined([[_as_name(cell) for cell in each] for each in sample[first : first + rows]])
    notes += _note_on_rows(rows)
    if first and _COMMENT.match(row[0]) and len(row) > 1:
        row[0] = _COMMENT.sub("", row[0], count=1).strip() or row[0]
    names, named = with_names(row)
    return Header(first, rows, names, notes + named)


def _stated_header(sample: Sequence[Row], first: int, *, is_sheet: bool, is_one: bool) -> Header:
    """Return the header that begins with this row: over several rows if it is found so, unless ``is_one``."""
    detected = None if is_one or first >= len(sample) else find_header(sample[first:], is_sheet=is_sheet)
    rows = detected.rows if detected is not None and detected.first == 0 else 1
    row = _joined([[_as_name(cell) for cell in each] for each in sample[first : first + rows]])
    names, named = with_names(row)
    return Header(first, rows, names, _note_on_rows(rows) + named)


def _note_on_rows(count: int) -> list[str]:
    return [f"the names are in {_ROWS[count]} rows, and were joined"] if count > 1 else []


def _is_missing(rows: Sequence[Row]) -> bool:
    """Return whether the first row holds values as the rows below do: a date or a fraction above others, and a date or
    a number as the first cell. Whole numbers alone may be names, such as years, unless one is there twice, and so may
    values behind a text; a text that is a value of its column again, or the first of 1, 2, 3, is no name.
    """
    filled = [row for row in rows if _filled(row)]
    if len(filled) < _MIN_ALIKE or not all(cell.strip() for cell in filled[0]):
        return False
    columns = list(zip(*filled, strict=False))
    dated = [column for column in columns if all(_DAY.match(cell.strip()) for cell in column)]
    numbers = [column for column in columns if all(_PLAIN_NUMBER.fullmatch(cell.strip()) for cell in column)]
    are_named = any(not _is_value(column[0]) and any(map(_is_value, column[1:])) for column in columns)
    with_fraction = any(_FRACTION.fullmatch(column[0].strip()) for column in numbers)
    is_repeated = len(numbers) == len(columns) and len(set(filled[0])) < len(filled[0])
    is_sure = bool(dated) or with_fraction or is_repeated or _is_first_of(columns)
    return not are_named and (columns[0] in dated or (columns[0] in numbers and is_sure))


def _is_first_of(columns: Sequence[Row]) -> bool:
    """Return whether the first row is counted on below, or holds a text that is a value of its column again."""
    texts = [[cell.strip() for cell in column] for column in columns[1:]]
    is_again = any(not _is_value(column[0]) and column[0] in column[1:] for column in texts)
    counted = [cell.strip() for cell in columns[0]]
    is_count = len(columns) > 1 and len(counted) > _MIN_ALIKE and counted == list(map(str, range(1, len(counted) + 1)))
    return is_again or is_count


def no_header(sample: Sequence[Row]) -> Header:
    """Return the header of a table without one: a made-up name for every column, and no row above the values."""
    names, _ = with_names([""] * _width(sample))
    return Header(-1, 1, names, ["no header: the columns are numbered"])


def _first_row(sample: Sequence[Row], *, is_sheet: bool) -> int:
    """Return the row of names: the first one that is as wide as the table, if a title or a comment is above it."""
    width = _width(sample)
    candidate = next((n for n, row in enumerate(sample) if _filled(row)), 0)
    if width < 2:
        return candidate
    for number in range(candidate, min(len(sample), _MAX_ABOVE)):
        row = sample[number]
        is_wide = _filled(row) >= 2 and len(_trimmed(row)) >= max(2, width - 1)
        rest = sample[number + 1 :]
        if _filled(row) == width and _is_upper(row, rest[: _MAX_BELOW + 1], is_sheet=is_sheet):
            rest = rest[1:]
        below = next((other for other in rest if _filled(other)), None)
        if len(_trimmed(row)) < width and len(row) < width:  # names, or a pair such as "Account:" and its number?
            following = sample[number + 1] if number + 1 < len(sample) else ()
            is_wide &= len(following) >= width and not any(_is_value(cell) for cell in row if cell.strip())
        if is_wide and (not _COMMENT.match(row[0]) or (below is not None and differs(row, below))):
            above = sample[candidate:number]
            if not above or _are_titles(above, width, row, below):
                return number
    return candidate


def _are_titles(above: Sequence[Row], width: int, names: Row, below: Row | None) -> bool:
    """Return whether these rows are outside of the table; names of one column alone could be, so a sign is needed."""
    texts = [row for row in above if _filled(row) and not _COMMENT.match(row[0])]
    if not texts:
        return True
    is_apart = not _filled(above[-1])
    most = max(1, width - 2) if is_apart else max(1, (width - 1) // 2)
    is_named = below is not None and differs(names, below)
    if any(_filled(row) > most for row in texts):
        # A single cell cannot name several columns, so the first row is a title, and rows with gaps belong to it; as do
        # pairs such as "Account:" and its number, with a blank line behind them.
        return is_named and (is_apart or _filled(texts[0]) == 1) and all(_filled(row) < width for row in texts)
    return is_apart or is_named


def differs(names: Row, below: Row) -> bool:
    """Return whether a row of names is above a row of values: text above a number or a date, or dates above numbers."""
    pairs = [(name.strip(), value.strip()) for name, value in zip(names, below, strict=False)]
    dated = [name for name, value in pairs if _DAY.match(name) and _PLAIN_NUMBER.fullmatch(value)]
    is_text = any(value and _is_value(value) and name and not _is_value(name) for name, value in pairs)
    return is_text or len(dated) >= _MIN_ALIKE


def _is_value(cell: str) -> bool:
    text = cell.strip()
    return text in MISSING or _NUMBER.fullmatch(text) is not None or DATE.fullmatch(text) is not None


def _width(sample: Sequence[Row]) -> int:
    """Return the width of most rows, not counting the first ones, which may be titles; of two as frequent, the
    larger.
    """
    filled = [row for row in sample if _filled(row)]
    widths = Counter(len(row) for row in filled[len(filled) // 2 :])
    return max(widths, key=lambda width: (widths[width], width), default=0)


def _filled(row: Row) -> int:
    return sum(1 for cell in row if cell.strip())


def _trimmed(row: Row) -> Row:
    end = len(row)
    while end and not row[end - 1].strip():
        end -= 1
    return row[:end]


def _is_upper(row: Row, below: Sequence[Row], *, is_sheet: bool, above: Row | None = None) -> bool:
    """Return whether the next row holds the rest of the names: it has cells where this one has gaps, or repeats one.

    ``above``: the uppermost row, where this one is joined of two.
    """
    if len(below) < 2 or len(below[0]) != len(row):
        return False
    lower = _with_years_as_names(row, below[0])
    gaps = sum(1 for cell in row if not cell.strip())
    # A name that is merged over both rows is in the upper one alone.
    pairs_below = list(zip(row, lower, strict=True))[0 if row[0].strip() or lower[0].strip() else 1 :]
    is_text = all((low.strip() or high.strip()) and not _is_value(low or high) for high, low in pairs_below)
    has_rest = any(low.strip() for high, low in zip(row, lower, strict=True) if not high.strip())
    has_gap = gaps < len(row) and has_rest
    if not gaps:  # the upper name is repeated for each of its columns; that of the first column has nothing below it
        pairs = set(zip(row, lower, strict=True))
        has_gap = not lower[0].strip() and len(set(row)) < len(row) == len(pairs)
    if is_sheet:
        return has_gap and is_text and differs(lower, below[1])
    # In a text, a gap at the first column alone is that of row names, as pandas and R write them.
    top = (above or row)[1:]
    is_repeated = (
        len(set(top)) < len(top) and not lower[0].strip() and len(set(zip(row, lower, strict=True))) == len(row)
    )
    is_index = gaps == 1 and not row[0].strip() and not is_repeated
    has_gap |= gaps == 1 and is_repeated
    is_names = _are_above_values(lower, below[1:]) or _has_answers(row, lower, below[1:])
    return has_gap and is_text and not is_index and is_names


def _with_years_as_names(row: Row, lower: Row) -> Row:
    """Return the lower row with a letter at its years, if they are there several times below groups: they are names."""
    if row[0].strip() or not lower[0].strip() or len(set(lower)) == len(lower) or not all(lower):
        return lower
    return [f"y{cell}" if _YEAR.fullmatch(cell.strip()) else cell for cell in lower]


def _has_answers(row: Row, lower: Row, below: Sequence[Row]) -> bool:
    """Return whether the lower row names every column that the upper one leaves out, and no respondent: below a
    question that several columns answer.
    """
    is_full = all(low.strip() for high, low in zip(row, lower, strict=True) if not high.strip())
    return is_full and not lower[0].strip() and all(other[0].strip() for other in below if _filled(other))


def _are_above_values(names: Row, below: Sequence[Row]) -> bool:
    """Return whether a text is above values in all rows of the table."""
    columns = zip(*(row for row in below if len(row) == len(names)), strict=True)
    return any(
        name.strip() and not _is_value(name) and all(_is_value(cell) for cell in cells if cell.strip()) and any(cells)
        for name, cells in zip(names, columns, strict=False)
    )


def _rows_of_names(rows: Sequence[Row], *, is_sheet: bool) -> int:
    """Return how many of the first rows hold the names: each upper one has cells over several columns."""
    first, below = rows[0], rows[1:]
    if _is_upper(first, below, is_sheet=is_sheet):
        # pandas writes the name of the index in a row of its own, below names of two levels.
        is_index_row = len(below) > 2 and not below[0][0].strip() and _filled(below[1]) == 1 < len(first) - 1
        return 3 if is_index_row and not first[0].strip() and below[1][0].strip() else 2
    if len(below) < 3 or len(below[0]) != len(first):
        return 1
    both = [f"{high} {low}".strip() for high, low in zip(first, below[0], strict=True)]
    are_texts = not any(_is_value(cell) for cell in first if cell.strip())
    is_over = _has_groups(first) and (_filled(below[0]) < len(first) - 1 or not first[0].strip())
    return 3 if are_texts and is_over and _is_upper(both, below[1:], is_sheet=is_sheet, above=first) else 1


def _has_groups(row: Row) -> bool:
    """Return whether a cell is over several columns: behind it are gaps, or the same text again."""
    return any(not cell.strip() for cell in row[1:]) or len(set(row[1:])) < len(row) - 1


def _banners(sample: Sequence[Row], first: int) -> int:
    """Return how many rows directly above the names tell those of them apart that are used more than once."""
    names = [cell.strip() for cell in sample[first]] if sample else []
    best, distinct = 0, len(set(names))
    if distinct == len(names) or not all(names):
        return 0
    for count in range(1, min(first, _MAX_ROWS - 1) + 1):
        banner = sample[first - count]
        is_title = _filled(banner) == 1 and bool(banner[0].strip())
        if len(banner) != len(names) or not _filled(banner) or is_title or _COMMENT.match(banner[0]):
            break
        joined = len(set(_joined(sample[first - count : first + 1])))
        best, distinct = (count, joined) if joined > distinct else (best, distinct)
    return best


def _joined(rows: Sequence[Row]) -> list[str]:
    """Return the names in these rows: a cell of an upper row is over the columns up to the next one in it."""
    names = []
    over = [""] * (len(rows) - 1)
    for cells in zip(*rows, strict=True):
        for level, cell in enumerate(cells[:-1]):
            if cell.strip():
                over[level:] = [cell.strip(), *[""] * (len(over) - level - 1)]
        names.append(" ".join(filter(None, [*over, cells[-1].strip()])))
    return names


def _as_name(cell: str) -> str:
    """Write a day without the time that spreadsheets add."""
    text = cell.strip("\ufeff \t\r\n").strip()  # a byte order mark may be within the quotes
    midnight = _MIDNIGHT.fullmatch(text)
    return midnight[1] if midnight else text


def with_names(row: Row) -> tuple[list[str], list[str]]:
    """Made-up names for columns without one, as the first of what pandas and R write."""
    taken = {name for name in row if name}
    names, made = [], []
    for position, name in enumerate(row, 1):
        if not name:
            own = f"column_{position}"
            while own in taken:
                own += "_"
            taken.add(own)
            made.append(own)
        names.append(name or own)
    return names, [f"without a name: {', '.join(made[:20])}"] if made else []


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"
