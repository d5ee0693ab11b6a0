"""`assay files`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from assay.calls import files
from assay.commands import show
from assay.commands.run import readable
from assay.commands.session import answer, current

app = App(name="files", help="Upload files for jobs, and fetch the files that jobs made.")


@app.command
def put(file: Path, *, name: str | None = None, media_type: str | None = None) -> None:
    """Upload a file and print its id."""
    answer(files.put(readable(file), name, media_type), lambda info: str(info["id"]))


@app.command(name="ls")
def list_files(*, limit: int = 50, cursor: str | None = None) -> None:
    """List files, newest first."""
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
    id: str,
    out: Annotated[
        Path | None, Parameter(help="A file or folder; - is standard output", allow_leading_hyphen=True)
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
    target = out if out is not None and not out.is_dir() else (out or Path()) / _safe(session.client.files.get(id).name)
    session.client.files.save(id, target)
    session.out(str(target))
    return 0


@app.command
def rm(id: str) -> None:
    """Delete a file."""
    current().client.files.delete(id)


def _safe(name: str) -> str:
    """A file's name without a path in it."""
    return Path(name.replace("\\", "/")).name or "file"
