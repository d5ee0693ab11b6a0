"""The file of a backup: a gzipped tar of the text of each table, the files by hash, the search store and a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import Connection, sql
from pydantic import BaseModel

FORMAT = 1
MANIFEST = "manifest.json"
TABLES, BLOBS, SEARCH = "postgres", "blobs", "search"


class BackupTable(BaseModel):
    name: str
    columns: list[str]
    rows: int
    sha256: str | None = None  #: of the text of its rows; None in older backups


class Manifest(BaseModel):
    """The content of a backup; it is written last, so that a truncated file is recognized by its absence."""

    format: int = FORMAT
    version: str  #: of Assay
    revision: str  #: of the tables
    at: str
    tables: list[BackupTable]  #: in an order in which each one's references are there already
    sequences: dict[str, int | None]
    blobs: int
    missing_blobs: list[str] = []
    search: bool  #: whether the embedded search store is in it
    search_files: dict[str, str] = {}  #: the hashes of its files; empty in older backups

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)


def tables_in_order(connection: Connection[Any]) -> list[str]:
    """Return every table of ours, referenced ones first."""
    names = [  # rows of a partition are its table's
        row[0]
        for row in connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            " AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1"
        )
    ]
    references = connection.execute(
        "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint WHERE contype = 'f'"
        " AND conrelid <> confrelid"
    ).fetchall()
    ordered: list[str] = []
    while len(ordered) < len(names):
        free = [
            name
            for name in names
            if name not in ordered and all(to in ordered for of, to in references if of == name and to in names)
        ]
        if not free:
            raise RuntimeError("the tables refer to each other in a circle")
        ordered += free
    return ordered


def columns_of(connection: Connection[Any], table: str) -> list[str]:
    """Return the columns of a table that are not generated."""
    rows = connection.execute(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND table_name = %s AND is_generated = 'NEVER' ORDER BY ordinal_position",
        (table,),
    )
    return [row[0] for row in rows]


def copy_out(table: str, columns: Sequence[str]) -> sql.Composed:
    """``COPY (SELECT columns FROM table) TO STDOUT``: of a table with partitions it takes a query."""
    return sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(_names(columns), sql.Identifier(table))


def copy_in(table: str, columns: Sequence[str]) -> sql.Composed:
    """``COPY table (columns) FROM STDIN``."""
    return sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), _names(columns))


def _names(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))
