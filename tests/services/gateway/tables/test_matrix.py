"""Every type through every form, out by the writers, and back by the reader, polars and pandas.

A form that has a type for a value gives the same value; any other gives its text as in CSV.
"""

from __future__ import annotations

import io
import json
import math
import re
import sqlite3
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from services.gateway.tables.forms import FORMS
from shared.reading.read import read
from tests.services.gateway.tables.test_forms import converted

INFINITIES = {"inf": ("Infinity",), "-inf": ("-Infinity",)}  #: as JSON's text
NS = 1_700_000_000_123_456_789
#: A column of each type, and its cells as text forms have them.
TYPES: Mapping[str, tuple[pa.Array, list[str]]] = {
    "int": (pa.array([1, -2, 3]), ["1", "-2", "3"]),
    "long": (pa.array([2**53 + 1, -(2**62), 7]), ["9007199254740993", "-4611686018427387904", "7"]),
    "float": (pa.array([0.1, -2.5, 1e300]), ["0.1", "-2.5", "1e+300"]),
    "infinite": (pa.array([math.inf, -math.inf, 0.5]), ["inf", "-inf", "0.5"]),
    "bool": (pa.array([True, False, True]), ["true", "false", "true"]),
    "text": (pa.array(['é, "q"\nz', "=1+1", "007"]), ['é, "q"\nz', "=1+1", "007"]),
    "date": (
        pa.array([date(2026, 1, 2), date(1970, 1, 1), date(2000, 2, 29)]),
        ["2026-01-02", "1970-01-01", "2000-02-29"],
    ),
    "datetime": (
        pa.array([datetime(2026, 1, 2, 3, 4, 5), datetime(2026, 1, 2), datetime(1999, 12, 31, 23, 59, 59)]),
        ["2026-01-02T03:04:05", "2026-01-02T00:00:00", "1999-12-31T23:59:59"],
    ),
    "milli": (pa.array([datetime(2026, 1, 2, 3, 4, 5, 120000)] * 3), ["2026-01-02T03:04:05.12"] * 3),
    "micro": (pa.array([datetime(2026, 1, 2, 3, 4, 5, 123456)] * 3), ["2026-01-02T03:04:05.123456"] * 3),
    "nano": (
        pa.array([NS, NS + 1, NS + 2], pa.timestamp("ns")),
        [f"2023-11-14T22:13:20.12345678{n}" for n in "9"]
        + ["2023-11-14T22:13:20.12345679", "2023-11-14T22:13:20.123456791"],
    ),
    "zoned": (
        pa.array([datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)] * 3, pa.timestamp("us", "UTC")),
        ["2026-01-02T03:04:05Z"] * 3,
    ),
    "time": (
        pa.array([time(3, 4, 5), time(23, 59, 59, 123456), time(0, 0, 1)]),
        ["03:04:05", "23:59:59.123456", "00:00:01"],
    ),
    "duration": (
        pa.array([timedelta(seconds=90), timedelta(days=2), timedelta(0)]),
        ["0:01:30", "2 days, 0:00:00", "0:00:00"],
    ),
    "decimal": (
        pa.array([Decimal("0.10"), Decimal("12345678901234567.89"), Decimal("-1.00")]),
        ["0.10", "12345678901234567.89", "-1.00"],
    ),
    "list": (pa.array([[1, 2], [], [3]]), ["[1,2]", "[]", "[3]"]),
    "struct": (
        pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": None}, {"a": 3, "b": "z"}]),
        ['{"a":1,"b":"x"}', '{"a":2,"b":null}', '{"a":3,"b":"z"}'],
    ),
    "binary": (pa.array([b"\x00\xff", b"abc", b"z"]), ["AP8=", "YWJj", "eg=="]),
}


def _with_null(array: pa.Array) -> pa.Array:
    return pa.concat_arrays([array, pa.nulls(1, array.type)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("matrix")
    (place / "source").mkdir()
    columns = {"row": pa.array([1, 2, 3, 4]), **{name: _with_null(array) for name, (array, _) in TYPES.items()}}
    pq.write_table(pa.table(columns), place / "source" / "table.parquet")
    for form in FORMS:
        if form != "parquet" and not form.endswith((".gz", ".zst", "md", "html")):
            suffix = {"records": "json", "feather": "feather"}.get(form, form)
            (place / f"{form}.{suffix}").write_bytes(converted(place / "source" / "table.parquet", form))
    (place / "source" / "table.parquet").rename(place / "parquet.parquet")  # that is the result itself
    return place


def by_assay(folder: Path, form: str) -> dict[str, list[Any]]:
    [path] = folder.glob(f"{form}.*")
    frame = read(path, path.name)[0]
    # A moment in nanoseconds is more than Python's datetime holds.
    fine = [name for name, dtype in frame.schema.items() if dtype == pl.Datetime("ns")]
    return frame.with_columns(pl.col(fine).dt.to_string("%Y-%m-%dT%H:%M:%S%.f")).to_dict(as_series=False)


def by_polars(folder: Path, form: str) -> dict[str, list[Any]]:
    [path] = folder.glob(f"{form}.*")
    readers: dict[str, Callable[[Any], pl.DataFrame]] = {
        "csv": lambda source: pl.read_csv(source, infer_schema=False),
        "tsv": lambda source: pl.read_csv(source, infer_schema=False, separator="\t"),
        "jsonl": pl.read_ndjson, "records": pl.read_json, "parquet": pl.read_parquet, "arrow": pl.read_ipc_stream,
        "feather": pl.read_ipc,
    }  # fmt: skip
    frame = readers[form](path)
    return frame.with_columns(pl.col(pl.Datetime("ns")).dt.to_string("%Y-%m-%dT%H:%M:%S%.f")).to_dict(as_series=False)


def by_pandas(folder: Path, form: str) -> dict[str, list[Any]]:
    [path] = folder.glob(f"{form}.*")
    if form in ("csv", "tsv"):
        frame = pd.read_csv(path, dtype=str, sep="," if form == "csv" else "\t", keep_default_na=False, na_values=[""])
    elif form == "xlsx":
        frame = pd.read_excel(path, dtype=object, keep_default_na=False, na_values=[""])
    elif form == "sqlite":
        base = sqlite3.connect(path)
        cursor = base.execute("SELECT * FROM result")
        columns = zip(*cursor.fetchall(), strict=True)
        found = {each[0]: list(cells) for each, cells in zip(cursor.description, columns, strict=True)}
        base.close()
        return found
    else:
        lines = path.read_text().splitlines()
        values = [json.loads(line) for line in lines] if form == "jsonl" else json.loads(path.read_text())
        return {name: [row[name] for row in values] for name in values[0]}
    return {str(name): [None if _is_missing(cell) else cell for cell in column] for name, column in frame.items()}


def _is_missing(cell: object) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell)) or cell is pd.NaT


def same(value: object, text: str, after: object) -> bool:
    """Return whether a cell came back as its value, or as its text."""
    if isinstance(after, str) and not (isinstance(value, str) and after != text and ":" not in text):
        return _spelled(after) in (_spelled(text), *INFINITIES.get(text, ())) or _parsed(after) == _parsed(text)
    if isinstance(value, bool):
        return after in (value, int(value))
    if isinstance(value, Decimal):
        return isinstance(after, (Decimal, float, int)) and Decimal(str(after)) == value
    if isinstance(value, date) and not isinstance(value, datetime) and isinstance(after, datetime):
        return after == datetime(value.year, value.month, value.day)
    return bool(after == value)


def _spelled(text: str) -> str:
    """A time without the freedoms of ISO 8601; other texts as they are."""
    if not re.search(r"\d\d:\d\d", text):
        return text
    return (
        re.sub(r"\.(\d*?)0+(?=\D|$)", lambda match: f".{match[1]}" if match[1] else "", text)
        .replace("+00:00", "Z")
        .replace(" ", "T", 1 if "day" not in text else 0)
    )


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def check(read_back: Mapping[str, list[Any]], form: str, reader: str) -> None:
    order = [int(float(number)) for number in read_back["row"]]
    assert order == [1, 2, 3, 4]
    wrong = []
    for name, (array, texts) in TYPES.items():
        values = texts if name == "nano" else array.to_pylist()
        cells = read_back[name]
        wrong += [
            f"{name}: {value!r} -> {cell!r}"
            for value, text, cell in zip(values, texts, cells, strict=False)
            if not same(value, text, cell)
        ]
        if cells[3] is not None:
            wrong.append(f"{name}: null -> {cells[3]!r}")
    assert not wrong, f"{form} by {reader}: {wrong}"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "records", "parquet", "arrow", "feather", "xlsx"])
def test_what_assay_writes_it_reads_back(folder: Path, form: str) -> None:
    check(by_assay(folder, form), form, "assay")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "records", "parquet", "arrow", "feather"])
def test_what_assay_writes_polars_reads(folder: Path, form: str) -> None:
    check(by_polars(folder, form), form, "polars")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "records", "xlsx", "sqlite"])
def test_what_assay_writes_pandas_reads(folder: Path, form: str) -> None:
    check(by_pandas(folder, form), form, "pandas")


@pytest.mark.slow
def test_what_assay_writes_duckdb_reads(folder: Path) -> None:
    with duckdb.connect(str(folder / "duckdb.duckdb"), read_only=True) as base:
        base.execute("SET TimeZone = 'UTC'")
        fine, zoned = "strftime(nano, '%Y-%m-%dT%H:%M:%S.%n') AS nano", "strftime(zoned, '%Y-%m-%dT%H:%M:%SZ') AS zoned"
        found = base.execute(f"SELECT * REPLACE ({fine}, {zoned}) FROM result")
        names = [each[0] for each in found.description or ()]
        table = found.fetchall()
    check({name: [row[at] for row in table] for at, name in enumerate(names)}, "duckdb", "duckdb")


@pytest.mark.slow
def test_an_infinity_is_a_text_in_json_and_nan_is_missing(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [math.inf, -math.inf, math.nan, 1.5], "y": [[math.inf], [1.0], [], None]})
    frame.write_parquet(tmp_path / "x.parquet")
    lines = [json.loads(line) for line in converted(tmp_path / "x.parquet", "jsonl").splitlines()]
    assert lines == [
        {"x": "Infinity", "y": ["Infinity"]}, {"x": "-Infinity", "y": [1.0]}, {"x": None, "y": []},
        {"x": 1.5, "y": None},
    ]  # fmt: skip
    text = pl.read_csv(io.BytesIO(converted(tmp_path / "x.parquet", "csv")), infer_schema=False)
    assert text["y"].to_list() == ['["Infinity"]', "[1.0]", "[]", None]
