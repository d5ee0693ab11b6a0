"""Every kind of column that a language makes comes out as something that can be worked with, and ends no process."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from shared.reading.portable import portable
from tests.services.execution.transform.support import TransformJobs
from tests.support.languages import skip_unless_installed

ROWS = [{"id": 1, "city": "Berlin", "amount": 10}, {"id": 2, "city": None, "amount": 20}]


def _categories(keys: list[int], values: list[str]) -> pa.Array:
    """As pandas and R leave them: a key that is none where the cell is missing."""
    buffers = [pa.py_buffer(b"\x01"), pa.py_buffer(bytes(key & 0xFF for key in keys))]
    return pa.DictionaryArray.from_arrays(pa.Array.from_buffers(pa.int8(), len(keys), buffers), values, safe=False)


@pytest.mark.parametrize(
    ("array", "cells"),
    [
        (_categories([0, -1], ["a"]), ["a", None]),
        (pa.array([datetime(2020, 1, 1)]).dictionary_encode(), [datetime(2020, 1, 1)]),
        (pa.array([0], pa.timestamp("us", "+05:30")), [datetime(1970, 1, 1, tzinfo=UTC)]),
        (pa.array([0], pa.timestamp("us", "Mars/Phobos")), [datetime(1970, 1, 1, tzinfo=UTC)]),
        (pa.array([pa.MonthDayNano([1, 2, 3_000_000_000]), None]), ["1 months 2 days 3 seconds", None]),
        (pa.array([Decimal("1.5")], pa.decimal256(50, 1)), [Decimal("1.5")]),
        (pa.array([Decimal("100")], pa.decimal128(5, -2)), [Decimal(100)]),
        (pa.array([[1]], pa.list_view(pa.int64())), [[1]]),
        (pa.array([[]], pa.list_(pa.int64(), 0)), ["[]"]),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), [[{"key": "a", "value": 1}]]),
        (pa.RunEndEncodedArray.from_arrays([2], [5]), [5, 5]),
        (pa.array([{}], pa.struct([])), ["{}"]),
        (pa.array([{"a": "x"}], pa.struct([("a", pa.dictionary(pa.int8(), pa.string()))])), ['{"a": "x"}']),
        (pa.array([2**31 - 1], pa.int32()).cast(pa.date32()), ["2147483647"]),
        (pa.array([2**60], pa.timestamp("s")), [str(2**60)]),
        (pa.array([2**62], pa.duration("s")), [str(2**62)]),
        (pa.array([[2**60]], pa.list_(pa.timestamp("s"))), ["?"]),
        (pa.array(["{}"], pa.json_()), ["{}"]),
        (pa.array([b"0" * 16], pa.uuid()), ["30303030-3030-3030-3030-303030303030"]),
        (pa.array([date(9999, 12, 31), date(1, 1, 1)]), [date(9999, 12, 31), date(1, 1, 1)]),
        (pa.array([timedelta(days=-1)]), [timedelta(days=-1)]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_what_polars_cannot_hold_becomes_something_that_it_can(array: Any, cells: list[object]) -> None:
    frame = portable(pa.table([array], names=["x"]))
    assert [row[0] for row in frame.iter_rows()] == cells
    empty = portable(pa.table([array.slice(0, 0)], names=["x"]))
    assert empty.height == 0
    assert empty.schema == frame.schema or frame["x"].dtype == pl.String


def test_two_columns_of_one_name_are_told_apart() -> None:
    table = pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "a", "a_1"])
    assert portable(table).to_dicts() == [{"a": 1, "a_2": 2, "a_1": 3}]


@pytest.mark.parametrize(
    ("language", "code", "types", "first"),
    [
        (
            "python",
            "import pandas as pd\nresult = data.assign(bin=pd.cut(data.amount, [0, 15]), "
            "city=data.city.astype('category'), month=pd.period_range('2020-01', periods=2, freq='M'))",
            ["int", "string", "int", "string", "string"],
            [1, "Berlin", 10, "(0, 15]", "2020-01"],
        ),
        (
            "python",
            "import pandas as pd\nresult = pd.DataFrame({'at': pd.to_datetime(['2020-01-01T00:00:00+05:30'])})",
            ["datetime"],
            ["2019-12-31T18:30:00+00:00"],
        ),
        ("python", "import pandas as pd\nresult = pd.DataFrame({'x': [1e300, 1e25]})", ["float"], [1e300]),
        (
            "sql",
            "SELECT INTERVAL 1 MONTH AS m, INTERVAL 1 DAY AS d, MAP{'a': 1} AS p, 1 AS x, 2 AS x",
            ["string", "duration", "list", "int", "int"],
            ["1 months 0 days 0 seconds", "1 day, 0:00:00", [{"key": "a", "value": 1}], 1, 2],
        ),
        ("r", "data |> dplyr::mutate(city = factor(city))", ["int", "string", "int"], [1, "Berlin", 10]),
    ],
)
def test_results_of_every_language_come_out_whole(
    jobs: TransformJobs, language: str, code: str, types: list[str], first: list[object]
) -> None:
    skip_unless_installed(jobs.sandbox, language)
    result = jobs.transform(data=ROWS, language=language, code=code)
    assert result.table is not None
    assert [column.type for column in result.table.columns] == types
    assert result.table.rows[0] == first
