"""What the catalog of DuckDB holds, in short: equal digests are equal tables, views and all that queries may use."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from services.execution.languages.python.guest.parts import Files
from services.execution.languages.sql.guest import reach
from services.execution.sandbox.protocol.wire import Json

_SECONDS = 0.5
_CELLS = 20_000_000
_MAX_NAME = 100  #: characters of a quoted name that is compared
_WORD = re.compile(r"\w+")
_QUOTES = re.compile(r"""\\?["']""")  #: also as JSON writes them
_QUOTED = re.compile(r'"((?:[^"]|"")+)"')
_SEEDS = re.compile(r"\bsetseed\b", re.I)

_TRANSACTION = "SELECT txid_current()"  #: another one for each statement outside of a transaction

#: Of each kind of object: names, and what of them is the same as long as they are.
_OBJECTS = {
    "macro": "SELECT function_name, to_json({a: parameters::VARCHAR, b: macro_definition, c: function_type})"
    " FROM duckdb_functions() WHERE NOT internal",
    "sequence": "SELECT sequence_name, to_json({a: schema_name, b: start_value, c: increment_by, d: last_value,"
    ' e: "cycle", f: sql}) FROM duckdb_sequences()',
    "type": "SELECT type_name, to_json({a: schema_name, b: logical_type, c: labels, d: database_name})"
    " FROM duckdb_types() WHERE NOT internal",
    "schema": "SELECT schema_name, database_name FROM duckdb_schemas() WHERE NOT internal",
    "index": "SELECT index_name, to_json({a: table_name, b: sql}) FROM duckdb_indexes()",
    "prepared": "SELECT name, to_json({a: statement, b: parameter_types::VARCHAR}) FROM duckdb_prepared_statements()",
}

#: A word of the code, and what is then read of tables and views.
_NOTES = (
    ("index", "SELECT table_name, sql FROM duckdb_indexes() ORDER BY ALL"),
    ("comment", "SELECT table_name, comment FROM duckdb_tables() WHERE comment IS NOT NULL"),
    ("comment", "SELECT view_name, comment FROM duckdb_views() WHERE comment IS NOT NULL"),
    (
        "comment",
        "SELECT table_name, to_json([column_name, comment]) FROM duckdb_columns() WHERE comment IS NOT NULL"
        " ORDER BY ALL",
    ),
)
_REFERRED = re.compile(r'\breferences\s+("(?:[^"]|"")+"|\w+)', re.I)

#: Words without any of which none of them is made.
_MADE_BY = {
    **{kind: (kind,) for kind in ("sequence", "schema", "index", "type")},
    "macro": ("macro", "function"),
    "prepared": ("prepare",),
}

Digests = dict[str, dict[str, Json]]


def catalog_digests(database: Any, code: Iterable[str], files: Files) -> Digests:
    """Return the digest of each table, view and variable, and of all else that has a name as a part of the kernel."""
    try:
        written = " ".join(code).lower()
        made = _names(database, written)
        for kind, query in _OBJECTS.items():
            if any(word in written for word in _MADE_BY[kind]):  # the catalog takes long to list
                made.update(_objects(database, kind, query))
        settings = (
            "SELECT current_database(), current_schema(), current_setting('search_path'), current_setting('TimeZone')"
        )
        databases = "SELECT list(database_name ORDER BY database_name) FROM duckdb_databases() WHERE NOT internal"
        made["@settings"] = _made(repr(database.sql(settings).fetchall() + database.sql(databases).fetchall()))
        if database.sql(_TRANSACTION).fetchall() == database.sql(_TRANSACTION).fetchall():
            why = "what a transaction that is still open would take back cannot be compared"
            made["@settings"] = {"value": None, "why": why, "refs": []}
    except Exception as error:  # an open transaction that has failed answers nothing
        return {"@settings": {"value": None, "why": f"the database answers {type(error).__name__}", "refs": []}}
    seeded = _SEEDS.search(written) is not None
    made["@random"] = (
        {"value": None, "why": "DuckDB does not show its random state", "refs": []} if seeded else _made("")
    )
    made["@files"] = _made(files.read())
    return made


def _made(text: str, refs: Iterable[str] = ()) -> dict[str, Json]:
    return {"value": sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32], "refs": sorted(refs)}


def _refs(text: str) -> set[str]:
    """Return all that may be names in SQL: words, and what is between two quotes."""
    quoted = (each.replace('""', '"') for each in _QUOTED.findall(text))
    words = {word.lower() for word in (*_WORD.findall(text), *_QUOTES.split(text), *quoted) if len(word) <= _MAX_NAME}
    return words | {f"@{kind} {word}" for kind in _OBJECTS for word in words} | reach.leads(text)


def _objects(database: Any, kind: str, query: str) -> Digests:
    by_name: dict[str, list[str]] = {}
    for name, text in database.sql(query).fetchall():
        form = _form(database, json.loads(text), name) if kind == "type" else ""
        by_name.setdefault(f"@{kind} {str(name).lower()}", []).append(f"{text}{form}")
    return {name: _made(repr(sorted(texts)), _refs(" ".join(texts))) for name, texts in by_name.items()}


def _form(database: Any, described: dict[str, str], name: str) -> str:
    """Return what a type is made of."""
    place = ".".join(map(_quoted, (described["d"], described["a"], name)))
    return str(database.sql(f"SELECT typeof(NULL::{place})").fetchall())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _notes(database: Any, written: str) -> dict[str, list[str]]:
    """Return what the statements of tables and views do not show of them: their indexes and comments."""
    notes: dict[str, list[str]] = {}
    for word, query in _NOTES:
        if word in written:
            for name, text in database.sql(query).fetchall():
                notes.setdefault(name, []).append(str(text))
    return notes


def _references(tables: Iterable[tuple[Any, ...]]) -> dict[str, set[str]]:
    """Return for each table those whose foreign keys refer to it: what is deleted there depends on them."""
    by_table: dict[str, set[str]] = {}
    for _, _, name, sql, _ in tables:
        for referred in _REFERRED.findall(sql):
            by_table.setdefault(referred.strip('"').lower(), set()).add(name)
    return by_table


def _names(database: Any, written: str) -> Digests:
    until = time.thread_time() + _SECONDS
    notes = _notes(database, written)
    read: dict[str, list[tuple[str, set[str]] | str]] = {}
    tables = database.sql(
        "SELECT database_name, schema_name, table_name, sql, estimated_size * column_count FROM duckdb_tables()"
        " WHERE NOT internal ORDER BY 1, 2, 3"
    ).fetchall()
    referring = _references(tables) if "references" in written else {}
    for *place, sql, cells in tables:
        is_too_large = cells > _CELLS or time.thread_time() > until
        held: tuple[str, set[str]] | str = "it is too large to compare"
        if not is_too_large:
            text, refs = _table(database, place, sql)
            held = f"{text} {notes.get(place[2])}", refs | referring.get(place[2].lower(), set())
        read.setdefault(place[2], []).append(held)
    views = "SELECT schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY 1, 2"
    for schema, name, sql in database.sql(views).fetchall():
        read.setdefault(name, []).append((f"view {schema} {sql} {notes.get(name)}", _refs(str(sql))))
    variables = "SELECT name, value::VARCHAR, type FROM duckdb_variables() ORDER BY 1"
    for name, value, kind in database.sql(variables).fetchall():
        read.setdefault(name, []).append((f"variable {kind} {value}", set()))
    return {name: _together(parts) for name, parts in read.items()}


def _together(parts: list[tuple[str, set[str]] | str]) -> dict[str, Json]:
    """Return the digest of all that has one name; texts say why a part cannot be compared."""
    refs: set[str] = set()
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            return {"value": None, "why": part, "refs": []}
        texts.append(part[0])
        refs |= part[1]
    return _made(repr(texts), refs)


def _table(database: Any, place: list[str], sql: str) -> tuple[str, set[str]]:
    import pyarrow

    name = ".".join(map(_quoted, place))
    rows = database.sql(f"SELECT * FROM {name}").to_arrow_table()  # noqa: S608
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks())
    return f"table {place} {sql} {sha256(memoryview(sink.getvalue())).hexdigest()}", _refs(str(sql))
