"""Pictures of a page: of code, and of the document's files; each is part of the page, as it fetches nothing."""

from __future__ import annotations

import base64
import html
import posixpath
import re
from contextlib import suppress
from urllib.parse import unquote

from services.execution.documents.run.kernels import MAX_PICTURE, PICTURES
from services.execution.documents.run.running import RunningDocument
from shared.errors import NotFound

_MAX_PAGE, _MAX_TEXT = 50_000_000, 2_000_000
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
        picture = picture_of(self._document, address)
        if picture is None:
            path = _path(address)[:200]
            self._document.warn(f"The picture {path} is not among the document's files, and no code has written it.")
            return f"<em>{html.escape(alt or path)}</em>"
        return self.data(*picture, alt, width)

    def address(self, address: str) -> str | None:
        """Return the address of a picture that HTML names, with its data; ``None`` if there is no such picture."""
        picture = None if ":" in address else picture_of(self._document, address)
        return None if picture is None else self._data_address(*picture)

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
                data = stream.read(MAX_PICTURE + 1)
        except NotFound:
            return ""
        return self.data(media_type, data, alt, width)

    def data(self, media_type: str, data: bytes, alt: str, width: str) -> str:
        address = self._data_address(media_type, data)
        if address is None:
            return "<p>(an image that is too large)</p>"
        return f'<img alt="{html.escape(alt)}" src="{address}"{_sized(width)}>'

    def _data_address(self, media_type: str, data: bytes) -> str | None:
        """Return an address that holds the picture; ``None`` if it, or the page, is too large."""
        self._size += len(data)
        if len(data) > MAX_PICTURE or self._size > _MAX_PAGE:
            return None
        return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def picture_of(document: RunningDocument, address: str) -> tuple[str, bytes] | None:
    """Return media type and content of a picture that the document names: one that its code has written, or one of its
    files.
    """
    path = _path(address)
    media_type = PICTURES.get(posixpath.splitext(path)[1].lower())
    if media_type is None:
        return None
    if (file_id := document.pictures.get(path)) is not None:
        with suppress(NotFound), document.context.files.open(file_id) as stream:
            return media_type, stream.read(MAX_PICTURE + 1)
    file = document.kernels.files.get(path)
    if file is None:
        return None
    with file.open("rb") as stream:
        return media_type, stream.read(MAX_PICTURE + 1)


def _path(address: str) -> str:
    return posixpath.normpath(unquote(address).lstrip("/"))


def _sized(width: str) -> str:
    return f' width="{width.removesuffix("px")}"' if _WIDTH.fullmatch(width) else ""
