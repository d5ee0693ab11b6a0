"""Files: what a caller may hand over becomes a streamed upload."""

from __future__ import annotations

import io
import mimetypes
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from assay.calls.call import ApiCall, Upload, as_model, as_page, body_of, nothing, segment

if TYPE_CHECKING:
    from shared.contracts.common import Page
    from shared.contracts.files import FileInfo, FileProfile, FileRows

Content = str | os.PathLike[str] | bytes | BinaryIO


def put(content: Content, name: str | None = None, media_type: str | None = None) -> ApiCall[FileInfo]:
    """Upload a path, bytes, or an open binary file. Raises: ValueError when no name is known."""
    known = name or _name_of(content)
    if not known:
        raise ValueError("give the file a name: its bytes have none")
    kind = media_type or mimetypes.guess_type(known)[0] or "application/octet-stream"
    upload = _upload(content)
    headers = {"Content-Type": kind}
    return ApiCall(
        "POST", "/v1/files", as_model("files.FileInfo"), query={"name": known}, upload=upload, headers=headers
    )


def page(limit: int | None = None, cursor: str | None = None) -> ApiCall[Page[FileInfo]]:
    return ApiCall("GET", "/v1/files", as_page("files.FileInfo"), query={"limit": limit, "cursor": cursor})


def get(id: str) -> ApiCall[FileInfo]:
    return ApiCall("GET", f"/v1/files/{segment(id)}", as_model("files.FileInfo"))


def rows(
    id: str,
    *,
    offset: int | None = None,
    limit: int | None = None,
    columns: Sequence[str] | None = None,
    sort: Sequence[str] | None = None,
    filter: Sequence[str] | None = None,
    reading: Mapping[str, Any] | None = None,
) -> ApiCall[FileRows]:
    """Return rows of a file that is a table; ``sort=["-amount"]``, ``filter=["amount:ge:3", "city:contains:os"]``.

    ``reading``: how the file is written, as ``{"header_row": 3, "delimiter": ";"}``.
    """
    query = {
        "offset": offset, "limit": limit, "columns": columns, "sort": sort, "filter": filter, **(reading or {})
    }  # fmt: skip
    return ApiCall("GET", f"/v1/files/{segment(id)}/rows", as_model("files.FileRows"), query=query)


def profile(id: str, *, reading: Mapping[str, Any] | None = None) -> ApiCall[FileProfile]:
    """Return a profile of the columns of a file that is a table; ``reading`` as for its rows."""
    return ApiCall("GET", f"/v1/files/{segment(id)}/profile", as_model("files.FileProfile"), query=dict(reading or {}))


def content(id: str, first: int | None = None, last: int | None = None) -> ApiCall[bytes]:
    """Return the file's bytes; ``first`` and ``last`` (inclusive) select a part."""
    headers = {}
    if first is not None or last is not None:
        headers["Range"] = f"bytes={'' if first is None else first}-{'' if last is None else last}"
    return ApiCall("GET", content_path(id), body_of, headers=headers)


def content_path(id: str) -> str:
    return f"/v1/files/{segment(id)}/content"


def delete(id: str) -> ApiCall[None]:
    return ApiCall("DELETE", f"/v1/files/{segment(id)}", nothing)


def _name_of(content: Content) -> str:
    if isinstance(content, (str, os.PathLike)):
        return Path(content).name
    name = getattr(content, "name", "")
    return Path(name).name if isinstance(name, str) else ""


def _upload(content: Content) -> Upload:
    if isinstance(content, bytes):
        return Upload(lambda: io.BytesIO(content), len(content), repeatable=True, close=True)
    if isinstance(content, (str, os.PathLike)):
        path = Path(content)
        return Upload(lambda: path.open("rb"), path.stat().st_size, repeatable=True, close=True)
    return _upload_of_stream(content)


def _upload_of_stream(stream: BinaryIO) -> Upload:
    if not stream.seekable():
        return Upload(lambda: stream, None, repeatable=False, close=False)
    start = stream.tell()
    size = stream.seek(0, os.SEEK_END) - start
    stream.seek(start)
    return Upload(_rewound(stream, start), size, repeatable=True, close=False)


def _rewound(stream: BinaryIO, start: int) -> Callable[[], BinaryIO]:
    def rewind() -> BinaryIO:
        stream.seek(start)
        return stream

    return rewind
