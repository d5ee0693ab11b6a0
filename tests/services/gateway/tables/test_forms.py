"""Tables in every form: written by the process that a gateway starts, and read by what people read them with."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sqlite3
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event as Flag

import duckdb
import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from pydantic import JsonValue

from services.gateway.tables.forms import FORMS
from services.gateway.tables.tasks import write_table
from shared.bounded_process import Bounds, run

TABLE = pl.DataFrame(
    {
        "text": ["=1+1", 'say "hi",\nthen | go', "", None],
        "whole": [1, -2, 2**53 + 1, None],
        "share": [0.1, float("nan"), 1e300, None],
        "yes": [True, False, True, None],
        "day": [date(2026, 1, 2), date(1, 1, 1), date(9999, 12, 31), None],
        "at": [datetime(2026, 1, 2, 3, 4, 5), datetime(2026, 1, 2, 3, 4, 5, 120000), datetime(1850, 1, 1), None],
        "there": [datetime(2026, 1, 2, tzinfo=UTC), None, None, None],
        "money": [Decimal("0.10"), Decimal("-1234567.89"), Decimal("0.00"), None],
        "took": [timedelta(seconds=90), None, None, None],
        "tags": [["a", "b"], [], None, ["é"]],
    },
    schema_overrides={"money": pl.Decimal(20, 2)},
)


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "table.parquet"
    TABLE.write_parquet(path, row_group_size=2)
    return path


def converted(parquet: Path, form: str) -> bytes:
    refused, content = written(parquet, form)
    assert refused is None
    return content


def written(parquet: Path, form: str) -> tuple[JsonValue, bytes]:
    with parquet.open("rb") as source, TemporaryFile() as output:
        argument: JsonValue = {"form": form}
        refused = run(write_table, argument, source, output, Bounds(memory_mb=1024), Flag())
        output.seek(0)
        return refused, output.read()


@pytest.mark.slow
@pytest.mark.parametrize(("form", "delimiter"), [("csv", ","), ("tsv", "\t"), ("csv.gz", ",")])
def test_delimited_text_has_every_row_and_tells_empty_from_missing(parquet: Path, form: str, delimiter: str) -> None:
    content = converted(parquet, form)
    text = (gzip.decompress(content) if form.endswith("gz") else content).decode()
    rows = list(csv.DictReader(io.StringIO(text), delimiter=delimiter))
    assert [row["text"] for row in rows] == ["=1+1", 'say "hi",\nthen | go', "", ""]
    assert [row["whole"] for row in rows] == ["1", "-2", "9007199254740993", ""]
    assert [row["at"] for row in rows] == ["2026-01-02T03:04:05", "2026-01-02T03:04:05.12", "1850-01-01T00:00:00", ""]
    assert rows[0]["there"] == "2026-01-02T00:00:00Z"
    assert [row["money"] for row in rows] == ["0.10", "-1234567.89", "0.00", ""]
    assert [row["tags"] for row in rows] == ['["a","b"]', "[]", "", '["é"]']
    assert rows[0]["took"] == "0:01:30"
    assert text.splitlines()[-2].startswith(f'""{delimiter}9007199254740993{delimiter}1e+300')
    assert text.splitlines()[-1] == delimiter * 9 + '"[""é""]"'


@pytest.mark.slow
def test_json_is_lines_or_one_list_and_never_nan(parquet: Path) -> None:
    lines = [json.loads(line) for line in converted(parquet, "jsonl").splitlines()]
    assert lines == json.loads(converted(parquet, "records"))
    assert lines[0]["tags"] == ["a", "b"]
    assert lines[1]["share"] is None
    assert lines[2]["whole"] == 2**53 + 1
    assert lines[0]["there"] == "2026-01-02T00:00:00Z"


@pytest.mark.slow
def test_arrow_and_feather_keep_every_type(parquet: Path) -> None:
    streamed = pl.read_ipc_stream(io.BytesIO(converted(parquet, "arrow")))
    assert streamed.schema == TABLE.schema
    assert streamed.equals(TABLE)
    with pa.ipc.open_file(io.BytesIO(converted(parquet, "feather"))) as file:
        assert pl.DataFrame(file.read_all()).equals(TABLE)


@pytest.mark.slow
def test_excel_keeps_text_as_text_and_long_numbers_whole(parquet: Path) -> None:
    sheet = openpyxl.load_workbook(io.BytesIO(converted(parquet, "xlsx")))["result"]
    rows = list(sheet.iter_rows(min_row=2))
    assert (rows[0][0].value, rows[0][0].data_type) == ("=1+1", "s")
    assert rows[2][1].value == str(2**53 + 1)
    assert rows[0][4].value == datetime(2026, 1, 2)
    assert rows[1][4].value == "0001-01-01"
    assert rows[0][7].value == pytest.approx(0.1)
    assert rows[0][3].value is True


@pytest.mark.slow
def test_sqlite_and_duckdb_hold_a_table_named_result(parquet: Path, tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_bytes(converted(parquet, "sqlite"))
    with sqlite3.connect(tmp_path / "a.sqlite") as database:
        assert database.execute("SELECT whole, text, money FROM result").fetchall()[:2] == [
            (1, "=1+1", "0.10"),
            (-2, 'say "hi",\nthen | go', "-1234567.89"),
        ]
        assert database.execute("SELECT sum(yes), count(*) FROM result").fetchone() == (2, 4)
    database.close()
    (tmp_path / "a.duckdb").write_bytes(converted(parquet, "duckdb"))
    with duckdb.connect(str(tmp_path / "a.duckdb"), read_only=True) as base:
        assert base.execute("SELECT sum(money), max(day) FROM result").fetchone() == (
            Decimal("-1234567.79"),
            date(9999, 12, 31),
        )


@pytest.mark.slow
def test_markdown_and_html_escape_what_would_be_markup(parquet: Path, tmp_path: Path) -> None:
    lines = converted(parquet, "md").decode().splitlines()
    assert lines[1].startswith("| --- |")
    assert 'say "hi",<br>then \\| go' in lines[3]
    assert len(lines) == 2 + TABLE.height
    pl.DataFrame({"<b>": ["<script>"]}).write_parquet(tmp_path / "x.parquet")
    page = converted(tmp_path / "x.parquet", "html").decode()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page


@pytest.mark.slow
def test_what_a_form_cannot_hold_is_said(tmp_path: Path) -> None:
    pl.DataFrame({"a": ["x" * 40_000]}).write_parquet(tmp_path / "x.parquet")
    assert "32767 characters" in str(written(tmp_path / "x.parquet", "xlsx")[0])
    pl.DataFrame({"a": [1], "A": [2]}).write_parquet(tmp_path / "x.parquet")
    assert "case of their letters" in str(written(tmp_path / "x.parquet", "sqlite")[0])


@pytest.mark.slow
def test_a_table_without_rows_has_its_head(tmp_path: Path) -> None:
    TABLE.clear().write_parquet(tmp_path / "x.parquet")
    assert converted(tmp_path / "x.parquet", "csv").decode().strip().split(",")[0] == "text"
    assert json.loads(converted(tmp_path / "x.parquet", "records")) == []


def test_every_form_has_a_name_that_the_route_takes() -> None:
    assert {"csv", "tsv", "jsonl", "arrow", "parquet", "xlsx", "csv.gz", "jsonl.zst"} <= set(FORMS)
    assert "json" not in FORMS  # that is the result itself


NANOSECONDS = 1_700_000_000_123_456_789


@pytest.mark.slow
@pytest.mark.parametrize("form", sorted(form for form in FORMS if form not in ("parquet", "duckdb")))
def test_times_in_nanoseconds_are_written_in_every_form(tmp_path: Path, form: str) -> None:
    moments = pa.array([NANOSECONDS, None], pa.timestamp("ns"))
    table = pa.table(
        {
            "at": moments,
            "there": moments.cast(pa.timestamp("ns", "UTC")),
            "clock": pa.array([123_456_789, None], pa.time64("ns")),
            "took": pa.array([90_000_000_001, -1], pa.duration("ns")),
            "all": pa.array([[NANOSECONDS], None], pa.list_(pa.timestamp("ns"))),
            "one": pa.array([{"at": NANOSECONDS}, None], pa.struct({"at": pa.timestamp("ns")})),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    content = converted(tmp_path / "x.parquet", form)
    if form in ("csv", "tsv", "jsonl", "records", "md", "html"):
        assert content.decode().count("123456789") >= 5
        assert "0:01:30.000000001" in content.decode()


@pytest.mark.slow
def test_a_sheet_holds_texts_that_are_markup_or_escapes_elsewhere(tmp_path: Path) -> None:
    texts = [" <a> & b \n", "_x0041_", "a\x01b", "\r\n", "", "end"]
    pl.DataFrame({"<&>": texts}).write_parquet(tmp_path / "x.parquet")
    (tmp_path / "x.xlsx").write_bytes(converted(tmp_path / "x.parquet", "xlsx"))
    read = pl.read_excel(tmp_path / "x.xlsx", engine="calamine", drop_empty_rows=False)
    assert read.columns == ["<&>"]
    assert read.to_series().to_list() == [" <a> & b \n", "_x0041_", "a\ufffdb", "\r\n", None, "end"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_a_plain_table_is_written_as_any_other(tmp_path: Path, form: str) -> None:
    """The first table has plain columns alone; the second one has also a column that needs another way."""
    plain = pl.DataFrame(
        {
            "text, with": ['say "hi"', "a\nb", "", None, "1\t2"],
            "n": [1, -2, 2**62, None, 0],
            "f": [0.1, 1e300, -0.0, None, 4.0],
            "single": pl.Series([0.1, 1.5, None, 3, 4], dtype=pl.Float32),
            "yes": [True, False, None, True, False],
            "day": [date(2026, 1, 2), date(1, 1, 1), date(9999, 12, 31), None, date(1969, 12, 31)],
        }
    )
    plain.write_parquet(tmp_path / "x.parquet")
    plain.with_columns(last=pl.lit(None, pl.Duration("us"))).write_parquet(tmp_path / "y.parquet")
    mark = {"csv": b",", "tsv": b"\t"}[form]
    whole, other = (converted(tmp_path / f"{name}.parquet", form) for name in "xy")
    assert whole.startswith({"csv": b'"text, with",n,', "tsv": b"text, with\tn\t"}[form])
    expected = other.replace(mark + b"last\n", b"\n").splitlines()
    assert whole.splitlines() == [line.removesuffix(mark) for line in expected]


@pytest.mark.slow
def test_numbers_without_an_end_are_written_alike_in_a_plain_table(tmp_path: Path) -> None:
    pl.DataFrame({"f": [1.5, float("inf"), float("nan"), None]}).write_parquet(tmp_path / "x.parquet")
    assert converted(tmp_path / "x.parquet", "csv").decode().splitlines() == ["f", "1.5", "inf", "nan", ""]
