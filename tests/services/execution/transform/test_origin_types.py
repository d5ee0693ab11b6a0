"""A column of any type, also one that the code does not use, leaves the altered data loadable."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from tests.services.execution.transform.support import TransformJobs, python
from tests.support.languages import skip_unless_installed

ROWS = [
    {
        "city": city, "amount": amount, "tags": tags, "place": {"names": [city], "at": {"lat": 1.5}},
        "visits": [{"day": "2026-01-02", "guests": ["a", "b"]}], "nothing": None, "mixed": mixed,
    }
    for city, amount, tags, mixed in [
        ("Oslo", 3, ["a"], 1), ("Rome", 4, [], "two"), ("Oslo", 5, ["b", "c"], [3]), ("Bonn", 6, ["d"], None),
    ]
]  # fmt: skip
COUNTS = range(4)
TYPES: dict[str, Sequence[Any] | pl.Series] = {
    "city": ["Oslo", "Rome", "Oslo", "Bonn"],
    "amount": [3, 4, 5, 6],
    "texts": [["a"], [], ["b", "c"], None],
    "fixed": pl.Series([[1, 2], [3, 4], [5, 6], [7, 8]], dtype=pl.Array(pl.Int32, 2)),
    "struct": [{"a": ["x"], "b": 1}, {"a": [], "b": 2}, {"a": ["y"], "b": None}, None],
    "structs": [[{"a": "x"}], [], [{"a": "y"}, {"a": None}], None],
    "money": [Decimal("1.10"), Decimal("2.20"), None, Decimal("3.30")],
    "kind": pl.Series(["low", "high", "low", None], dtype=pl.Categorical),
    "level": pl.Series(["low", "high", "low", None], dtype=pl.Enum(["low", "high"])),
    "day": [date(2026, 1, 1 + at) for at in COUNTS],
    "moment": [datetime(2026, 1, 1 + at, 12, 30) for at in COUNTS],
    "zoned": [datetime(2026, 1, 1 + at, tzinfo=UTC) for at in COUNTS],
    "clock": [time(8 + at, 30) for at in COUNTS],
    "span": [timedelta(minutes=at) for at in COUNTS],
    "raw": [b"a", b"\x00", b"c", None],
    "nothing": [None, None, None, None],
    "huge": pl.Series([2**63, 1, 2, 3], dtype=pl.UInt64),
    "tiny": pl.Series([127, -128, 0, None], dtype=pl.Int8),
    "truth": [True, False, None, True],
    "year": ["2026", "1999", "0000", "9999"],
    "dates": ["2026-02-29", "9999-12-31", "", None],
}
CODES = {
    "pandas": python("result = data.groupby('city', as_index=False).amount.sum()"),
    "polars": python("import polars as pl\nresult = data.group_by('city').agg(pl.col('amount').sum()).sort('city')"),
    "sql": "```sql\nSELECT city, sum(amount) AS amount FROM data GROUP BY city ORDER BY city\n```",
    "r": "```r\nresult <- aggregate(amount ~ city, data, sum)\n```",
}


def wanted(reader: str) -> dict[str, Any]:
    return {"dataframe": reader} if reader in ("pandas", "polars") else {"language": reader}


@pytest.mark.parametrize("reader", CODES)
def test_columns_of_nested_json_leave_an_answer_done(jobs: TransformJobs, reader: str) -> None:
    assert_done(jobs, reader, [{"name": "data", "rows": ROWS}])


@pytest.mark.parametrize("reader", CODES)
def test_columns_of_every_type_leave_an_answer_done(jobs: TransformJobs, reader: str) -> None:
    buffer = io.BytesIO()
    pl.DataFrame({name: pl.Series(name, values) for name, values in TYPES.items()}).write_parquet(buffer)
    file = jobs.files.add("data.parquet", buffer.getvalue())
    assert_done(jobs, reader, [{"name": "data", "file_id": file}])


def test_nested_cells_are_masked_to_their_leaves(jobs: TransformJobs) -> None:
    rows = [
        {**row, "note": f"seen by {row['tags']} at 1.75", "secret": {"who": ["Okonkwo"], "lat": 1.75}} for row in ROWS
    ]
    code = "print(data.secret.tolist())\nresult = data[['city', 'secret', 'note']]"
    result = jobs.transform(python(code), "DONE", data=rows, confirm="always", preview={"mask": ["secret"]})
    assert codes_of(result) == []
    assert result.table is not None
    assert "Okonkwo" in str(result.table.rows)
    assert "Okonkwo" not in jobs.script.said()
    assert "1.75" not in jobs.script.said()
    assert '{\\"who\\": [' in jobs.script.last(), "pseudonyms have the shape of the cells"


def assert_done(jobs: TransformJobs, reader: str, data: object) -> None:
    if reader in ("sql", "r"):
        skip_unless_installed(jobs.sandbox, reader)
    result = jobs.transform(CODES[reader], "DONE", data=data, confirm="always", **wanted(reader))
    assert codes_of(result) == [], (result.explained, [step.message for step in result.iterations])
    assert result.table is not None
    assert sorted(result.table.rows) == [["Bonn", 6], ["Oslo", 8], ["Rome", 4]]


def codes_of(result: Any) -> list[str]:
    return [reason.code for reason in result.unverified_because]
