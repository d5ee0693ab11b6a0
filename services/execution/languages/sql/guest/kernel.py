"""The SQL kernel: DuckDB in this process, with nothing in reach but the work folder and the given tables."""

from __future__ import annotations

import datetime
import html
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from services.execution.languages.python.guest import tables
from services.execution.languages.python.guest.parts import Files
from services.execution.languages.python.guest.values import exactly, shown_table, size_of
from services.execution.languages.sql.guest.digests import catalog_digests
from services.execution.sandbox.guest import service
from services.execution.sandbox.guest.displays import Displays
from services.execution.sandbox.guest.isolate import OUT, TEMPORARY, WORK
from services.execution.sandbox.protocol.exact import decode
from services.execution.sandbox.protocol.wire import Json, Message

_SHOWN_ROWS = 20
_QUERY = re.compile(r"\s*(?:SELECT|WITH|FROM|VALUES)\b", re.I)
_ROWS_OF_A_PAGE, _MAX_CELL = 50, 400
_LOOKED_AT = 100
_RETURNING = b"RETURNING"
_GIVEN = "__given"  #: the name under which a table is read in


class SqlKernel:
    def __init__(self, displays: Displays) -> None:
        import duckdb

        self._displays = displays
        self._duckdb = duckdb
        self._locked = False
        self._code: list[str] = []
        self._files = Files()
        self._database = duckdb.connect(
            ":memory:",
            config={
                "threads": 2,
                "async_threads": 1,  # as many as four for each of the machine's cores otherwise
                "temp_directory": f"{TEMPORARY}/duckdb",
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            },
        )
        self._database.execute(f"SET allowed_directories = ['{WORK}/', '{TEMPORARY}/']")
        self._database.execute("SET enable_progress_bar = false")
        self._database.execute("SET enable_external_access = false")
        # It looks for signals between its tasks only, and one task may take as long as its query.
        self.stop: Callable[[], None] | None = self._database.interrupt
        self.recover: Callable[[], None] | None = self._end_unfinished

    def prewarm(self) -> Message:
        return {"value": self._view(self._run("SELECT 1 AS one")), "class": "table"}

    def execute(self, request: Message) -> Message:
        self._lock(int(cast("int", request["memory_mb"])))
        for frame in cast("list[Mapping[str, str]]", request["frames"]):
            table = tables.given(frame, "arrow")
            if frame["dataframe"] == "parquet":  # a view: a query reads only what it needs
                self._database.register(frame["name"], table)
            else:
                self._create(frame["name"], table)
        seed = request["seed"]
        if seed is not None:
            self._database.execute("SELECT setseed(?)", [int(cast("int", seed)) / 2**32]).fetchall()
        result = self._run(str(request["code"]))
        if result is None:
            return {"value": None, "class": "NoneType"}
        if request["take"] == "shown" and result.num_columns:
            self._displays.show(("text/html", _as_html(result), ".html"), is_value=True)
        if request["take"] in ("view", "shown"):
            return {"value": self._view(result), "class": "table"}
        return {
            "class": "table",
            "rows": tables.write(_with_durations(result), f"{OUT}/result.arrow"),
            "table": "result.arrow",
        }

    def _lock(self, megabytes: int) -> None:
        """Lock the settings against statements of the code."""
        if not self._locked:
            self._database.execute(f"SET memory_limit = '{max(48, megabytes * 3 // 4)}MB'")
            self._database.execute("SET lock_configuration = true")
            self._locked = True

    def _run(self, code: str) -> Any:
        """Run the code and return the rows of its last query as an Arrow table; ``None`` without a query."""
        self._code.append(code)
        result = None
        for statement in self._database.extract_statements(code):
            kinds = " ".join(str(kind) for kind in statement.expected_result_type)
            only_counts = "CHANGED_ROWS" in kinds and not self._returns_rows(statement.query)
            if "QUERY_RESULT" in kinds:
                relation: Any = self._database.sql(statement)
                # The number of rows that an UPDATE changed is not a query's result.
                if relation is not None and not (only_counts and relation.columns == ["Count"]):
                    result = relation.to_arrow_table()
            else:
                self._database.execute(statement)
        return result

    def _returns_rows(self, query: str) -> bool:
        """Return whether a statement that changes rows has a RETURNING clause."""
        text = query.encode()
        return any(
            kind == self._duckdb.token_type.keyword and text[start : start + len(_RETURNING)].upper() == _RETURNING
            for start, kind in self._duckdb.tokenize(query)
        )

    def _end_unfinished(self) -> None:
        """End a query that was interrupted, and a transaction in which a statement failed: nothing in it counts, and
        until then nothing else runs.
        """
        self._database.abort()
        try:
            self._database.execute("SELECT 1").fetchall()
        except self._duckdb.TransactionException:
            self._database.execute("ROLLBACK")

    def _view(self, result: Any) -> Message:
        # Rendered by a separate connection: this one may hold a transaction that the code left open.
        looking = self._duckdb.connect(":memory:", config={"threads": 1, "async_threads": 1})
        text = str(looking.from_arrow(result.slice(0, _SHOWN_ROWS)))[:10_000]
        looking.close()
        if result.num_rows > _SHOWN_ROWS:
            text += f"{result.num_rows} rows in all\n"
        return {"type": "table", "shape": [result.num_rows, result.num_columns], "text": text}

    def _create(self, name: str, table: Any) -> None:
        self._database.register(_GIVEN, table)
        self._database.execute(f"CREATE OR REPLACE TABLE {_quoted(name)} AS SELECT * FROM {_GIVEN}")  # noqa: S608
        self._database.unregister(_GIVEN)

    def evaluate(self, request: Message) -> Message:
        code = str(request["code"])
        value = f"({code.rstrip('; ')})" if _QUERY.match(code) else code
        result = self._run(f"SELECT {value} AS value")
        reply: dict[str, Json] = {"value": self._view(result), "class": "table"}
        if request.get("file") is not None:
            cell = result.column(0)[0].as_py() if result.num_rows else None
            reply["typed"] = {"type": str(result.schema.field(0).type), "text": str(cell)[:10_000], **exactly(cell)}
        return reply

    def digests(self, _request: Message) -> Message:
        return {"digests": catalog_digests(self._database, self._code, self._files)}

    def restore(self, _request: Message) -> Message:
        return {}

    def look(self, request: Message) -> Message:
        there = self._tables(views=not request["passive"])
        looks: dict[str, Json] = {}
        for name in cast("list[str]", request["names"]):
            if name in there:
                looks[name] = self._look(name, name in cast("list[str]", request["whole"]))
            elif (held := self._variable(name)) is not None:
                looks[name] = {"shape": None, "bytes": size_of(held[0]), "type": held[1], **exactly(held[0])}
                looks[name] = {"text": str(held[0])[:10_000], **cast("Message", looks[name])}
        return {"looks": looks}

    def _look(self, name: str, whole: bool) -> Message:
        count = _LOOKED_AT * (10 if whole else 1)
        first = self._database.sql(f"SELECT * FROM {_quoted(name)} LIMIT {count}").to_arrow_table()  # noqa: S608
        rows = self._database.sql(f"SELECT count(*) FROM {_quoted(name)}").fetchall()[0][0]  # noqa: S608
        size = first.nbytes * rows // max(1, first.num_rows)
        return {"kind": "table", "type": "table", "bytes": size, "rows": rows, **shown_table(first, whole)}

    def _tables(self, *, views: bool = True) -> set[str]:
        asked = "SELECT table_name FROM duckdb_tables() WHERE NOT internal"
        if views:
            asked += " UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal"
        return {str(name) for (name,) in self._database.sql(asked).fetchall()}

    def _variable(self, name: str) -> tuple[object, str] | None:
        """Return the value of a ``SET VARIABLE`` and its type; ``None`` without one of that name."""
        asked = "SELECT count(*) FROM duckdb_variables() WHERE name = ?"
        if not self._database.execute(asked, [name]).fetchall()[0][0]:
            return None
        literal = "'" + name.replace("'", "''") + "'"
        relation = self._database.sql(f"SELECT getvariable({literal}) AS v, typeof(getvariable({literal})) AS t")
        row = relation.to_arrow_table()
        value, kind = row.column(0)[0].as_py(), str(row.column(1)[0].as_py())
        if kind == "JSON":
            return json.loads(value), kind
        if kind == "HUGEINT" and value is not None:
            return int(value), kind
        return _unpacked(value), kind

    def picture(self, _request: Message) -> Message:
        raise TypeError("SQL has no figures")

    def get(self, request: Message) -> Message:
        name, file = str(request["name"]), str(request["file"])
        if name not in self._tables() and (held := self._variable(name)) is not None:
            shown = {"type": held[1], "shape": None, "text": str(held[0])[:10_000]}
            return {"typed": {**shown, **exactly(held[0])}}
        rows = self._database.sql(f"SELECT * FROM {_quoted(name)}").to_arrow_table()  # noqa: S608
        count = tables.write(_with_durations(rows), f"{OUT}/{file}")
        return {"typed": {**self._view(rows), "kind": "table", "file": file, "rows": count}}

    def set(self, request: Message) -> Message:
        typed = cast("Message", request["typed"])
        name = str(request["name"])
        if typed["kind"] == "table":
            self._create(name, tables.read(str(typed["path"]), "arrow"))
            return {}
        value = _listed(decode(typed["exact"]))
        self._database.execute(f"DROP TABLE IF EXISTS {_quoted(name)}")
        self._hold(name, value, typed["exact"])
        if _is_rows(value):
            self._create_rows(name, cast("list[dict[str, object]]", value))
        held = self._variable(name)
        return exactly(held[0]) if held is not None else {}

    def _hold(self, name: str, value: object, exact: Json) -> None:
        """Store it as DuckDB's own value if that is equal, else as JSON."""
        refused: Exception | None = None
        try:
            self._database.execute(f"SET VARIABLE {_quoted(name)} = ?", [value])
            held = self._variable(name)
            if held is not None and exactly(held[0]).get("exact") == exact:
                return
        except Exception as error:  # DuckDB has different errors for each case
            refused = error
        if not isinstance(value, (list, dict)):
            if refused is not None:
                raise refused
            return
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            if refused is not None:
                raise refused from None
            return
        self._database.execute(f"SET VARIABLE {_quoted(name)} = ?::JSON", [text])

    def _create_rows(self, name: str, rows: list[dict[str, object]]) -> None:
        """Create a table of a list of records."""
        import pyarrow

        columns = {
            key: _column([row.get(key) for row in rows]) for key in dict.fromkeys(k for row in rows for k in row)
        }
        self._database.register(_GIVEN, pyarrow.table(columns))
        self._database.execute(f"CREATE OR REPLACE TABLE {_quoted(name)} AS SELECT * FROM {_GIVEN}")  # noqa: S608
        self._database.unregister(_GIVEN)

    def list(self, _request: Message) -> Message:
        sizes = self._database.sql(
            "SELECT table_name, estimated_size, column_count FROM duckdb_tables() WHERE NOT internal ORDER BY table_oid"
        ).fetchall()
        tables: list[Json] = [
            {"name": name, "type": "table", "shape": [rows, columns], "bytes": 0} for name, rows, columns in sizes
        ]
        names = {name for name, _, _ in sizes}
        held = self._database.sql("SELECT name, type FROM duckdb_variables() ORDER BY name").fetchall()
        tables += [{"name": name, "type": kind, "shape": None, "bytes": 0} for name, kind in held if name not in names]
        return {"variables": tables}

    def remove(self, request: Message) -> Message:
        name = _quoted(str(request["name"]))
        self._database.execute(f"DROP TABLE IF EXISTS {name}")
        self._database.execute(f"RESET VARIABLE {name}")
        return {}

    def info(self, _request: Message) -> Message:
        return {"language": "sql", "version": self._duckdb.__version__}

    def packages(self, _request: Message) -> Message:
        return {"packages": {"duckdb": self._duckdb.__version__}}


def _as_html(result: Any) -> str:
    """Return the first rows as a table of HTML, and how many there are."""
    import pyarrow

    first = result.slice(0, _ROWS_OF_A_PAGE)
    numbers = [
        pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind) or pyarrow.types.is_decimal(kind)
        for kind in first.schema.types
    ]
    sides = [' align="right"' if number else "" for number in numbers]
    cells = [[_cell(cell) for cell in column.to_pylist()] for column in first.columns]
    heads = "".join(f"<th{side}>{html.escape(name)}</th>" for name, side in zip(first.column_names, sides, strict=True))
    rows = [
        "".join(f"<td{side}>{cell}</td>" for cell, side in zip(row, sides, strict=True))
        for row in zip(*cells, strict=True)
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    more = result.num_rows > first.num_rows
    return table + (f"<p>{result.num_rows:,} rows in all, the first {first.num_rows} here</p>" if more else "")


def _cell(value: object) -> str:
    """Return a value as SQL writes it."""
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).lower()
    return html.escape(str(_unpacked(value))[:_MAX_CELL])


def _unpacked(value: object) -> object:
    """Return Arrow's special forms as Python's."""
    if type(value).__name__ == "MonthDayNano":
        months, days, nanoseconds = cast("tuple[int, int, int]", value)
        return datetime.timedelta(days=30 * months + days, microseconds=nanoseconds // 1000)
    if isinstance(value, list):
        pairs = bool(value) and all(isinstance(part, tuple) and len(part) == 2 for part in value)
        return {part[0]: _unpacked(part[1]) for part in value} if pairs else [_unpacked(part) for part in value]
    return {key: _unpacked(part) for key, part in value.items()} if isinstance(value, dict) else value


def _with_durations(table: Any) -> Any:
    """Intervals as other languages have them: spans of time, unless there are months in them."""
    import pyarrow

    for number, field in enumerate(table.schema):
        if pyarrow.types.is_interval(field.type):
            cells = table.column(number).to_pylist()
            if all(cell is None or cell[0] == 0 for cell in cells):
                spans = pyarrow.array([_unpacked(cell) for cell in cells], pyarrow.duration("us"))
                table = table.set_column(number, field.name, spans)
    return table


def _listed(value: object) -> object:
    """DuckDB has lists, no tuples or sets."""
    if isinstance(value, (list, tuple, set)):
        return [_listed(part) for part in value]
    if type(value).__name__ == "Categorical":
        return [None if part != part else part for part in value.tolist()]  # type: ignore[attr-defined]  # noqa: PLR0124
    return {key: _listed(part) for key, part in value.items()} if isinstance(value, dict) else value


def _is_rows(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, dict) and row for row in value)
        and not any(isinstance(cell, (list, dict, set)) for row in value for cell in row.values())
    )


def _column(cells: list[object]) -> Any:
    import pyarrow

    try:
        return pyarrow.array(cells)
    except (pyarrow.ArrowException, OverflowError):
        return pyarrow.array([None if cell is None else str(cell) for cell in cells], pyarrow.string())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def serve(requests: int, replies: int) -> None:
    service.serve(SqlKernel, requests, replies)
