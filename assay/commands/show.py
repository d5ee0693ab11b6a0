"""Tables and values as text: drawn on a terminal, plain when piped."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Aligned columns on a terminal; tab-separated lines with a head when piped."""
    cells = [[cell(value) for value in row] for row in rows]
    if sys.stdout.isatty():
        return _drawn(columns, cells)
    return "\n".join("\t".join(line) for line in [list(columns), *cells])


def listing(columns: Sequence[str], row: Callable[[dict[str, Any]], Sequence[object]]) -> Callable[[Any], str]:
    """Return a printer of a page of items: a table with a row for each."""
    return lambda page: table(columns, map(row, items(page)))


def data_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Format a data frame: drawn on a terminal, CSV when piped."""
    if sys.stdout.isatty():
        return _drawn(columns, [[cell(value) for value in row] for row in rows])
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([["" if value is None else value for value in row] for row in rows])
    return buffer.getvalue()


def cell(value: object) -> str:
    if value is None:
        return "-"
    return str(value).replace("\t", " ").replace("\n", " ")


def clock(value: str | None) -> str:
    """Format a time of the API; it is shorter on a terminal."""
    if not value:
        return "-"
    return value[:19].replace("T", " ") if sys.stdout.isatty() else value


def items(answer: Any) -> list[dict[str, Any]]:
    """Return the items of a page."""
    return list(answer.get("items", [])) if isinstance(answer, dict) else list(answer)


def _drawn(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - 60 ms
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        drawn.add_column(Text(column))
    for row in rows:
        drawn.add_row(*(Text(value) for value in row))
    console = Console(file=io.StringIO(), force_terminal=True, width=Console().width)
    with console.capture() as captured:
        console.print(drawn)
    return captured.get().rstrip()
