"""Uploaded files and the files that jobs produce."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue
from typing_extensions import TypeAliasType

from shared.contracts.common import Answer, Time
from shared.contracts.tables import DecimalSign
from shared.contracts.transform import Column, ColumnType


class FileInfo(Answer):
    """An uploaded file, or one that a job produced."""

    id: str
    """File id"""
    name: str
    """File name"""
    size: int
    """Size in bytes"""
    sha256: str
    """SHA-256 of the content, in hexadecimal digits"""
    media_type: str
    """Media type, such as `text/csv`"""
    created_at: Time | None = None
    """Time at which the file was stored"""


class UploadInfo(Answer):
    """A resumable upload."""

    id: str
    """Upload id"""
    name: str
    """File name"""
    media_type: str
    """Media type of the file"""
    size: int
    """Size of the whole file in bytes"""
    received: int
    """Bytes received so far; the next part begins here"""
    file_id: str | None
    """Id of the finished file; null until all bytes are received"""
    expires_at: Time
    """Time at which the received parts are deleted"""


FileFormat = TypeAliasType(
    "FileFormat",
    Annotated[
        Literal["csv", "json", "jsonl", "parquet", "arrow", "excel", "html"],
        Field(description="Format of a file that is a table"),
    ],
)


class FileReading(Answer):
    """How a file was read as a table: the options that were stated, and the detected values of the others."""

    format: FileFormat
    """Format of the file; `csv` is every text table, whatever its delimiter"""
    encoding: str | None = None
    """Character encoding; null for formats that are not text"""
    delimiter: str | None = None
    """Field delimiter; null for other formats than text tables"""
    header_row: int | None = None
    """Line or row of the column names, from 1; 0 if the file has none; null for formats with named columns"""
    decimal: DecimalSign | None = None
    """Sign before the decimals of numbers; null for other formats than text tables"""
    sheet: str | None = None
    """Sheet that was read; null for other formats than workbooks"""
    sheets: list[str] = []
    """Sheets of the workbook that are not empty"""


class FileRows(Answer):
    """Some rows of a table. Long texts are shortened and end with an ellipsis; the file has them whole."""

    columns: list[Column]
    """Columns of the table, in order"""
    rows: list[list[JsonValue]]
    """Rows as lists of cells, in column order"""
    row_count: int
    """Number of all rows that match the filter"""
    offset: int
    """Number of rows before the first row of this page"""
    next_offset: int | None
    """Value of `offset` for the next page; null on the last page"""
    reading: FileReading
    """How the file was read"""
    notes: list[str] = []
    """What was detected or changed when the file was read, such as its encoding and its missing values"""


class FrequentValue(Answer):
    """A value and how often it occurs."""

    value: JsonValue
    """The value"""
    count: int
    """Number of rows with this value"""


class ColumnProfile(Answer):
    """Statistics of a column. `lowest`, `highest` and `quartiles` exist for numbers and times only."""

    name: str
    """Column name"""
    type: ColumnType
    """Data type of the column"""
    nulls: int
    """Number of missing values"""
    distinct: int
    """Estimated number of distinct values (HyperLogLog)"""
    lowest: JsonValue = None
    """Smallest value; null for other types than numbers and times"""
    highest: JsonValue = None
    """Largest value; null for other types than numbers and times"""
    mean: float | None = None
    """Mean of the values; null for other types than numbers"""
    quartiles: list[JsonValue] | None = None
    """First quartile, median and third quartile; null for other types than numbers and times"""
    histogram: list[int] | None = None
    """Counts in bins of equal width from `lowest` to `highest`; null for other types than numbers"""
    frequent: list[FrequentValue] = []
    """Most frequent values, with their counts"""


class FileProfile(Answer):
    """Statistics of a table."""

    row_count: int
    """Number of rows"""
    columns: list[ColumnProfile]
    """Statistics of each column"""
    more_columns: int = 0
    """Number of further columns that are not described"""
