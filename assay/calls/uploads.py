"""Uploads in parts, which can be interrupted and continued (tus 1.0)."""

from __future__ import annotations

import base64
import io
import mimetypes
from typing import TYPE_CHECKING

from assay.calls.call import ApiCall, Upload, as_model, as_page, nothing, segment

if TYPE_CHECKING:
    from shared.contracts.common import Page
    from shared.contracts.files import UploadInfo

_TUS = {"Tus-Resumable": "1.0.0"}


def begin(name: str, size: int, media_type: str | None = None) -> ApiCall[UploadInfo]:
    """Begin an upload of ``size`` bytes."""
    kind = media_type or mimetypes.guess_type(name)[0] or "application/octet-stream"
    pairs = {"filename": name, "filetype": kind}
    metadata = ",".join(f"{key} {base64.b64encode(text.encode()).decode()}" for key, text in pairs.items())
    headers = {**_TUS, "Upload-Length": str(size), "Upload-Metadata": metadata}
    return ApiCall("POST", "/v1/uploads", as_model("files.UploadInfo"), headers=headers)


def page(limit: int | None = None, cursor: str | None = None) -> ApiCall[Page[UploadInfo]]:
    """Return the uploads that are not finished, newest first."""
    query = {"limit": limit, "cursor": cursor}
    return ApiCall("GET", "/v1/uploads", as_page("files.UploadInfo"), query=query)


def get(id: str) -> ApiCall[UploadInfo]:
    """Return the progress of an upload."""
    return ApiCall("GET", f"/v1/uploads/{segment(id)}", as_model("files.UploadInfo"), headers=_TUS)


def append(id: str, part: bytes, offset: int = 0) -> ApiCall[None]:
    """Send the bytes from ``offset`` on."""
    body = Upload(lambda: io.BytesIO(part), len(part), repeatable=False, close=True)
    headers = {**_TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": str(offset)}
    return ApiCall("PATCH", f"/v1/uploads/{segment(id)}", nothing, upload=body, headers=headers)


def delete(id: str) -> ApiCall[None]:
    """Give it up; a file that it has become stays."""
    return ApiCall("DELETE", f"/v1/uploads/{segment(id)}", nothing, headers=_TUS)
