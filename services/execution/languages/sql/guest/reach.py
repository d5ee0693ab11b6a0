"""What the words of SQL lead to beyond the names among them: files, chance, the whole catalog."""

from __future__ import annotations

import re

EVERYTHING, FILES, RANDOM = "@everything", "@files", "@random"

_FILES = re.compile(
    r"\b(read_\w+|parquet_scan|glob|copy|export|import|attach|sniff_csv)\b|['\"][^'\"]*[./][^'\"]*['\"]", re.I
)
_DRAWS = re.compile(r"\b(random|uuid\w*|gen_random_uuid|sample|tablesample|shuffle)\b", re.I)
_CATALOG = re.compile(
    r"\b(duckdb_\w+|information_schema|pg_\w+|sqlite_\w+|pragma\w*|show|describe|summarize|query|query_table|columns"
    r"|detach|checkpoint|(?:export|from)\s+database)\b",
    re.I,
)
_BY_NAME = re.compile(r"\b(?:getvariable|nextval|currval)\s*\(\s*(?!'[^']*'\s*\))", re.I)  #: a name that is computed


def leads(text: str) -> set[str]:
    """Return where SQL leads, be it a statement, a view or a macro."""
    places = {part for part, words in ((FILES, _FILES), (RANDOM, _DRAWS)) if words.search(text)}
    return places | ({EVERYTHING} if _CATALOG.search(text) or _BY_NAME.search(text) else set())
