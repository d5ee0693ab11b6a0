"""Text files of several tables, of which the first is read; and Eurostat's, whose first column holds several."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence

from .cells import FLOAT
from .drawn import Drawn
from .header import differs

_EUROSTAT = re.compile(rb"[\w,]+\\(TIME_PERIOD|time)[ \t]*\t")
_FLAGGED = re.compile(r"(:|[-+]?[\d.]+(?:[eE][-+]?\d+)?) +([a-z]{1,3})")
_COMMENTS = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*")
_COMMENT_BELOW = re.compile(rb"\n[ \t]*\r?\n(?=#)")
_BLANK = re.compile(rb"\n[ \t,;]*\r?\n")
_MAX_GAPS, _ROWS = 20, 60
_NEXT_BYTES = 1 << 16  #: in which the first rows of another table are looked for


def other_table_begins(content: bytes, delimiter: str, body: int, names: Sequence[str]) -> int | None:
    """Return where, behind a blank line below the rows at ``body``, another table than that of ``names`` begins."""
    for number, gap in enumerate(_BLANK.finditer(content, body)):
        if number == _MAX_GAPS:
            break
        if content.count(b'"', 0, gap.end()) % 2:
            continue
        above = _rows(content[max(body, gap.start() - _NEXT_BYTES) : gap.start()], delimiter)[-_ROWS:]
        if above and _is_of_other(_rows(content[gap.end() : gap.end() + _NEXT_BYTES], delimiter), above, names):
            return gap.end()
    return None


def commented_table_ends(head: bytes) -> int | None:
    """Return where a second block of comments begins, in a text that begins with one: those of a report of Google."""
    above = _COMMENTS.match(head)
    gap = _COMMENT_BELOW.search(head, above.end()) if above and b"#" in above[0] else None
    if gap is None:
        return None
    below = _COMMENTS.match(head, gap.end())
    return gap.end() if below and head[below.end() :].strip() else None


def note_on_other_table(content: bytes, begins: int, above: int) -> str:
    """Return the note on a table that is not read; ``above``: lines of the file that are not in ``content``."""
    first = content.count(b"\n", 0, begins) + above + 1
    last = first + content[begins:].rstrip().count(b"\n")
    return f"another table below the first one, not read: lines {first} to {last}; state header_row to read it"


def _rows(content: bytes, delimiter: str) -> list[list[str]]:
    lines = content.decode(errors="replace").splitlines()
    return [row for row in csv.reader(lines, delimiter=delimiter) if any(cell.strip() for cell in row)]


def _is_of_other(rows: Sequence[Sequence[str]], above: Sequence[Sequence[str]], own: Sequence[str]) -> bool:
    """Return whether these rows are another table: names, perhaps below a title, that are not the ``own`` ones of the
    first table, and a row of values.
    """
    while len(rows) > 1 and len([cell for cell in rows[0] if cell.strip()]) == 1:
        rows = rows[1:]
    if len(rows) < 2 or len(rows[0]) != len(rows[1]) or not differs(rows[0], rows[1]):
        return False
    names = [cell.strip() for cell in rows[0]]
    if any(FLOAT.fullmatch(name) for name in names) or len(set(names)) < len(names) or len(names) < 2:
        return False
    if [name.casefold() for name in names] == [name.casefold() for name in own]:
        return False  # the same table goes on
    columns = zip(*(row for row in above if len(row) == len(own)), strict=True)
    are_numbers = [all(FLOAT.fullmatch(cell.strip()) for cell in column if cell.strip()) for column in columns]
    return len(names) != len(own) or any(
        is_number and name for is_number, name in zip(are_numbers, names, strict=False)
    )


def without_flags(content: bytes) -> Drawn | None:
    """Return a table of Eurostat with a column for each dimension and without flags; None for another text."""
    if not _EUROSTAT.match(content):
        return None
    rows = [line.split("\t") for line in content.decode().splitlines() if line.strip()]
    dimensions = rows[0][0].split("\\")[0].split(",")
    flags: Counter[str] = Counter()

    def value(cell: str) -> str:
        flagged = _FLAGGED.fullmatch(cell.strip())
        if flagged is None:
            return cell.strip()
        flags[flagged[2]] += 1
        return flagged[1]

    cells = [[*dimensions, *map(str.strip, rows[0][1:])]]
    cells += [[*row[0].split(","), *map(value, row[1:])] for row in rows[1:]]
    if any(len(row) != len(cells[0]) for row in cells):
        return None
    notes = [f"the first column was split: {', '.join(dimensions)}"] * (len(dimensions) > 1)
    if flags:
        shown = ", ".join(f"{flag} x {times:,}" for flag, times in sorted(flags.items()))
        notes.append(f"Eurostat's flags behind the numbers left out: {shown}")
    return Drawn("".join("\t".join(row) + "\n" for row in cells).encode(), "\t", notes, 0)
