"""How a file of a table is read: options that every request with such a file takes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue
from typing_extensions import TypeAliasType

from shared.contracts.common import Request
from shared.faults import form

DecimalSign = TypeAliasType(
    "DecimalSign", Annotated[Literal[".", ","], Field(description="Sign before the decimals of a number")]
)


_DELIMITER = form(r"^[^\r\n\"]$", "must be one character, such as ; (no quote and no line break)")
_ENCODING = form(r"^[A-Za-z0-9_.:-]{1,40}$", "must be a character encoding, such as utf-8 or cp1252")


class TableReading(Request):
    """How a file is read as a table; whatever is left out is detected, and reported in `notes`."""

    sheet: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """Sheet of the workbook; null reads the first that is not empty"""
    delimiter: Annotated[str, Field(pattern=_DELIMITER)] | None = None
    """Field delimiter of a text file; null detects it"""
    encoding: Annotated[str, Field(pattern=_ENCODING)] | None = None
    """Character encoding of a text file; null detects it"""
    header_row: Annotated[int, Field(ge=0, le=60)] | None = None
    """Line or row that holds the column names, from 1; 0 if the file has none; null detects it"""
    skip: Annotated[int, Field(ge=0, le=59)] = 0
    """Number of lines or rows to skip at the top, before the header is detected"""
    decimal: DecimalSign | None = None
    """Sign before the decimals of numbers in a text file; null detects it"""
    na_values: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=100)] = []
    """Cells that mean a missing value, in addition to `NA`, `N/A` and other common marks; with an empty text among
    them, only these and empty cells do"""

    def reading(self) -> dict[str, JsonValue]:
        """Return the options that are given."""
        given = {name: getattr(self, name) for name in TableReading.model_fields}
        return {
            name: value for name, value in given.items() if value not in (None, []) and (name, value) != ("skip", 0)
        }
