"""Queries of an untrusted file, as the process answers them that a gateway starts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from services.gateway.tables.forms import CannotHold
from services.gateway.tables.opened import connect, open_table
from services.gateway.tables.rows import rows


def asked(file: Path, **question: Any) -> dict[str, Any]:
    defaults = {"columns": [], "sort": [], "filter": [], "offset": 0, "limit": 100}
    with connect() as database:
        return rows(database, open_table(database, file, file.name), defaults | question)


@pytest.fixture
def cities(tmp_path: Path) -> Path:
    file = tmp_path / "cities.csv"
    file.write_text('n,city,-n\n1,Oslo,9\n2,O\'slo: "x",8\n3,,7\n')
    return file


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ({"filter": ['city:eq:O\'slo: "x"']}, [2]),
        ({"filter": ["city:null"]}, [3]),
        ({"filter": ["city:not_null", "n:lt:2"]}, [1]),
        ({"filter": ["city:contains:oslo"]}, [1]),
        ({"sort": ["-n"]}, [3, 2, 1]),  # there is a column of that name
        ({"sort": ["--n"]}, [1, 2, 3]),
        ({"offset": 2}, [3]),
        ({"offset": 9}, []),
    ],
)
def test_rows_that_fit_come_in_order(cities: Path, question: dict[str, Any], left: list[int]) -> None:
    assert [row[0] for row in asked(cities, **question)["rows"]] == left


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ({"columns": ["x"]}, "columns: there is no column 'x'"),
        ({"sort": ["-x"]}, "sort: there is no column 'x'"),
        ({"filter": ["n"]}, "filter: say COLUMN:eq:VALUE"),
        ({"filter": ["n:eq:abc"]}, "filter: a value does not fit its column's type"),
        ({"filter": ["n:eq:1 OR 1=1"]}, "filter: a value does not fit its column's type"),
    ],
)
def test_what_does_not_fit_the_table_is_named(cities: Path, question: dict[str, Any], why: str) -> None:
    with pytest.raises(CannotHold, match=why):
        asked(cities, **question)


def test_a_question_reads_no_other_file(cities: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("word\nhush\n")
    attack = f"city:eq:x') UNION SELECT word, word, word FROM read_csv('{secret}'); --"
    assert asked(cities, filter=[attack])["rows"] == []
    with connect() as database:
        open_table(database, cities)
        with pytest.raises(duckdb.PermissionException):
            database.execute(f"SELECT * FROM read_csv('{secret}')")
        with pytest.raises(duckdb.InvalidInputException):
            database.execute("SET enable_external_access = true")


def test_long_cells_are_cut_and_large_pages_end_early(tmp_path: Path) -> None:
    wide = tmp_path / "wide.csv"
    wide.write_text("a,b,c,d\n" + "\n".join([",".join(["y" * 5000] * 4)] * 900))
    page = asked(wide, limit=1000)
    assert 400 < page["next_offset"] < 900
    assert len(page["rows"]) == page["next_offset"]
    assert page["rows"][0][0] == "y" * 2000 + "…"


def test_times_and_nested_values_are_json(tmp_path: Path) -> None:
    cells = {"at": [datetime(2026, 1, 2, tzinfo=UTC)], "took": [timedelta(seconds=90)], "tags": [["é"]], "raw": [b"a"]}
    pl.DataFrame(cells).write_ipc(tmp_path / "t.arrow")
    page = asked(tmp_path / "t.arrow")
    assert page["rows"] == [["2026-01-02T00:00:00+00:00", "0:01:30", ["é"], "61"]]
    assert [column["type"] for column in page["columns"]] == ["datetime", "duration", "list", "string"]
    (tmp_path / "t.jsonl").write_text('{"a": {"b": 1}}\n{"c": null}\n')
    assert asked(tmp_path / "t.jsonl")["rows"] == [[{"b": 1}, None], [None, None]]


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more", bytes(range(256)), b"\xff\xff\xff\xff\x00", b"ARROW1"])
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(CannotHold, match="the file cannot be read as a table: "):
        asked(tmp_path / "t")
