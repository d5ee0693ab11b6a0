"""`assay files`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from assay.calls import files, uploads
from assay.commands import show
from assay.commands.reading import Reading
from assay.commands.run import readable
from assay.commands.session import UsageError, answer, current
from assay.commands.uploading import IN_PARTS_BYTES, in_parts
from assay.errors import NotFound

_READING = Reading()

app = App(name="files", help="Upload files for jobs, and fetch the files that jobs made.")


@app.command(name=["put", "add"])
def put(
    file: Annotated[Path, Parameter(help="File to upload")],
    *,
    name: Annotated[str | None, Parameter(help="Name on the server; the file's own name otherwise")] = None,
    media_type: Annotated[str | None, Parameter(help="Media type, such as text/csv")] = None,
) -> None:
    """Upload a file and print its id. A large one goes in parts: after an interruption, the same command resumes."""
    if readable(file).is_file() and file.stat().st_size >= IN_PARTS_BYTES:
        call = files.get(in_parts(file, name, media_type))
    else:
        call = files.put(file, name, media_type)
    answer(call, lambda info: str(info["id"]))


@app.command(name="ls")
def list_files(
    *,
    limit: Annotated[int, Parameter(help="Maximum number of entries")] = 50,
    cursor: Annotated[str | None, Parameter(help="next_cursor of the page before")] = None,
    unfinished: Annotated[bool, Parameter(help="Uploads that were interrupted", negative="")] = False,
) -> None:
    """List files, or uploads that are not finished, newest first: `assay files ls --unfinished`."""
    if unfinished:
        answer(
            uploads.page(limit, cursor),
            lambda page: show.table(
                ["id", "name", "received", "size", "expires"],
                [
                    [each["id"], each["name"], each["received"], each["size"], show.clock(each["expires_at"])]
                    for each in show.items(page)
                ],
            ),
        )
        return
    answer(
        files.page(limit, cursor),
        lambda page: show.table(
            ["id", "name", "size", "media type", "created"],
            [
                [file["id"], file["name"], file["size"], file["media_type"], show.clock(file.get("created_at"))]
                for file in show.items(page)
            ],
        ),
    )


@app.command
def get(
    id: Annotated[str, Parameter(help="File id")],
    out: Annotated[
        Path | None,
        Parameter(name=["-o", "--out"], help="A file or folder; - is standard output", allow_leading_hyphen=True),
    ] = None,
) -> int:
    """Fetch a file; without a target, under its own name in the current folder."""
    session = current()
    if session.json:
        answer(files.get(id), lambda info: None)
        return 0
    if out is not None and str(out) == "-":
        session.client.download(files.content_path(id), sys.stdout.buffer)
        return 0
    if out is not None and not out.is_dir():
        target = out
    else:
        target = (out or Path()) / _safe(session.client.files.get(id).name)
        if target.exists():
            raise UsageError(f"{target} exists: name another file with -o, or - for standard output")
    session.client.files.save(id, target)
    session.out(str(target))
    return 0


@app.command
def rows(
    id: Annotated[str, Parameter(help="File id")],
    *,
    offset: Annotated[int, Parameter(help="Number of rows to skip")] = 0,
    limit: Annotated[int, Parameter(help="Maximum number of rows")] = 20,
    column: Annotated[list[str] | None, Parameter(negative=(), help="Column to show; may be repeated")] = None,
    sort: Annotated[
        list[str] | None,
        Parameter(negative=(), help="Column to sort by; -COLUMN for descending", allow_leading_hyphen=True),
    ] = None,
    filter: Annotated[
        list[str] | None, Parameter(negative=(), help="Condition such as amount>3; may be repeated")
    ] = None,
    reading: Reading = _READING,
) -> None:
    """Print rows of a file that is a table.

    Parameters
    ----------
    id
        Of the file: a text table, a workbook, JSON, Parquet or Arrow.
    offset
        How many rows to pass over.
    limit
        How many to print, 1000 at most.
    column
        Only these, in this order.
    sort
        By this column; -NAME is falling.
    filter
        COLUMN:eq:VALUE, with eq, ne, lt, le, gt, ge or contains; COLUMN:null, COLUMN:not_null.
    """
    call = files.rows(
        id, offset=offset, limit=limit, columns=column, sort=sort, filter=filter, reading=reading.options()
    )

    def printed(page: dict[str, Any]) -> str:
        for note in page["notes"]:
            current().say(f"note: {note}")
        return show.data_table([each["name"] for each in page["columns"]], page["rows"]).rstrip("\n")

    answer(call, printed)


@app.command
def profile(
    id: Annotated[str, Parameter(help="File id")],
    *,
    reading: Reading = _READING,
) -> None:
    """Print what the columns of a file hold that is a table: types, missing and distinct values, ranges."""
    names = ["column", "type", "nulls", "distinct", "lowest", "highest", "mean", "most frequent"]
    answer(
        files.profile(id, reading=reading.options()),
        lambda profile: show.table(names, map(_described, profile["columns"])),
    )


def _described(column: dict[str, Any]) -> list[object]:
    frequent = ", ".join(f"{each['value']} ({each['count']})" for each in (column.get("frequent") or [])[:3])
    values = [column.get(name) for name in ("name", "type", "nulls", "distinct", "lowest", "highest", "mean")]
    return [*values, frequent or None]


@app.command
def rm(
    id: Annotated[str, Parameter(help="File id")], *more: Annotated[str, Parameter(help="Further file ids")]
) -> None:
    """Delete files, or uploads that are not finished, by their ids: `assay files rm ID ID`."""
    client = current().client
    for each in (id, *more):
        try:
            client.files.delete(each)
        except NotFound as missing:
            try:
                client.uploads.delete(each)
            except NotFound:
                raise missing from None


def _safe(name: str) -> str:
    """Return a file's name without its path."""
    return Path(name.replace("\\", "/")).name or "file"
