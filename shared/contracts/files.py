"""Uploaded files and the files that jobs produce."""

from __future__ import annotations

from shared.contracts.common import Answer, Time


class FileInfo(Answer):
    id: str
    name: str
    size: int
    sha256: str
    media_type: str
    created_at: Time | None = None
