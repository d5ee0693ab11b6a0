"""How tables and values look to each language, and what is lost on the way, without a kernel."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow
import pyarrow.ipc
import pytest

from services.execution.languages.columns import arrow_type, table_from_columns
from services.execution.languages.r.spec import write_columns
from services.execution.languages.r.values import Exact, expression, value_of
from services.execution.languages.table import language_specs
from services.execution.sandbox.protocol.wire import Json
from services.execution.sandbox.run import KernelError


def saved(path: Path, columns: dict[str, pyarrow.Array]) -> Path:
    table = pyarrow.table(columns)
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return path


def opened(path: Path) -> pyarrow.Table:
    with pyarrow.memory_map(str(path)) as source:
        return pyarrow.ipc.open_file(source).read_all()


_DAY = pyarrow.array([0, None], pyarrow.date32())
_MOMENT = pyarrow.array([1_500_000, None], pyarrow.timestamp("us", "Europe/Berlin"))


def test_columns_come_back_as_they_went(tmp_path: Path) -> None:
    columns = {
        "whole": pyarrow.array([1, None], pyarrow.int32()),
        "real": pyarrow.array([0.5, None]),
        "truth": pyarrow.array([True, None]),
        "text": pyarrow.array(["é", None]),
        "bytes": pyarrow.array([b"\xff\0", None]),
        "day": _DAY,
        "moment": _MOMENT,
        "span": pyarrow.array([1_500_000, None], pyarrow.duration("us")),
        "level": pyarrow.array(["b", None]).dictionary_encode(),
    }
    table = saved(tmp_path / "in", columns)
    described: Json = write_columns(table, tmp_path / "binary")
    assert table_from_columns(described, tmp_path / "binary", tmp_path / "out")
    assert opened(tmp_path / "out").to_pydict() == opened(table).to_pydict()


@pytest.mark.parametrize(
    "claimed",
    [
        None,
        {},
        [None],
        [{"name": "a", "kind": "double"}],
        [{"name": "a", "kind": "double", "rows": -1}],
        [{"name": "a", "kind": "double", "rows": 3}],
        [{"name": "a", "kind": "string", "rows": 1}],
        [{"name": "a", "kind": "double", "rows": 10**9}],
    ],
)
def test_columns_that_do_not_fit_what_is_claimed_of_them_are_no_table(claimed: Json, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(struct.pack("<i", 10**6) + b"abc")
    assert not table_from_columns(claimed, tmp_path / "binary", tmp_path / "out")


_CROSSING = [pyarrow.int8(), pyarrow.float32(), pyarrow.bool_(), pyarrow.decimal128(9, 2), _MOMENT.type]


@pytest.mark.parametrize("kind", _CROSSING, ids=str)
def test_a_type_is_found_by_its_name(kind: pyarrow.DataType) -> None:
    assert arrow_type(str(kind)) == kind


@pytest.mark.parametrize("name", ["", "list<item: int32>", "decimal128(99, 0)", "extension<x>", "int128"])
def test_other_types_do_not_cross_by_name(name: str) -> None:
    assert arrow_type(name) is None


_LOSSES = {
    "python": {"missing numbers and NaN are one in pandas": pyarrow.array([float("nan"), None])},
    "r": {
        "whole numbers beyond 2^53 are rounded": pyarrow.array([2**60]),
        "decimals are floats in R": pyarrow.array([1]).cast(pyarrow.decimal128(20)),
        "R has no texts with NUL in them: it was taken out": pyarrow.array(["a\0b"]),
        "nanoseconds are cut to microseconds": pyarrow.array([1], pyarrow.timestamp("ns")),
        "list<item: int64> is text in R": pyarrow.array([[1]]),
    },
    "javascript": {
        "decimals are numbers in JavaScript": pyarrow.array([1]).cast(pyarrow.decimal128(20)),
        "times of day are text in JavaScript": pyarrow.array([1], pyarrow.time32("s")),
        "durations are milliseconds in JavaScript": pyarrow.array([1], pyarrow.duration("us")),
        "a table with lists or structures in it comes back from JavaScript as records": pyarrow.array([[1]]),
    },
    "sql": {
        "a factor is text in SQL": pyarrow.array(["a"]).dictionary_encode(),
        "moments keep their time and lose their zone Europe/Berlin in SQL": _MOMENT,
    },
}


@pytest.mark.parametrize("language", _LOSSES)
def test_what_a_column_loses_is_said(language: str, tmp_path: Path) -> None:
    codec = language_specs()[language].codec
    for loss, column in _LOSSES[language].items():
        assert codec.losses(saved(tmp_path / "table", {"c": column})) == (f"column c: {loss}",)
    assert codec.losses(saved(tmp_path / "table", {"c": pyarrow.array(["a", None])})) == ()


def test_names_that_sql_takes_for_one_are_said(tmp_path: Path) -> None:
    column = pyarrow.array([1])
    said = language_specs()["sql"].codec.losses(saved(tmp_path / "table", {"a": column, "A": column}))
    assert said == ("column A: SQL takes its name for that of a, so a number follows it there",)


def test_javascript_takes_small_tables_only(tmp_path: Path) -> None:
    table = saved(tmp_path / "table", {"c": pyarrow.nulls(100_001)})
    with pytest.raises(KernelError, match="at most 100000 rows"):
        language_specs()["javascript"].codec.table(table, tmp_path / "target")


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"op": "get", "name": 'a"b`\\'}, 'list(`op` = "get", `name` = "a\\"b`\\\\")'),
        ({"n": [1, None, 3]}, "list(`n` = c(1L, NA, 3L))"),
        ({"n": [1, 2.5]}, "list(`n` = c(1L, 2.5))"),
        ({"n": [], "m": [True, "x"]}, 'list(`n` = list(), `m` = list(TRUE, "x"))'),
        ({"é": "\0\ud800\U0001f600"}, 'list(`\\u00e9` = "\\ufffd\\ufffd\\U0001f600")'),
        ({"v": Exact([1, 2])}, "list(`v` = c(1L, 2L))"),
    ],
)
def test_a_message_is_an_r_expression_of_lists_texts_and_numbers(message: dict[str, Json], text: str) -> None:
    assert expression(message).decode() == text


@pytest.mark.parametrize(
    ("exact", "text"),
    [
        (None, "NULL"),
        ([1], "I(c(1L))"),
        (2**31, "2147483648.0"),
        ({"$": "int", "v": "9007199254740993"}, "9007199254740992.0"),
        ({"$": "float", "v": "-inf"}, "-Inf"),
        ({"$": "missing", "v": None}, "NA"),
        ({"$": "bytes", "v": ""}, "raw()"),
        ({"$": "date", "v": "2020-01-01"}, 'as.Date("2020-01-01")'),
        ({"a": 1}, 'structure(list(1L), names = c("a"))'),
    ],
)
def test_a_value_is_what_r_has_for_it(exact: Json, text: str) -> None:
    assert value_of(exact) == text


def test_a_number_that_r_cannot_hold_is_refused() -> None:
    with pytest.raises(OverflowError):
        value_of({"$": "int", "v": "1" + "0" * 400})
