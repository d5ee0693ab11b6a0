"""SQL: DuckDB in a fork of the warm interpreter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from services.execution.languages.sql.guest import reach
from services.execution.sandbox.language import Analysis, Codec, Guest, LanguageSpec, names_by_pattern

_GUEST = "services.execution.languages.sql.guest"
_SETS = re.compile(
    r"\b(?:create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(?:table|view)\s+(?:if\s+not\s+exists\s+)?"
    r"|insert\s+(?:or\s+\w+\s+)?into\s+|update\s+|delete\s+from\s+|alter\s+table\s+|drop\s+table\s+(?:if\s+exists\s+)?)"
    r"\"?([A-Za-z_]\w*)",
    re.I,
)
_WORD = re.compile(r"[^\W\d]\w*|\"((?:[^\"]|\"\")+)\"|'([^']+)'")
_KINDS = ("macro", "sequence", "type", "schema", "index", "prepared")


def _reads(code: str) -> frozenset[str]:
    """Return every name of the catalog that the code may come to, whatever its case."""
    parts = (part for match in _WORD.finditer(code) for part in (match[0], match[1], match[2]) if part)
    words = {part.lower().replace('""', '"') for part in parts}
    words |= {word.lower() for word in re.findall(r"\w+", code)}
    reads = words | {f"@{kind} {word}" for kind in _KINDS for word in words}
    return frozenset(reads | reach.leads(code))


_PYTHON = "services.execution.languages.python.guest"  #: tables and looks are those of Python


class SqlCodec(Codec):
    def column_loss(self, column: Any) -> str | None:
        import pyarrow

        if pyarrow.types.is_dictionary(column.type):
            return "a factor is text in SQL"
        zone = column.type.tz if pyarrow.types.is_timestamp(column.type) else None
        return f"moments keep their time and lose their zone {zone} in SQL" if zone not in (None, "UTC") else None

    def name_losses(self, names: Sequence[str]) -> list[str]:
        """Return the renamed columns: SQL names are case-insensitive, and DuckDB numbers the later ones."""
        first: dict[str, str] = {}
        pairs = ((name, first.setdefault(name.lower(), name)) for name in names)
        return [
            f"column {name[:80]}: SQL takes its name for that of {other[:80]}, so a number follows it there"
            for name, other in pairs
            if other != name
        ]


def _version() -> str | None:
    try:
        return metadata.version("duckdb")
    except metadata.PackageNotFoundError:
        return None


SQL = LanguageSpec(
    name="sql",
    versions=_version,
    install="the Python package duckdb",
    guest=Guest(packages=(_GUEST, _PYTHON), module=f"{_GUEST}.kernel", threads=6),
    codec=SqlCodec(),
    warm=(f"{_GUEST}.kernel",),
    analysis=Analysis(
        names=names_by_pattern(_SETS, _reads, quoted_names=True),
        has_variables=False,
        ambient=frozenset(["@settings"]),
        shares_objects=False,
        folds=True,
        suggesting=frozenset(["CatalogException", "BinderException"]),
    ),
)
