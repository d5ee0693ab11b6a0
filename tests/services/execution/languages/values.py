"""Values that each language makes of its own, and how the others show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_PYTHON = (
    "import datetime as d, decimal, math, zoneinfo\nimport numpy as np, pandas as pd\n"
    "B = zoneinfo.ZoneInfo('Europe/Berlin')\nv = "
)


@dataclass(frozen=True)
class Case:
    """``lost``: what is said on the way into a language; nothing said means that it comes back as it was."""

    source: str
    name: str
    code: str
    lost: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.source}-{self.name}"


def _python(name: str, code: str, refused: tuple[str, ...] = (), **lost: str) -> Case:
    return Case("python", name, f"{_PYTHON}{code}", lost, refused)


def _r(name: str, code: str, refused: tuple[str, ...] = (), **lost: str) -> Case:
    return Case("r", name, f"v <- {code}", lost, refused)


def _javascript(name: str, code: str, refused: tuple[str, ...] = (), **lost: str) -> Case:
    return Case("javascript", name, f"var v = {code}", lost, refused)


def _sql(name: str, code: str, refused: tuple[str, ...] = (), **lost: str) -> Case:
    made = f"create or replace table v as {code}" if code.startswith("select") else f"set variable v = {code}"
    return Case("sql", name, made, lost, refused)


_NUL, _ZONE, _LIST = "is not the same", "another zone", "is a list"
_NULL = "is a null"
_GONE = ("python", "r", "javascript", "sql")

CASES: tuple[Case, ...] = (
    _python("none", "None"),
    _python("true", "True"),
    _python("int", "-42"),
    _python("beyond 31 bits", "2**31"),
    _python("beyond 2^53", "2**53 + 1", r="large whole number"),
    _python("beyond 64 bits", "-2**64 - 1", r="large whole number"),
    _python("beyond 128 bits", "2**200 + 1", ("sql",), r="large whole number"),
    _python("float", "0.1"),
    _python("whole float", "4.0"),
    _python("negative zero", "-0.0"),
    _python("nan", "float('nan')"),
    _python("infinite", "-math.inf"),
    _python("text", "'h\\u00e9 \\U0001f600 \\n\\t\\x01\\x7f \\\\ \"\\''"),
    _python("nul", "'a\\0b'", r=_NUL),
    _python("no text", "''"),
    _python("lone surrogate", "'\\ud800'", ("sql",), r=_NUL),
    _python("decimal", "decimal.Decimal('1.50')", r="is a number", javascript="is a number"),
    _python("date", "d.date(2024, 2, 29)"),
    _python("naive moment", "d.datetime(2024, 2, 29, 1, 2, 3, 456789)"),
    _python("moment in utc", "d.datetime(2024, 2, 29, tzinfo=d.UTC)"),
    _python("moment in a zone", "d.datetime(2024, 7, 1, 1, 2, 3, tzinfo=B)", sql=_ZONE),
    _python("time of day", "d.time(1, 2, 3)", r="is a text", javascript="is a text"),
    _python("duration", "d.timedelta(seconds=1.5)", javascript="is a number"),
    _python("nanoseconds", "pd.Timestamp('2024-01-01T00:00:00.123456789')", r=_NUL, sql=_NUL),
    _python("bytes", "bytes(range(256))"),
    _python("list", "[1, 2, 3]"),
    _python("list of one", "[1]"),
    _python("empty list", "[]"),
    _python("nested", "{'a': [1, {'b': None, 'c': [True, 'x']}], 'd': {}}"),
    _python("mixed list", "[1, 'a', None, 2.5]"),
    _python("list with gaps", "[1.5, float('nan'), None]"),
    _python("list of dates", "[d.date(2024, 1, 1), None]"),
    _python("keys that are no texts", "{1: 'a', (1, 2): 'b'}", r="is an object", sql="is an object"),
    _python("a key of our own", "{'$': 'int', 'v': '1', 'w': [1]}"),
    _python("odd keys", "{'__proto__': [1], '': 2}"),
    _python("tuple", "(1, (2, 3))", r=_LIST, sql=_LIST),
    _python("set", "{1, 2}", r=_LIST, sql=_LIST),
    _python("complex", "1 + 2j", ("sql",), javascript="is an object"),
    _python("array", "np.arange(6.).reshape(2, 3)", sql=_LIST),
    _python("series", "pd.Series([1, 2])", r=_LIST, javascript=_LIST, sql=_LIST),
    _python("factor", "pd.Categorical(['a', 'b', None], ordered=True)", sql=_LIST),
    _python("large list", "list(range(50_000))"),
    _python("large text", "'x' * 1_000_000"),
    _python("large text of many signs", "'h\\u00e9 \\U0001f600 \\n\\t \\x01 \\\\ \"\\'' * 20_000"),
    _python("too large", "'x' * 10_000_000", _GONE),
    _python("holds itself", "[]\nv.append(v)", _GONE),
    _python("function", "len", _GONE),
    _python("module's object", "object()", _GONE),
    _python(
        "frame",
        "pd.DataFrame({'f': [0.5, None], 's': ['é', None], 'b': [True, False], 'd': [d.date(2024, 1, 1), None],"
        " 't': pd.to_datetime(['2024-01-01', None]), 'z': pd.to_datetime(['2024-01-01', None], utc=True),"
        " 'y': [b'\\0\\1', None]})",
    ),
    _python(
        "frame with names that differ in their case only",
        "pd.DataFrame({'Close': [1], 'close': [2]})",
        sql="column close: SQL takes its name for that of Close",
    ),
    _python("frame with factors", "pd.DataFrame({'c': pd.Categorical(['x', 'y', None])})", sql="factor is text"),
    _python("frame with gaps in wholes", "pd.DataFrame({'n': pd.array([2**60, None], dtype='Int64')})", r="2^53"),
    _python("frame with decimals", "pd.DataFrame({'m': [decimal.Decimal('1.50')]})", r="floats", javascript="numbers"),
    _python("empty frame", "pd.DataFrame({'a': pd.Series([], dtype='float64'), 's': pd.Series([], dtype='str')})"),
    _python(
        "frame with labels",
        "pd.DataFrame({'a': [0.5]}, index=['x'])",
        r="row labels",
        javascript="row labels",
        sql="row labels",
    ),
    _r("null", "NULL"),
    _r("missing", "NA", python=_NULL, javascript=_NULL, sql=_NULL),
    _r("true", "TRUE"),
    _r("integer", "100000L"),
    _r("double", "4"),
    _r("nan", "NaN"),
    _r("infinite", "Inf"),
    _r("text", '"h\\u00e9 \\U0001f600 \\n \\\\"'),
    _r("control sign", '"\\001"'),
    _r("texts with a gap", 'c("a", NA)'),
    _r("doubles with gaps", "c(1.5, NA, NaN)"),
    _r("named vector", "c(a = 1, b = 2)"),
    _r("list", 'list(a = 1L, b = list("x", NULL), c = list())'),
    _r("no texts", "character(0)"),
    _r("date", 'as.Date("2024-02-29")'),
    _r("moment", 'as.POSIXct("2024-02-29 01:02:03.456789", tz = "UTC")'),
    _r("moment in a zone", 'as.POSIXct("2024-07-01 01:02:03", tz = "Europe/Berlin")', sql=_ZONE),
    _r("moment without a zone", 'as.POSIXct("2024-07-01 01:02:03")'),
    _r("duration", 'as.difftime(1.5, units = "mins")', javascript="is a number"),
    _r("bytes", "as.raw(0:255)"),
    _r("complex", "1+2i", ("sql",), javascript="is an object"),
    _r("factor", 'factor(c("a", "b", NA), levels = c("b", "a"))', sql=_LIST),
    _r("matrix", "matrix(1:6, nrow = 2)", sql=_LIST),
    _r("function", "function(x) x", _GONE),
    _r("environment", "globalenv()", _GONE),
    _r("model", "lm(mpg ~ wt, mtcars)", _GONE),
    _r(
        "frame",
        'data.frame(i = c(1L, NA), d = c(1.5, NA), s = c("a", NA), b = c(TRUE, NA),'
        ' dt = as.Date(c("2024-01-01", NA)), t = as.POSIXct(c("2024-01-01", NA)))',
    ),
    _r("frame with factors", 'data.frame(f = factor(c("x", NA)))', sql="factor is text"),
    _r("empty frame", "data.frame(a = integer(0), s = character(0))"),
    _r(
        "frame with row names",
        'data.frame(a = 1, row.names = "x")',
        python="row names",
        javascript="row names",
        sql="row names",
    ),
    _javascript("undefined", "undefined", python=_NULL, r=_NULL, sql=_NULL),
    _javascript("null", "null"),
    _javascript("true", "true"),
    _javascript("whole number", "4"),
    _javascript("number", "0.5"),
    _javascript("negative zero", "-0"),
    _javascript("nan", "NaN"),
    _javascript("bigint", "2n ** 70n + 1n", r="large whole number"),
    _javascript("text", '"h\\u00e9 \\u{1f600}"'),
    _javascript("date", 'new Date("2024-02-29T01:02:03.456Z")'),
    _javascript("bad date", "new Date(NaN)", r="", python=_NULL, sql=_NULL),
    _javascript("array", '[1, "a", null, [1]]'),
    _javascript("array with a hole", "[1, , 2]", python=_NULL, r=_NULL, sql=_NULL),
    _javascript("object", '({a: {b: [1]}, "": 1})'),
    _javascript("map", 'new Map([[1, "a"]])', r="is an object", sql="is an object"),
    _javascript("set", "new Set([1])", r=_LIST, sql=_LIST),
    _javascript("bytes", "new Uint8Array([0, 255])"),
    _javascript("floats", "new Float64Array([1, 0.5])", sql=_LIST),
    _javascript("holds itself", "{}; v = {}; v.v = v", _GONE),
    _javascript("function", "() => 1", _GONE),
    _javascript("function within", "({f() {}})", _GONE),
    _javascript("promise", "Promise.resolve(1)", _GONE),
    _sql("integer", "4"),
    _sql("huge integer", "170141183460469231731687303715884105727::hugeint", r="large whole number"),
    _sql("decimal", "1.50::decimal(5,2)", r="is a number", javascript="is a number"),
    _sql("null", "null"),
    _sql("nan", "'nan'::double"),
    _sql("text", "'é'"),
    _sql("date", "date '2024-02-29'"),
    _sql("timestamp", "timestamp '2024-02-29 01:02:03.5'"),
    _sql("timestamp with zone", "timestamptz '2024-02-29 01:02:03+02'"),
    _sql("time", "time '01:02:03'", r="is a text", javascript="is a text"),
    _sql("interval", "interval 90 seconds", javascript="is a number"),
    _sql("blob", "'\\x00\\xff'::blob"),
    _sql("list", "[1, null]"),
    _sql("struct", "{'a': [{'b': 1}]}"),
    _sql("json", "'{\"a\": [1]}'::json"),
    _sql(
        "table",
        "select 1 as i, 0.5 :: double as f, 'x' as s, true as b, date '2024-01-01' as d, timestamp '2024-01-01' as t,"
        " timestamptz '2024-01-01 00:00:00+00' as z, '\\x00' :: blob as y",
    ),
    _sql("table with wholes and gaps", "select * from (values (9007199254740993), (null)) as q(n)", r="2^53"),
    _sql("table with durations", "select interval 1 second as iv", javascript="milliseconds"),
    _sql("empty table", "select 1 as a, 'x' as s where false"),
)
