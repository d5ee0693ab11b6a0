"""Pictures of a page: of code, and of the document's files; each is part of the page, as it fetches nothing."""

from __future__ import annotations

import base64
import html
import posixpath
import re
from urllib.parse import unquote

from services.execution.documents.run.running import RunningDocument
from shared.errors import NotFound

_MAX_IMAGE, _MAX_PAGE, _MAX_TEXT = 10_000_000, 50_000_000, 2_000_000
_TYPES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".svg": "image/svg+xml",
}  # fmt: skip
_WIDTH = re.compile(r"\d{1,4}(?:\.\d+)?(?:%|px)?")


class Pictures:
    def __init__(self, document: RunningDocument) -> None:
        self._document = document
        self._size = 0

    def html(self, address: str, alt: str, width: str) -> str:
        """Return the picture that Markdown names: one of the document's files; of an address elsewhere a link."""
        if address.startswith("data:image/"):
            return f'<img alt="{html.escape(alt)}" src="{html.escape(address)}"{_sized(width)}>'
        if "://" in address:
            return f'<a href="{html.escape(address)}">{html.escape(alt or address)}</a>'
        path = posixpath.normpath(unquote(address).lstrip("/"))
        media_type = _TYPES.get(posixpath.splitext(path)[1].lower())
        file = self._document.kernels.files.get(path)
        if file is None or media_type is None:
            self._document.warn(f"The picture {path[:200]} is not among the document's files.")
            return f"<em>{html.escape(alt or path)}</em>"
        with file.open("rb") as stream:
            return self.data(media_type, stream.read(_MAX_IMAGE + 1), alt, width)

    def text(self, path: str) -> str | None:
        """Read the text of one of the document's files."""
        file = self._document.kernels.files.get(posixpath.normpath(path))
        return None if file is None else file.read_bytes()[:_MAX_TEXT].decode("utf-8", "replace")

    def stored(self, file_id: str) -> str:
        """Read the text of a file that code has shown."""
        try:
            with self._document.context.files.open(file_id) as stream:
                return stream.read(_MAX_TEXT).decode("utf-8", "replace")
        except NotFound:
            return ""

    def of_file(self, media_type: str, file_id: str, alt: str, width: str) -> str:
        try:
            with self._document.context.files.open(file_id) as stream:
                data = stream.read(_MAX_IMAGE + 1)
        except NotFound:
            return ""
        return self.data(media_type, data, alt, width)

    def data(self, media_type: str, data: bytes, alt: str, width: str) -> str:
        self._size += len(data)
        if len(data) > _MAX_IMAGE or self._size > _MAX_PAGE:
            return "<p>(an image that is too large)</p>"
        encoded = base64.b64encode(data).decode()
        return f'<img alt="{html.escape(alt)}" src="data:{media_type};base64,{encoded}"{_sized(width)}>'


def _sized(width: str) -> str:
    return f' width="{width.removesuffix("px")}"' if _WIDTH.fullmatch(width) else ""
