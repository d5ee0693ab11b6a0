"""Tables drawn with characters, as terminals, reports and SAP write them: ruled by lines, or in columns of fixed width.

Each is written again with a delimiter, a line for a line, so that numbers of lines stay those of the file.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from .header import differs

BAR, BLANK = "|", " "
#: Of the characters that boxes are drawn with: lines down, lines across, and where they meet.
_BOX = str.maketrans(
    {
        **dict.fromkeys("│┃║┆┊╎", "|"),
        **dict.fromkeys("─━═┄┈╌", "-"),
        **dict.fromkeys("┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬╒╕╘╛╞╡╪╭╮╯╰", "+"),
    }
)
_RULE = re.compile(r"(?=.*(---|===|___|:-|-:|-\+-))[-=_+|: \t]+")
#: Below the names, as wide as each column.
_UNDERLINES = re.compile(r"\s*(-{2,}(\s+-{2,})+|={2,}(\s+={2,})+)\s*")
_COUNT_OF_ROWS = re.compile(r"\(?\d+ (rows?|records?)( affected| selected| returned| in set.*)?\.?\)?", re.IGNORECASE)
_GAP = re.compile(r"\S  +\S")
_MIN_ROWS = 2
_MAX_ABOVE = 60
_MAX_NAMED = 5  #: lines that a note names
_MAX_BYTES = 100_000_000


@dataclass(frozen=True)
class Drawn:
    """The table as a delimited text, with a blank line for each line outside of it."""

    content: bytes
    delimiter: str
    notes: list[str]
    outside: int  #: lines that are not of the table
    above: int = 0  #: lines of the file above the first line of ``content``


def may_be_drawn(head: bytes) -> bool:
    """Return whether the head has a line that rules a table, or names that are far apart."""
    lines = head.decode(errors="replace").translate(_BOX).splitlines()[:_MAX_ABOVE]
    names = next((line for line in lines if line.strip()), "")
    return _has_gaps(names) or any(_RULE.fullmatch(line) for line in lines)


def is_mostly_drawn(head: bytes) -> bool:
    """Return whether most lines of a text's beginning are a table; others may be prose with a table in it."""
    lines = head.decode(errors="replace").splitlines()
    whole = lines if head.endswith(b"\n") or len(lines) < _MAX_ABOVE else lines[:-1]  # the last one may be cut
    drawn = redrawn("\n".join(whole).encode())
    return drawn is not None and 2 * drawn.outside < sum(1 for line in whole if line.strip())


def redrawn(content: bytes) -> Drawn | None:
    """Return the table of a text in UTF-8; None for a text that is written otherwise."""
    if len(content) > _MAX_BYTES:
        return None
    lines = re.split(r"\r?\n|\r", content.decode().translate(_BOX))
    return _ruled(lines) or _underlined(lines) or _in_columns(lines)


def _has_gaps(names: str) -> bool:
    """Return whether the names are far apart, with nothing but blanks between them."""
    return _GAP.search(names) is not None and re.search(r"[,;|\"]", names) is None


def _ruled(lines: Sequence[str]) -> Drawn | None:
    """Return the table whose cells are between bars, with a rule below the names."""
    rules = {number for number, line in enumerate(lines) if _RULE.fullmatch(line)}
    barred = [number for number, line in enumerate(lines) if BAR in line and number not in rules]
    if not rules or len(barred) < _MIN_ROWS:
        return None
    first = barred[0]
    begins, ends = lines[first].lstrip().startswith(BAR), lines[first].rstrip().endswith(BAR)
    rows = {number: _between_bars(lines[number], begins=begins, ends=ends) for number in barred}
    names, width = rows[first], len(rows[first])
    is_below = any(number in rules for number in range(first + 1, first + 2))
    if not is_below or width < 2 or any(len(cells) != width for cells in rows.values()):
        return None
    repeated = [number for number, cells in rows.items() if number > first and cells == names]
    totals = [number for number, cells in rows.items() if re.fullmatch(r"\*+", cells[0])]
    outside = [n for n, line in enumerate(lines) if line.strip() and n not in rows and n not in rules]
    are_closed = all(lines[number].lstrip().startswith(BAR) for number in rows)
    if (begins and not are_closed) or any(lines[number].count('"') % 2 for number in outside):
        return None  # a table within a cell
    left_out = {*repeated, *totals}
    notes = ["a table drawn with lines", *_named(outside, "outside of the table", lines)]
    notes += _named(repeated, "with the names again") + _named(totals, "of totals, marked with *")
    kept = {number: cells for number, cells in rows.items() if number not in left_out}
    return Drawn(_written(len(lines), kept, BAR), BAR, notes, len(outside)) if len(kept) >= _MIN_ROWS else None


def _between_bars(line: str, *, begins: bool, ends: bool) -> list[str]:
    """Return the cells; ``begins``, ``ends``: a bar is before the first one and behind the last one."""
    text = line.strip()
    inner = text[1:] if begins and text.startswith(BAR) else text
    cells = re.split(r"(?<!\\)\|", inner[:-1] if ends and inner.endswith(BAR) and not inner.endswith("\\|") else inner)
    return [cell.strip().replace("\\|", BAR) for cell in cells]


def _underlined(lines: Sequence[str]) -> Drawn | None:
    """Return the table with a line of dashes below each name, as wide as the column."""
    ruled = [number for number, line in enumerate(lines[:_MAX_ABOVE]) if _UNDERLINES.fullmatch(line)]
    rule = next((number for number in ruled if number and lines[number - 1].strip() and number - 1 not in ruled), 0)
    if not rule:
        return None
    starts = [match.start() for match in re.finditer(r"-+|=+", lines[rule])]
    rows, outside = {rule - 1: _cut(lines[rule - 1], starts)}, []
    again = []
    for number, line in enumerate(lines):
        if number in (rule - 1, rule) or not line.strip():
            continue
        if line.strip() == lines[rule].strip() or (number > rule and line.strip() == lines[rule - 1].strip()):
            again.append(number)
        elif number < rule or _COUNT_OF_ROWS.fullmatch(line.strip()):
            outside.append(number)
        elif not _fits(line, starts):
            return None
        else:
            rows[number] = _cut(line, starts)
    notes = ["columns of fixed width", *_named(outside, "outside of the table", lines)]
    notes += _named(again, "with the names again")
    return Drawn(_written(len(lines), rows, BLANK), BLANK, notes, len(outside)) if len(rows) >= _MIN_ROWS else None


def _in_columns(lines: Sequence[str]) -> Drawn | None:
    """Return the table whose columns are apart by blanks that are at the same places in every line."""
    filled = {number: line.expandtabs() for number, line in enumerate(lines) if line.strip()}
    outside = [number for number in filled if _COUNT_OF_ROWS.fullmatch(filled[number].strip())]
    rows = {number: line for number, line in filled.items() if number not in outside}
    if len(rows) <= _MIN_ROWS or any("\t" in lines[number] for number in rows):
        return None
    names = next(iter(rows.values()))
    if not _has_gaps(names):
        return None
    starts = _starts(list(rows.values()))
    header = _cut(names, starts)
    cells = {number: _cut(line, starts) for number, line in rows.items()}
    is_apart = any(len(line.split()) != len(starts) for line in rows.values())  # else blanks alone tell the cells
    has_sign = any(differs(header, row) for row in list(cells.values())[1:3])
    if len(starts) < 2 or not is_apart or not has_sign or not all(header):
        return None
    notes = ["columns of fixed width", *_named(outside, "outside of the table", lines)]
    return Drawn(_written(len(lines), cells, BLANK), BLANK, notes, len(outside))


def _starts(rows: Sequence[str]) -> list[int]:
    """Return where columns begin: behind blanks of all rows, if a name is there and a cell below it."""
    width = max(map(len, rows))
    covered = bytearray(width)
    for row in rows:
        for word in re.finditer(r"\S+", row):
            covered[word.start() : word.end()] = b"\1" * (word.end() - word.start())
    starts = [at for at in range(width) if covered[at] and (at == 0 or not covered[at - 1])]
    kept: list[int] = []
    for begin, end in pairwise([*starts, width]):
        has_name = bool(rows[0][begin:end].strip())
        has_cell = any(row[begin:end].strip() for row in rows[1:])
        if not kept or (has_name and has_cell):
            kept.append(begin)
    return kept


def _cut(line: str, starts: Sequence[int]) -> list[str]:
    return [line[begin:end].strip() for begin, end in pairwise([*starts, max(len(line), starts[-1] + 1)])]


def _fits(line: str, starts: Sequence[int]) -> bool:
    """Return whether no word of the line crosses from one column to the next."""
    return all(len(line) < start or line[start - 1] == BLANK for start in starts[1:])


def _written(count: int, rows: dict[int, list[str]], delimiter: str) -> bytes:
    written = io.StringIO(newline="")
    quoting: Literal[0, 1] = csv.QUOTE_ALL if delimiter == BLANK else csv.QUOTE_MINIMAL
    write = csv.writer(written, delimiter=delimiter, lineterminator="\n", quoting=quoting).writerow
    for number in range(count):
        if number in rows:
            write(rows[number])
        else:
            written.write("\n")
    return written.getvalue().encode()


def _named(numbers: Sequence[int], what: str, lines: Sequence[str] = ()) -> list[str]:
    """Return a note on lines that are left out, if there are any; the first one is quoted where ``lines`` are given."""
    if not numbers:
        return []
    shown = ", ".join(str(number + 1) for number in numbers[:_MAX_NAMED]) + " ..." * (len(numbers) > _MAX_NAMED)
    quoted = f" ({lines[numbers[0]].strip()[:60]!r})" if lines else ""
    return [f"left out, {what}: line{'s' * (len(numbers) > 1)} {shown}{quoted}"]
