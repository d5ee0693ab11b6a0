"""The SQL kernel: DuckDB in this process, with nothing in reach but the work folder and the given tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from services.execution.kernels import service
from services.execution.kernels.isolate import OUT, TEMPORARY, WORK
from services.execution.kernels.python import tables
from services.execution.kernels.python.displays import Stage
from services.execution.kernels.wire import Json, Message

_SHOWN_ROWS = 20
_GIVEN = "__given"  #: the name under which a table is read in


class SqlKernel:
    def __init__(self, _stage: Stage) -> None:
        import duckdb

        self._duckdb = duckdb
        self._locked = False
        self._database = duckdb.connect(
            ":memory:",
            config={
                "threads": 2,
                "temp_directory": f"{TEMPORARY}/duckdb",
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            },
        )
        self._database.execute(f"SET allowed_directories = ['{WORK}/', '{TEMPORARY}/']")
        self._database.execute("SET enable_progress_bar = false")
        self._database.execute("SET enable_external_access = false")

    def execute(self, request: Message) -> Message:
        self._lock(int(cast("int", request["memory_mb"])))
        for frame in cast("list[Mapping[str, str]]", request["frames"]):
            self._create(frame["name"], frame["path"])
        seed = request["seed"]
        if seed is not None:
            self._database.execute("SELECT setseed(?)", [int(cast("int", seed)) / 2**32]).fetchall()
        result = self._run(str(request["code"]))
        if result is None:
            return {"value": None, "class": "NoneType"}
        described: dict[str, Json] = {"value": self._view(result), "class": "table"}
        if request["take"] != "view":
            described["rows"] = tables.write(result, f"{OUT}/result.arrow")
            described["table"] = "result.arrow"
        return described

    def _lock(self, megabytes: int) -> None:
        """No statement of the code's can change the settings any more."""
        if not self._locked:
            self._database.execute(f"SET memory_limit = '{max(48, megabytes * 3 // 4)}MB'")
            self._database.execute("SET lock_configuration = true")
            self._locked = True

    def _run(self, code: str) -> Any:
        """The rows of the last query as an Arrow table; ``None`` when no statement was one."""
        result = None
        for statement in self._database.extract_statements(code):
            kinds = " ".join(str(kind) for kind in statement.expected_result_type)
            changes = "CHANGED_ROWS" in kinds
            if "QUERY_RESULT" in kinds:
                relation: Any = self._database.sql(statement)
                # How many rows an UPDATE changed is no answer to a query.
                if relation is not None and not (changes and relation.columns == ["Count"]):
                    result = relation.to_arrow_table()
            else:
                self._database.execute(statement)
        return result

    def _view(self, result: Any) -> Message:
        # Rendered by a connection of its own: this one may hold a transaction that the code left open.
        looking = self._duckdb.connect(":memory:")
        text = str(looking.from_arrow(result.slice(0, _SHOWN_ROWS)))[:10_000]
        looking.close()
        if result.num_rows > _SHOWN_ROWS:
            text += f"{result.num_rows} rows in all\n"
        return {"type": "table", "shape": [result.num_rows, result.num_columns], "text": text}

    def _create(self, name: str, path: str) -> None:
        self._database.register(_GIVEN, tables.read(path, "arrow"))
        self._database.execute(f"CREATE OR REPLACE TABLE {_quoted(name)} AS SELECT * FROM {_GIVEN}")  # noqa: S608
        self._database.unregister(_GIVEN)

    def evaluate(self, request: Message) -> Message:
        result = self._run(f"SELECT {request['code']} AS value")
        return {"value": self._view(result), "class": "table"}

    def get(self, request: Message) -> Message:
        name, file = str(request["name"]), str(request["file"])
        rows = self._database.execute(f"SELECT * FROM {_quoted(name)}").to_arrow_table()  # noqa: S608
        count = tables.write(rows, f"{OUT}/{file}")
        return {"typed": {**self._view(rows), "kind": "table", "file": file, "rows": count}}

    def set(self, request: Message) -> Message:
        typed = cast("Message", request["typed"])
        name = str(request["name"])
        if typed["kind"] == "table":
            self._create(name, str(typed["path"]))
        else:
            value = typed["json"]
            self._database.execute(f"SET VARIABLE {_quoted(name)} = ?", [value])
        return {}

    def list(self, _request: Message) -> Message:
        found = self._database.execute(
            "SELECT table_name, estimated_size, column_count FROM duckdb_tables() WHERE NOT internal ORDER BY table_oid"
        ).fetchall()
        return {
            "variables": [
                {"name": name, "type": "table", "shape": [rows, columns], "bytes": 0} for name, rows, columns in found
            ]
        }

    def remove(self, request: Message) -> Message:
        self._database.execute(f"DROP TABLE IF EXISTS {_quoted(str(request['name']))}")
        return {}

    def info(self, _request: Message) -> Message:
        return {"language": "sql", "version": self._duckdb.__version__}

    def packages(self, _request: Message) -> Message:
        return {"packages": {"duckdb": self._duckdb.__version__}}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def serve(requests: int, replies: int) -> None:
    service.serve(SqlKernel, requests, replies)
