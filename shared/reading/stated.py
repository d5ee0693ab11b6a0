"""What the caller states about how a file is written; everything else is found out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from .source import Unreadable

_TEXT = ("csv", "json", "jsonl", "html")
#: Which kinds of file each option applies to, and how the refusal names them.
_APPLIES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "sheet": (("excel",), "only a workbook has sheets"),
    "delimiter": (("csv",), "only text tables have a delimiter"),
    "encoding": (_TEXT, "only text has an encoding"),
    "decimal": (("csv", "html"), "only text tables have a decimal sign"),
    "header_row": (("csv", "excel", "html"), "only text tables and workbooks have a header row"),
    "skip": (("csv", "excel", "html"), "only text tables and workbooks have lines to skip"),
    "na_values": (("csv", "excel", "html"), "only text tables and workbooks have marks for missing values"),
}


@dataclass(frozen=True)
class Stated:
    """The caller's options of a file; an option that is None or empty is found out."""

    sheet: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    header_row: int | None = None  #: line of the names, from 1; 0: there are none
    skip: int = 0  #: lines above the table
    decimal: str | None = None
    is_piece: bool = False  #: of a larger table: its first line has the names, and the next one is a row
    na_values: tuple[str, ...] = ()  #: with an empty one among them, instead of the usual ones

    @property
    def marks(self) -> list[str]:
        """Return the stated marks for missing values, without the empty one."""
        return [mark for mark in self.na_values if mark]

    @property
    def are_marks_replaced(self) -> bool:
        """Return whether only the stated marks and an empty cell mean a missing value."""
        return "" in self.na_values

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Stated:
        """Return the options of a JSON object, which may have other keys."""
        known = {each.name: options[each.name] for each in fields(cls) if options.get(each.name) is not None}
        return cls(**{**known, "na_values": tuple(known.get("na_values", ()))})

    def check(self, kind: str) -> None:
        """Refuse an option that does not apply to the kind of file. Raises: Unreadable."""
        for name, (kinds, why) in _APPLIES.items():
            if getattr(self, name) not in (None, 0, ()) and kind not in kinds:
                raise Unreadable(f"{name}: {why}, and the file is {'a workbook' if kind == 'excel' else kind}")
        if self.header_row == 0 and kind not in _APPLIES["header_row"][0]:
            raise Unreadable(f"header_row: {_APPLIES['header_row'][1]}, and the file is {kind}")


NOTHING_STATED = Stated()
