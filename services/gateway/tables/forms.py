"""The forms that a result's table can be had in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """``whole``: made as a file first, since its beginning depends on its end."""

    name: str
    media_type: str
    whole: bool = False


class CannotHold(Exception):
    """The form has no place for something in the table; the text is for the caller, and names no host path."""


_TEXT = (
    Form("csv", "text/csv; charset=utf-8"),
    Form("tsv", "text/tab-separated-values; charset=utf-8"),
    Form("jsonl", "application/x-ndjson"),
    Form("records", "application/json"),  # `json` is the result itself
    Form("md", "text/markdown; charset=utf-8"),
    Form("html", "text/html; charset=utf-8"),
)
_PACKED = tuple(
    Form(f"{form.name}.{ending}", media_type)
    for form in _TEXT
    for ending, media_type in (("gz", "application/gzip"), ("zst", "application/zstd"))
)
_BINARY = (
    Form("parquet", "application/vnd.apache.parquet"),
    Form("arrow", "application/vnd.apache.arrow.stream"),
    Form("feather", "application/vnd.apache.arrow.file"),
    Form("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", whole=True),
    Form("sqlite", "application/vnd.sqlite3", whole=True),
    Form("duckdb", "application/octet-stream", whole=True),
)
#: Every form by its name, as ``GET /v1/jobs/{id}/result?format=`` takes it.
FORMS = {form.name: form for form in (*_TEXT, *_PACKED, *_BINARY)}
#: What a sheet of Excel holds below its head.
MAX_SHEET_ROWS = 1_048_575
MAX_SHEET_COLUMNS = 16_384
