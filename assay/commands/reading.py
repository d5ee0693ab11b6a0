"""Options of every command that reads a file as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from assay.commands.session import UsageError

_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


@Parameter(name="*")
@dataclass(frozen=True)
class Reading:
    """How the file is written; what is left out is detected."""

    sheet: Annotated[str | None, Parameter(help="Sheet of a workbook; the first one that is filled")] = None
    delimiter: Annotated[str | None, Parameter(help="Delimiter of a text table, such as ; or tab")] = None
    encoding: Annotated[str | None, Parameter(help="Encoding of a text: latin-1, cp1252, utf-16 ...")] = None
    header_row: Annotated[int | None, Parameter(help="Line of the column names, from 1; 0: no header")] = None
    skip: Annotated[int | None, Parameter(help="Lines to skip at the top")] = None
    decimal: Annotated[Literal[".", ","] | None, Parameter(help="Sign before the decimals of a text table")] = None
    na_value: Annotated[
        Sequence[str],
        Parameter(help="A cell that means a missing value; may be repeated; '' drops the usual ones", negative=""),
    ] = ()

    def options(self) -> dict[str, Any]:
        """Return what is given, as the API names it. Raises: UsageError."""
        delimiter = self.delimiter and _DELIMITERS.get(self.delimiter, self.delimiter)
        if delimiter is not None and len(delimiter) != 1:
            raise UsageError(f"a delimiter is one character, not {delimiter!r}; tab is one too")
        options = {
            "sheet": self.sheet, "delimiter": delimiter, "encoding": self.encoding, "header_row": self.header_row,
            "skip": self.skip, "decimal": self.decimal, "na_values": list(self.na_value) or None,
        }  # fmt: skip
        return {name: value for name, value in options.items() if value is not None}
