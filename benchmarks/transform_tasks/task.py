"""A task, and the tables in plain Python: answers are computed without any data-frame library."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

Row = dict[str, Any]
Cells = list[list[Any]]

#: Name in the code: file of the package.
FILES: Mapping[str, str] = {
    "weather": "seattle-weather.csv",
    "stocks": "stocks.csv",
    "airports": "airports.csv",
    "cars": "cars.json",
    "iowa": "iowa-electricity.csv",
    "barley": "barley.json",
    "employment": "us-employment.csv",
    "crimea": "crimea.json",
    "iris": "iris.json",
    "riots": "la-riots.csv",
    "seattle": "seattle-temps.csv",
    "sf": "sf-temps.csv",
}


@dataclass(frozen=True)
class Task:
    """``answer`` gives the rows; their order counts when ``ordered``."""

    name: str
    text: str
    data: tuple[str, ...]
    pandas: str
    sql: str
    answer: Callable[[], Cells]
    polars: str = ""
    r: str = ""
    ordered: bool = True
    rows: Mapping[str, Sequence[Row]] = field(default_factory=dict)  #: further data sets, given inline


def content(name: str) -> tuple[str, bytes]:
    """The file behind a name: its own name and its bytes."""
    file = FILES[name]
    return file, (files("vega_datasets") / "_data" / file).read_bytes()


@cache
def table(name: str) -> tuple[Row, ...]:
    file, body = content(name)
    text = body.decode("utf-8")
    if file.endswith(".json"):
        return tuple(json.loads(text))
    return tuple({key: _cell(value) for key, value in row.items()} for row in csv.DictReader(text.splitlines()))


def _cell(text: str) -> str | float | None:
    if text in ("", "NA"):
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def groups(rows: Iterable[Row], *keys: str) -> dict[Any, list[Row]]:
    """Rows by the values of one column, or of several as a tuple."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        key = row[keys[0]] if len(keys) == 1 else tuple(row[name] for name in keys)
        found.setdefault(key, []).append(row)
    return found


def mean(values: Iterable[float]) -> float:
    given = list(values)
    return sum(given) / len(given)


def same(one: Cells, two: Cells, ordered: bool) -> bool:
    """Whether two tables agree, floats to a relative 1e-6."""
    if not ordered:
        one, two = (sorted(cells, key=_sortable) for cells in (one, two))
    return len(one) == len(two) and all(
        len(left) == len(right) and all(map(_agree, left, right)) for left, right in zip(one, two, strict=True)
    )


def _agree(one: object, two: object) -> bool:
    if isinstance(one, (int, float)) and isinstance(two, (int, float)):
        return abs(one - two) <= 1e-6 * max(1.0, abs(one), abs(two))
    return bool(one == two)


def _sortable(row: list[Any]) -> list[str]:
    return [f"{cell:.6f}" if isinstance(cell, (int, float)) else str(cell) for cell in row]
