"""Files that are tables: their rows in pages and what their columns hold, for their tenant only."""

from __future__ import annotations

import io
from typing import Any

import httpx2 as httpx
import polars as pl
import pytest

from tests.services.gateway.conftest import Gateway
from tests.services.gateway.http.test_problems import assert_problem

FRAME = pl.DataFrame({"n": range(1000), "city": ["Oslo", "Rome", None, 'O\'slo: "x"'] * 250, "share": [0.5] * 1000})


def uploaded(client: httpx.Client, name: str, content: bytes) -> str:
    return str(client.post(f"/v1/files?name={name}", content=content).json()["id"])


def as_bytes(form: str) -> bytes:
    buffer = io.BytesIO()
    writers: dict[str, Any] = {
        "parquet": FRAME.write_parquet, "arrows": FRAME.write_ipc_stream,
        "csv": FRAME.write_csv,
    }  # fmt: skip
    writers[form](buffer)
    return buffer.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["arrows", "csv"])
def test_a_table_in_any_form_is_read(client: httpx.Client, form: str) -> None:
    first = client.get(f"/v1/files/{uploaded(client, f't.{form}', as_bytes(form))}/rows?limit=2").json()
    assert first["columns"] == [
        {"name": "n", "type": "int"},
        {"name": "city", "type": "string"},
        {"name": "share", "type": "float"},
    ]
    assert first["rows"] == [[0, "Oslo", 0.5], [1, "Rome", 0.5]]
    assert (first["row_count"], first["next_offset"]) == (1000, 2)


@pytest.mark.slow
def test_rows_are_filtered_sorted_and_paged(client: httpx.Client) -> None:
    id = uploaded(client, "t.parquet", as_bytes("parquet"))
    conditions = ["n:ge:9", "city:contains:OSLO"]
    query: dict[str, Any] = {"filter": conditions, "sort": "-n", "columns": ["city", "n"], "limit": 2}
    fit = client.get(f"/v1/files/{id}/rows", params=query).json()
    assert fit["rows"] == [["Oslo", 996], ["Oslo", 992]]
    assert fit["row_count"] == 247
    problem = assert_problem(client.get(f"/v1/files/{id}/rows?filter=n:eq:abc"), 422, "invalid_request")
    assert problem["detail"] == "query.filter: a value does not fit its column's type"
    assert problem["errors"] == [{"loc": ["query", "filter"], "msg": "a value does not fit its column's type"}]


@pytest.mark.slow
def test_columns_are_described(client: httpx.Client) -> None:
    id = uploaded(client, "t.parquet", as_bytes("parquet"))
    told = client.get(f"/v1/files/{id}/profile").json()
    n, city, share = told["columns"]
    assert (told["row_count"], told["more_columns"]) == (1000, 0)
    assert (n["lowest"], n["highest"], n["mean"], sum(n["histogram"])) == (0, 999, 499.5, 1000)
    assert set(n["histogram"]) == {50}
    assert 900 < n["distinct"] < 1100
    assert (city["nulls"], city["lowest"]) == (250, None)
    assert {each["value"]: each["count"] for each in city["frequent"]} == {"Oslo": 250, "Rome": 250, 'O\'slo: "x"': 250}
    assert (share["histogram"], share["quartiles"]) == (None, [0.5, 0.5, 0.5])


@pytest.mark.slow
def test_a_file_is_read_as_the_caller_states(client: httpx.Client) -> None:
    id = uploaded(client, "t.csv", "Report;;\nname;price\nÖl;1,5\nSalz;-99\n".encode("latin-1"))
    first = client.get(f"/v1/files/{id}/rows").json()
    assert first["rows"] == [["Öl", 1.5], ["Salz", -99]]
    assert first["reading"] == {
        "format": "csv", "encoding": "windows-1252", "delimiter": ";", "header_row": 2, "decimal": ",", "sheet": None,
        "sheets": [],
    }  # fmt: skip
    noted = "price: decimal comma; -99 x 1 may mean a missing value: if so, state it in na_values"
    assert {"encoding windows-1252", "delimiter ';'", noted} <= {*first["notes"]}
    stated = client.get(f"/v1/files/{id}/rows", params={"na_values": ["-99"], "header_row": 2, "columns": "price"})
    assert stated.json()["rows"] == [[1.5], [None]]
    (price,) = client.get(f"/v1/files/{id}/profile", params={"na_values": "-99"}).json()["columns"][1:]
    assert (price["nulls"], price["lowest"]) == (1, 1.5)
    refused = assert_problem(client.get(f"/v1/files/{id}/rows?sheet=x"), 422, "invalid_request")
    assert "only a workbook has sheets" in str(refused["detail"])
    wrong = assert_problem(client.get(f"/v1/files/{id}/rows?header_row=-1"), 422, "invalid_request")
    assert "'loc': ['query', 'header_row']" in str(wrong["errors"])


@pytest.mark.slow
def test_there_are_no_more_distinct_values_than_rows(client: httpx.Client) -> None:
    lines = "".join(f"x{number}\n" for number in range(32))  # which are estimated to be 33
    id = uploaded(client, "t.csv", f"word\n{lines}".encode())
    (word,) = client.get(f"/v1/files/{id}/profile").json()["columns"]
    assert word["distinct"] == 32


@pytest.mark.slow
def test_what_is_no_table_is_refused(client: httpx.Client) -> None:
    id = uploaded(client, "t.parquet", bytes(range(256)))
    problem = assert_problem(client.get(f"/v1/files/{id}/rows"), 422, "invalid_request")
    assert str(problem["detail"]).startswith("The file cannot be read as a table: the file holds binary data")


@pytest.mark.slow
def test_a_foreign_tenant_reads_nothing(client: httpx.Client, gateway: Gateway) -> None:
    id = uploaded(client, "t.csv", b"a,b\n1,2\n")
    with gateway.client("globex") as other:
        assert_problem(other.get(f"/v1/files/{id}/rows"), 404, "not_found")
        assert_problem(other.get(f"/v1/files/{id}/profile"), 404, "not_found")
