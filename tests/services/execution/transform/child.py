"""The other side of ``ChildSandbox``."""

# ruff: noqa: PLC0415 - a child imports only what its language needs

from __future__ import annotations

import ast
import json
import sys
import traceback
from pathlib import Path
from typing import Any


def main() -> None:
    order = json.loads(Path(sys.argv[1]).read_text())
    told: dict[str, Any] = {}
    try:
        result = _sql(order) if order["language"] == "sql" else _python(order)
        told["class"] = type(result).__name__
        told["text"] = None if result is None else str(result)[:5000]
        if order["take"] == "table" and (table := _arrow(result)) is not None:
            import pyarrow as pa

            told["table"] = f"{order['out']}/result.arrow"
            with pa.OSFile(told["table"], "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
    except Exception as error:
        lines = traceback.format_exception(error)
        told["error"] = {"type": type(error).__name__, "message": str(error), "traceback": "".join(lines[-1:])}
    Path(order["out"], "told.json").write_text(json.dumps(told))


def _python(order: Any) -> Any:
    import polars as pl

    names: dict[str, Any] = {"__name__": "__main__"}
    for name, (path, kind) in order["frames"].items():
        frame = pl.read_ipc(path)
        names[name] = frame.to_pandas() if kind == "pandas" else frame
    tree = ast.parse(order["code"])
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        expression = ast.Expression(tree.body.pop().value)
        exec(compile(tree, "<code>", "exec"), names)
        last = eval(compile(expression, "<code>", "eval"), names)
    else:
        exec(compile(tree, "<code>", "exec"), names)
    return names["result"] if names.get("result") is not None else last


def _sql(order: Any) -> Any:
    import duckdb
    import polars as pl

    connection = duckdb.connect()
    for name, (path, _) in order["frames"].items():
        connection.register(name, pl.read_ipc(path).to_arrow())
    return connection.execute(order["code"]).to_arrow_table()


def _arrow(result: Any) -> Any:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    if isinstance(result, pl.DataFrame):
        return result.to_arrow()
    if isinstance(result, pd.DataFrame):
        return pa.Table.from_pandas(result)
    return result if isinstance(result, pa.Table) else None


if __name__ == "__main__":
    main()
