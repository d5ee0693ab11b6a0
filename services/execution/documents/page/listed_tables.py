"""MyST's tables as lists and as CSV: https://mystmd.org/guide/tables"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence

_ROW = re.compile(r"\s{0,3}[*-][ \t]+[*-][ \t]?(.*)")
_CELL = re.compile(r"\s{1,6}[*-][ \t]?(.*)")
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


def _table(rows: Sequence[Sequence[str]], header_rows: str, markdown: Callable[[str], str]) -> str:
    heads = int(header_rows) if header_rows.isdecimal() else 0
    made = [
        "".join(f"<{tag}>{_cell(cell, markdown)}</{tag}>" for cell in row)
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
