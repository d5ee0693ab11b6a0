"""MyST's tables as lists and as CSV (https://mystmd.org/guide/tables), and Pandoc's tables drawn as a grid."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from itertools import pairwise, zip_longest

_ROW = re.compile(r"\s{0,3}[*-][ \t]+[*-][ \t]?(.*)")
_CELL = re.compile(r"\s{1,6}[*-][ \t]?(.*)")
_BORDER = re.compile(r"\+(?:[-=:]{2,300}\+){1,100}")
_DASHES = re.compile(r"-+")
_RULE = re.compile(r" {0,3}-{2,300}(?: +-{2,300}){1,100} *")  #: at least two columns
_MAX_ROWS = 2_000


def table_of_list(text: str, header_rows: str, markdown: Callable[[str], str]) -> str:
    """Return the HTML of a list of lists."""
    rows: list[list[str]] = []
    for line in text.splitlines()[: _MAX_ROWS * 20]:
        if row := _ROW.fullmatch(line):
            rows.append([row[1]])
        elif rows and (cell := _CELL.fullmatch(line)):
            rows[-1].append(cell[1])
        elif rows and line.strip():
            rows[-1][-1] += f"\n{line.strip()}"
    return _table(rows, header_rows, markdown)


def table_of_csv(text: str, header_rows: str, markdown: Callable[[str], str]) -> str:
    """Return the HTML of comma-separated values."""
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text), skipinitialspace=True) if row]
    except csv.Error:
        rows = [[text]]
    return _table(rows, header_rows, markdown)


def table_of_grid(lines: Sequence[str], at: int, markdown: Callable[[str], str]) -> tuple[str, int]:
    """Return the HTML of a table that is drawn from this line on, and the line after it.

    Empty where it is none, or one with cells over several columns or rows; then with the line that shows it.
    https://pandoc.org/MANUAL.html#tables
    """
    border = lines[at].rstrip()
    if not _BORDER.fullmatch(border):
        return "", at + 1
    places = [place for place, sign in enumerate(border) if sign == "+"]
    rows: list[list[str]] = []
    heads, number = 0, at + 1
    cells = [""] * (len(places) - 1)
    while number < len(lines) and number - at <= _MAX_ROWS * 5 and (line := lines[number].rstrip())[:1] in ("+", "|"):
        number += 1
        if line.startswith("|"):
            if len(line) <= places[-1] or any(line[place] != "|" for place in places):
                return "", number
            inner = (line[begin + 1 : end] for begin, end in pairwise(places))
            cells = [f"{cell}{part.removeprefix(' ').rstrip()}\n" for cell, part in zip(cells, inner, strict=True)]
            continue
        if not _BORDER.fullmatch(line) or [place for place, sign in enumerate(line) if sign == "+"] != places:
            return "", number
        rows.append([cell.strip("\n") for cell in cells])
        cells = [""] * (len(places) - 1)
        heads = len(rows) if "=" in line else heads
    return (_table(rows, str(heads), markdown) if rows and not any(cells) else ""), number


def table_of_columns(lines: Sequence[str], at: int, markdown: Callable[[str], str]) -> tuple[str, int]:
    """Return the HTML of a simple table, whose names are on this line and its columns below it, and the line after it.

    Empty where it is none. https://pandoc.org/MANUAL.html#extension-simple_tables
    """
    rule = lines[at + 1].rstrip() if at + 1 < len(lines) else ""
    head = lines[at].rstrip("\n")
    if not _RULE.fullmatch(rule) or not head.strip() or _RULE.fullmatch(head.strip()):
        return "", at
    columns = [match.span() for match in _DASHES.finditer(rule)]
    begins = [0, *(begin for begin, _ in columns[1:])]
    end = at + 2
    while end < len(lines) and end - at <= _MAX_ROWS and lines[end].strip() and not _RULE.fullmatch(lines[end].strip()):
        end += 1
    rows = [
        [line[begin:after].strip() for begin, after in zip(begins, [*begins[1:], len(line)], strict=True)]
        for line in (each.rstrip("\n") for each in (head, *lines[at + 2 : end]))
    ]
    sides = [_side(head[begin:stop], head[stop : stop + 1]) for begin, stop in columns]
    if end < len(lines) and lines[end].strip():
        end += 1  # the rule at its end
    return _table(rows, "1", markdown, sides), end


def _side(head: str, after: str) -> str:
    """Return the alignment of a column, which its name shows above the dashes."""
    left, right = head[:1].strip(), head[-1:].strip() or after.strip()
    return "" if left and right else "left" if left else "right" if right else "center"


def _table(
    rows: Sequence[Sequence[str]], header_rows: str, markdown: Callable[[str], str], sides: Sequence[str] = ()
) -> str:
    heads = int(header_rows) if header_rows.isdecimal() else 0
    made = [
        "".join(
            f"<{tag}{f' align={side}' if side else ''}>{_cell(cell, markdown)}</{tag}>"
            for cell, side in zip_longest(row, sides[: len(row)], fillvalue="")
        )
        for number, row in enumerate(rows[:_MAX_ROWS])
        for tag in ["th" if number < heads else "td"]
    ]
    head = "".join(f"<tr>{row}</tr>" for row in made[:heads])
    body = "".join(f"<tr>{row}</tr>" for row in made[heads:])
    return f"<table>{f'<thead>{head}</thead>' if head else ''}<tbody>{body}</tbody></table>"


def _cell(text: str, markdown: Callable[[str], str]) -> str:
    made = markdown(text).strip()
    whole = re.fullmatch(r"<p>(.*)</p>", made, re.S)
    return whole[1] if whole and "<p>" not in whole[1] else made
