"""Uploaded files and the files that jobs produce."""

from __future__ import annotations

from pydantic import JsonValue

from shared.contracts.common import Answer, Time
from shared.contracts.transform import Column, ColumnType


class FileInfo(Answer):
    id: str
    name: str
    size: int
    sha256: str
    media_type: str
    created_at: Time | None = None


class UploadInfo(Answer):
    """An upload in parts."""

    id: str
    name: str
    media_type: str
    size: int  #: bytes of the whole file
    received: int  #: bytes that are there; the next part begins here
    file_id: str | None  #: the file, once it is whole
    expires_at: Time  #: then its parts are deleted


class FileRows(Answer):
    """Some rows of a table. Long texts are cut, and say so by an ellipsis; the file has them whole."""

    columns: list[Column]
    rows: list[list[JsonValue]]
    row_count: int  #: of all rows that fit the filter
    offset: int
    next_offset: int | None  #: where the next page begins


class FrequentValue(Answer):
    value: JsonValue
    count: int


class ColumnProfile(Answer):
    """What a column holds. ``lowest`` to ``highest`` and the quartiles are of numbers and times."""

    name: str
    type: ColumnType
    nulls: int
    distinct: int  #: about so many (HyperLogLog)
    lowest: JsonValue = None
    highest: JsonValue = None
    mean: float | None = None
    quartiles: list[JsonValue] | None = None
    histogram: list[int] | None = None  #: of numbers: how many in each of equal parts from lowest to highest
    frequent: list[FrequentValue] = []  #: the values that are there most often


class FileProfile(Answer):
    row_count: int
    columns: list[ColumnProfile]
    more_columns: int = 0  #: that are not described: a table of thousands of columns is described in part
